"""The pod as a whole: phases, conditions, endings, addresses."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.core.agent.builders import NOW, SETUP, container, deleted, pod, record, run, runtime, sandbox, sidecar

from flexlet.api.meta import Condition
from flexlet.api.nodepod import NodeContainer, NodePod
from flexlet.api.nodepod.container import ExitCodes, RestartRule
from flexlet.api.nodepod.pod import ReadinessGate
from flexlet.core.agent.observations import FILE
from flexlet.core.agent.record import REJECTED, Ending, PodRecord, Trouble
from flexlet.core.agent.status import render
from flexlet.core.resize import conditions
from flexlet.core.runtime.shown import EXITED, NOT_READY, RuntimePod

Json = dict[str, Any]

C, D = container("c"), container("d")
INIT, S = container("i"), sidecar("s")
THEN, LATER = "1970-01-12T13:46:40Z", "1970-01-12T13:47:40Z"
OVER = (sandbox(state=NOT_READY),)


def told(of: PodRecord) -> PodRecord:
    return replace(of, reported=render(of, SETUP, NOW))


def rendered(of: PodRecord) -> Json:
    return render(of, SETUP, NOW + 60)


def verdicts(status: Json) -> dict[str, tuple[str, str]]:
    """Status and reason by type."""
    return {each["type"]: (each["status"], each.get("reason", "")) for each in status["conditions"]}


def ended(of: NodeContainer, code: int = 0, attempt: int = 0) -> Any:
    return run(of, attempt, EXITED, exit_code=code)


def rule(action: str, *codes: int, operator: str = "In") -> dict[str, Any]:
    found = RestartRule(action=action, exit_codes=ExitCodes(operator=operator, values=codes))
    return {"restart_policy": "Never", "restart_policy_rules": (found,)}


@pytest.mark.parametrize(
    ("of", "shown", "phase"),
    [
        (pod(C), runtime(), "Pending"),
        (pod(C), runtime(run(C)), "Running"),
        (pod(C, D), runtime(run(C)), "Pending"),
        (pod(C, D), runtime(run(C), ended(D, 1)), "Running"),
        (pod(C), runtime(ended(C)), "Running"),
        (pod(C, restart_policy="Never"), runtime(ended(C)), "Succeeded"),
        (pod(C, restart_policy="Never"), runtime(ended(C, 2)), "Failed"),
        (pod(C, D, restart_policy="Never"), runtime(ended(C), ended(D, 1)), "Failed"),
        (pod(C, restart_policy="OnFailure"), runtime(ended(C)), "Succeeded"),
        (pod(C, restart_policy="OnFailure"), runtime(ended(C, 1)), "Running"),
        (pod(container("c", **rule("Restart", 42))), runtime(ended(C, 42)), "Running"),
        (pod(container("c", **rule("Restart", 42))), runtime(ended(C, 1)), "Failed"),
        (pod(container("c", **rule("Restart", 42, operator="NotIn"))), runtime(ended(C, 1)), "Running"),
        (pod(container("c", restart_policy="OnFailure"), restart_policy="Never"), runtime(ended(C, 1)), "Running"),
        (pod(C, init=(INIT,)), runtime(run(INIT)), "Pending"),
        (pod(C, init=(INIT,)), runtime(ended(INIT, 1)), "Pending"),
        (pod(C, init=(INIT,), restart_policy="Never"), runtime(ended(INIT, 1)), "Failed"),
        (pod(C, init=(INIT,), restart_policy="Never"), runtime(ended(INIT)), "Pending"),
        (pod(C, init=(INIT,)), runtime(run(C), ended(INIT)), "Running"),
        (pod(C, init=(S,)), runtime(run(S)), "Pending"),
        (pod(C, init=(S,)), runtime(run(C), run(S)), "Running"),
        (pod(C, init=(S,)), runtime(run(C), ended(S, 1)), "Running"),
        (pod(C, init=(S,)), runtime(run(S), ended(C)), "Running"),
        (pod(C, init=(S,), restart_policy="Never"), runtime(ended(S, 1), ended(C)), "Succeeded"),
    ],
)
def test_the_phase_follows_from_the_containers(of: NodePod, shown: RuntimePod, phase: str) -> None:
    """While anything of a pod may run its phase is not told to be over; the conditions already say so."""
    before = record(of, shown)
    reached = rendered(replace(before, stopped=False))
    if phase in ("Succeeded", "Failed"):
        assert reached["phase"] == "Pending"
        assert verdicts(reached)["Ready"] == ("False", "PodCompleted" if phase == "Succeeded" else "PodFailed")
    else:
        assert reached["phase"] == phase


def test_a_sidecar_that_has_not_started_keeps_a_pod_pending_only_before_its_start() -> None:
    from flexlet.api.nodepod.handlers import Probe

    slow = sidecar("s", startup_probe=Probe())
    assert rendered(record(pod(C, init=(slow,)), runtime(run(slow))))["phase"] == "Pending"
    assert rendered(record(pod(C, init=(slow,)), runtime(run(C), run(slow))))["phase"] == "Running"
    elsewhere = runtime(run(C, sandbox_id="old"), run(slow), sandboxes=(sandbox(),))
    assert rendered(record(pod(C, init=(slow,)), elsewhere))["phase"] == "Pending"


def test_a_stopped_pod_is_over_whatever_its_policy() -> None:
    over = runtime(ended(C), sandboxes=OVER)
    assert rendered(record(pod(C), over, stopped=True))["phase"] == "Succeeded"
    assert rendered(record(pod(C), runtime(ended(C, 9), sandboxes=OVER), stopped=True))["phase"] == "Failed"


def test_a_static_pod_has_no_end() -> None:
    over = runtime(ended(C), sandboxes=OVER)
    assert rendered(record(pod(C), over, stopped=True, source=FILE))["phase"] == "Running"


def test_a_terminal_phase_is_final() -> None:
    over = told(record(pod(C), runtime(ended(C, 1), sandboxes=OVER), stopped=True))
    odd = rendered(replace(over, shown=runtime(run(C)), stopped=False))
    assert odd["phase"] == "Failed"
    api = replace(pod(C), status=replace(pod(C).status, phase="Succeeded"))
    assert rendered(record(api, runtime(run(C))))["phase"] == "Succeeded"


def test_a_pod_that_ends_before_it_began_has_failed() -> None:
    """A container whose end nobody saw is lost, so that nothing passes for successful by default."""
    status = rendered(record(deleted(pod(C)), runtime(sandboxes=OVER), stopped=True))
    lost = {
        "exitCode": 137,
        "reason": "ContainerStatusUnknown",
        "message": "The container could not be located when the pod was terminated",
    }
    assert status["phase"] == "Failed"
    assert status["containerStatuses"][0]["state"] == {"terminated": lost}
    assert verdicts(status)["Ready"] == ("False", "ContainersNotReady")


@pytest.mark.parametrize(
    ("init", "shown", "states"),
    [
        ((INIT, container("j")), (), ["terminated", "waiting", "waiting"]),
        ((INIT, container("j")), (ended(INIT, 1),), ["terminated", "waiting", "waiting"]),
        ((INIT, container("j")), (ended(container("j")), ended(INIT)), ["terminated", "terminated", "terminated"]),
        ((INIT, container("j")), (ended(INIT),), ["terminated", "waiting", "waiting"]),
        ((S,), (run(S),), ["terminated", "terminated"]),
    ],
)
def test_containers_that_a_stopped_pod_never_came_to_keep_waiting(
    init: tuple[NodeContainer, ...], shown: tuple[Any, ...], states: list[str]
) -> None:
    of = record(deleted(pod(C, init=init)), runtime(*shown, sandboxes=OVER), stopped=True)
    status = rendered(of)
    entries = [*status["initContainerStatuses"], *status["containerStatuses"]]
    assert [next(iter(each["state"])) for each in entries] == states


def test_the_first_status() -> None:
    status = rendered(record(pod(container("c", "100m,64Mi"))))
    assert status == {
        "phase": "Pending",
        "observedGeneration": 1,
        "qosClass": "Burstable",
        "startTime": THEN,
        "hostIP": "10.0.0.1",
        "hostIPs": [{"ip": "10.0.0.1"}],
        "conditions": [
            _condition("PodReadyToStartContainers", "False"),
            _condition("Initialized", "True"),
            _condition("Ready", "False", "ContainersNotReady", "containers with unready status: [c]"),
            _condition("ContainersReady", "False", "ContainersNotReady", "containers with unready status: [c]"),
            _condition("PodScheduled", "True"),
        ],
        "containerStatuses": [
            {
                "name": "c",
                "state": {"waiting": {"reason": "ContainerCreating"}},
                "lastState": {},
                "ready": False,
                "started": False,
                "restartCount": 0,
                "image": "busybox:1",
                "imageID": "",
            }
        ],
        "allocatedResources": {"cpu": "100m", "memory": "64Mi"},
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
    }


def _condition(kind: str, status: str, reason: str = "", message: str = "") -> Json:
    entry: Json = {
        "type": kind,
        "status": status,
        "observedGeneration": 1,
        "lastProbeTime": None,
        "lastTransitionTime": LATER,
    }
    return entry | {key: text for key, text in (("reason", reason), ("message", message)) if text}


def test_transitions_are_changes_of_the_status_and_survive_the_agent() -> None:
    before = told(record(pod(C), runtime()))
    running = rendered(replace(before, shown=runtime(run(C))))
    times = {each["type"]: each["lastTransitionTime"] for each in running["conditions"]}
    assert times == {
        "PodReadyToStartContainers": THEN,
        "Initialized": THEN,
        "Ready": LATER,
        "ContainersReady": LATER,
        "PodScheduled": THEN,
    }
    copy = Condition(type="Ready", status="False", last_transition_time="2001-01-01T00:00:00Z")
    api = replace(pod(C), status=replace(pod(C).status, conditions=(copy,), start_time="2002-02-02T00:00:00Z"))
    fresh = rendered(record(api, runtime()))
    kept = {each["type"]: each["lastTransitionTime"] for each in fresh["conditions"]}
    assert (kept["Ready"], kept["Initialized"]) == ("2001-01-01T00:00:00Z", LATER)
    assert fresh["startTime"] == "2002-02-02T00:00:00Z"


def test_conditions_of_others_come_first_then_the_resize() -> None:
    foreign = Condition(type="x/ready", status="True")
    deferred = conditions.refused(conditions.NONE, "Deferred", "no room", 1, NOW)
    api = replace(pod(C), status=replace(pod(C).status, conditions=(foreign,)))
    of = record(api, runtime(run(C)), resize=deferred)
    assert list(verdicts(rendered(of)))[:3] == ["x/ready", "PodResizePending", "PodReadyToStartContainers"]
    over = replace(of, stopped=True, shown=runtime(ended(C), sandboxes=OVER))
    assert "PodResizePending" not in verdicts(rendered(over))


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ((), 'corresponding condition of pod readiness gate "x/ready" does not exist.'),
        (
            (Condition(type="x/ready", status="False"),),
            'the status of pod readiness gate "x/ready" is not "True", but False',
        ),
        ((Condition(type="x/ready", status="True"),), ""),
    ],
)
def test_readiness_waits_for_its_gates(found: tuple[Condition, ...], message: str) -> None:
    gated = pod(C, readiness_gates=(ReadinessGate(condition_type="x/ready"),))
    api = replace(gated, status=replace(gated.status, conditions=found))
    by_type = {each["type"]: each for each in rendered(record(api, runtime(run(C))))["conditions"]}
    assert by_type["ContainersReady"]["status"] == "True"
    assert by_type["Ready"]["status"] == ("False" if message else "True")
    assert by_type["Ready"].get("message", "") == message


def test_initialized_names_who_is_missing_until_a_regular_container_has_started() -> None:
    three = pod(C, init=(INIT, container("j"), S))
    waiting = rendered(record(three, runtime(ended(INIT))))
    by_type = {each["type"]: each for each in waiting["conditions"]}
    assert by_type["Initialized"]["message"] == "containers with incomplete status: [j s]"
    assert by_type["Ready"]["message"] == "containers with unready status: [s c]"
    crashed = rendered(record(three, runtime(run(C), ended(S, 1), ended(container("j")), ended(INIT))))
    assert verdicts(crashed)["Initialized"] == ("True", "")


def test_a_rejected_pod_has_a_reason_and_nothing_else() -> None:
    ending = Ending(reason="OutOfcpu", message="Pod was rejected: no cpu")
    assert rendered(record(pod(C), admission=REJECTED, ending=ending)) == {
        "phase": "Failed",
        "reason": "OutOfcpu",
        "message": "Pod was rejected: no cpu",
        "observedGeneration": 1,
        "qosClass": "BestEffort",
        "startTime": THEN,
    }


def test_a_pod_past_its_deadline_says_so_at_once_and_fails_in_the_end() -> None:
    late = Ending(reason="DeadlineExceeded", message="too long")
    running = told(record(pod(C), runtime(run(C))))
    meanwhile = rendered(replace(running, ending=late))
    assert (meanwhile["phase"], "reason" in meanwhile) == ("Running", False)
    assert verdicts(meanwhile)["Ready"] == ("False", "PodFailed")
    over = replace(running, ending=late, stopped=True, shown=runtime(ended(C), sandboxes=OVER))
    final = rendered(over)
    assert (final["phase"], final["reason"], final["message"]) == ("Failed", "DeadlineExceeded", "too long")
    assert rendered(replace(over, reported=final, ending=None)) == final


@pytest.mark.parametrize(("failed", "phase"), [(True, "Failed"), (False, "Succeeded")])
def test_a_pod_that_makes_way_is_told_to_be_disrupted_in_the_end(failed: bool, phase: str) -> None:
    way = Ending(reason="Evicted", message="low on memory", failed=failed, disruption="making way")
    running = told(record(pod(C), runtime(run(C))))
    meanwhile = rendered(replace(running, ending=way))
    assert verdicts(meanwhile)["Ready"] == ("True", "")
    assert "DisruptionTarget" not in verdicts(meanwhile)
    final = rendered(replace(running, ending=way, stopped=True, shown=runtime(ended(C), sandboxes=OVER)))
    assert final["phase"] == phase
    assert final.get("reason") == ("Evicted" if failed else None)
    first = final["conditions"][0]
    assert (first["type"], first["reason"], first["message"]) == (
        "DisruptionTarget",
        "TerminationByKubelet",
        "making way",
    )


def test_the_reason_of_a_phase_is_kept_with_it() -> None:
    noted = replace(pod(C), status=replace(pod(C).status, phase="Running", reason="NodeLost", message="m"))
    assert rendered(record(noted, runtime(run(C))))["reason"] == "NodeLost"
    assert "reason" not in rendered(record(noted, runtime()))


def test_the_address_is_told_with_the_first_container() -> None:
    alone = record(pod(C), runtime(), ips=("10.1.0.1",))
    assert "podIP" not in rendered(alone)
    for more in ({"shown": runtime(run(C))}, {"troubles": {"c": Trouble(reason="ErrImagePull")}}):
        status = rendered(replace(alone, **more))
        assert (status["podIP"], status["podIPs"]) == ("10.1.0.1", [{"ip": "10.1.0.1"}])


def test_one_address_of_each_family_is_told_that_of_the_node_first() -> None:
    ips = ("fd00::1", "10.1.0.1", "fd00::2")
    of = record(pod(C), runtime(run(C)), ips=ips)
    assert rendered(of)["podIPs"] == [{"ip": "10.1.0.1"}, {"ip": "fd00::1"}]
    six = render(of, replace(SETUP, ips=("fd00::9", "10.0.0.9")), NOW)
    assert six["podIPs"] == [{"ip": "fd00::1"}, {"ip": "10.1.0.1"}]
    assert six["hostIPs"] == [{"ip": "fd00::9"}, {"ip": "10.0.0.9"}]


def test_a_pod_on_the_hosts_network_has_its_addresses_from_the_start() -> None:
    status = rendered(record(pod(C, host_network=True)))
    assert (status["podIP"], status["podIPs"]) == ("10.0.0.1", [{"ip": "10.0.0.1"}])


@pytest.mark.parametrize(
    ("sandboxes", "ready"),
    [
        ((), "False"),
        ((sandbox(),), "True"),
        ((sandbox(state=NOT_READY),), "False"),
        ((sandbox(1), sandbox(0)), "False"),
        ((sandbox(1), sandbox(0, state=NOT_READY)), "True"),
        ((sandbox(ips=()),), "False"),
        ((sandbox(ips=(), has_network_status=False),), "True"),
        ((sandbox(network="NODE"),), "False"),
    ],
)
def test_containers_can_start_when_no_new_sandbox_is_needed(sandboxes: tuple[Any, ...], ready: str) -> None:
    status = rendered(record(pod(C), runtime(sandboxes=sandboxes)))
    assert verdicts(status)["PodReadyToStartContainers"] == (ready, "")
