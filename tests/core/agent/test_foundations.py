"""What a pod stands on: cgroup and volumes first, then a sandbox, made anew when it must be."""

import pytest
from msgspec.structs import replace
from tests.core.agent.builders import (
    NOW,
    SETUP,
    UID,
    Answer,
    container,
    decided,
    living,
    pod,
    record,
    run,
    runtime,
    sandbox,
    sidecar,
    told,
)

from flexlet.api.nodepod.volumes import ConfigMapSource, EmptyDir, Volume
from flexlet.core.agent.deeds import (
    CreatePodCgroup,
    Inspect,
    MountVolumes,
    PullImage,
    RemoveContainer,
    RunSandbox,
    StopContainer,
    StopSandbox,
)
from flexlet.core.agent.lifecycle import decide
from flexlet.core.agent.record import REJECTED, UNDECIDED, Backoff
from flexlet.core.resize.allocation import NOTHING
from flexlet.core.runtime.shown import EXITED, NOT_READY, UNKNOWN, Sandbox

C = container("c", "100m,64Mi", "200m,128Mi")
NOTHING_YET = runtime(sandboxes=())
CGROUP = CreatePodCgroup(
    uid=UID,
    path=f"kubepods/burstable/pod{UID}",
    files={"cpu.weight": "4", "cpu.max": "20000 100000", "memory.max": "134217728"},
    actuated=NOTHING,
)
NETWORK_GONE = (
    "Warning",
    "NetworkNotReady",
    f"network is not ready: {SETUP.network_message}",
    "",
)


def killing(name: str) -> tuple[str, str, str, str]:
    return ("Normal", "Killing", f"Stopping container {name}", f"spec.containers{{{name}}}")


def stop(name: str, attempt: int = 0) -> StopContainer:
    return StopContainer(
        uid=UID,
        container=name,
        container_id=f"{name}#{attempt}",
        grace_s=30,
        reason=f"Stopping container {name}",
    )


@pytest.mark.parametrize("admission", [UNDECIDED, REJECTED])
def test_a_pod_is_looked_at_before_anything_is_decided(admission: str) -> None:
    """Whatever the node thinks of a pod: an earlier agent may have left containers."""
    assert decided(record(pod(C), admission=admission)) == Answer((Inspect(uid=UID),))


def test_a_pod_at_the_door_is_left_alone() -> None:
    """Whether it may come in is not decided by its lifecycle."""
    at_the_door = record(pod(C), NOTHING_YET, admission=UNDECIDED, allocation=None, has_cgroup=False)
    assert decided(at_the_door) == Answer()


def test_nothing_happens_while_the_runtime_does_not_work() -> None:
    """Its answers would be refusals."""
    broken = replace(SETUP, runtime_ready=False)
    assert decided(told(record(pod(C), NOTHING_YET, has_cgroup=False)), setup=broken) == Answer()


def test_cgroup_and_volumes_are_made_side_by_side() -> None:
    """Neither needs the other, and the sandbox needs both."""
    fresh = told(record(pod(C), NOTHING_YET, has_cgroup=False))
    assert decided(fresh) == Answer((CGROUP, MountVolumes(uid=UID)))
    only_cgroup = replace(fresh, has_cgroup=True, has_values=True)
    assert decided(only_cgroup) == Answer((MountVolumes(uid=UID),))
    half_made = replace(fresh, has_cgroup=True, volumes=True)
    assert decided(half_made) == Answer((CGROUP,))
    only_volumes = replace(fresh, volumes=True)
    assert decided(only_volumes) == Answer((CGROUP,))
    both = replace(fresh, has_cgroup=True, has_values=True, volumes=True)
    assert decided(both) == Answer((RunSandbox(uid=UID, attempt=0),))


def test_containers_outside_of_a_missing_cgroup_go_first() -> None:
    """They would run without limits; then the sandbox goes, and only then the cgroup is made."""
    lost = living(pod(C), run(C), has_cgroup=False, cgroup=None)
    assert decided(lost) == Answer((stop("c"),), (killing("c"),))
    ended = living(pod(C), run(C, state=EXITED), has_cgroup=False, cgroup=None)
    assert decided(ended) == Answer((StopSandbox(uid=UID, sandbox_id="s0"),))
    alone = living(
        pod(C),
        run(C, state=EXITED),
        sandboxes=(sandbox(state=NOT_READY),),
        has_cgroup=False,
        cgroup=None,
        stopped_sandboxes=frozenset({"s0"}),
        actuated=NOTHING,
    )
    assert decided(alone) == Answer((CGROUP,))


@pytest.mark.parametrize(
    ("sandboxes", "is_told"),
    [
        ((sandbox(state=NOT_READY),), True),
        ((sandbox(1), sandbox(0)), True),
        ((sandbox(1, state=NOT_READY), sandbox(0)), True),
        ((sandbox(ips=()),), True),
        ((sandbox(network="NODE", ips=()),), False),
    ],
)
def test_a_sandbox_that_does_not_serve_is_replaced(sandboxes: tuple[Sandbox, ...], is_told: bool) -> None:
    """Not ready, two of them, an old one instead of the newest, no address; a wrong network is told to nobody."""
    stopped = frozenset(each.id for each in sandboxes)
    cleared = living(pod(C), run(C, state=EXITED), sandboxes=sandboxes, stopped_sandboxes=stopped)
    changed = ("Normal", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.", "")
    attempt = sandboxes[0].attempt + 1
    assert decided(cleared) == Answer((RunSandbox(uid=UID, attempt=attempt),), (changed,) if is_told else ())


def test_what_is_left_of_an_old_sandbox_goes_before_a_new_one_comes() -> None:
    """A pod that gets a new sandbox starts from the beginning."""
    init = container("i")
    of = pod(C, init=(init,))
    dead = (sandbox(1, state=NOT_READY), sandbox(0, state=NOT_READY))
    running = living(of, run(C), run(init, state=EXITED), sandboxes=dead)
    assert decided(running) == Answer((replace(stop("c"), replaces=True),), (killing("c"),))
    ended = living(of, run(C, state=EXITED), run(init, state=EXITED), sandboxes=dead)
    assert decided(ended) == Answer((StopSandbox(uid=UID, sandbox_id="s1"),))
    half = replace(ended, stopped_sandboxes=frozenset({"s1"}))
    assert decided(half) == Answer((StopSandbox(uid=UID, sandbox_id="s0"),))
    stopped = replace(ended, stopped_sandboxes=frozenset({"s0", "s1"}))
    assert decided(stopped).deeds[0] == RemoveContainer(uid=UID, container="i", container_id="i#0")


def test_a_sandbox_waits_for_the_network() -> None:
    """Only pods on the host's network can start without one; the others look again in a second or so."""
    apart = replace(SETUP, network_ready=False)
    waiting = living(pod(C), sandboxes=())
    answer = decided(waiting, setup=apart)
    assert (answer.deeds, answer.events) == ((), (NETWORK_GONE,))
    assert answer.wake_at is not None
    assert NOW + 1 <= answer.wake_at <= NOW + 1.5
    hosted = living(pod(C, host_network=True), sandboxes=())
    assert decided(hosted, setup=apart) == Answer((RunSandbox(uid=UID, attempt=0),))


def test_a_sandbox_that_could_not_be_made_is_tried_again_later() -> None:
    """At the pace at which pods are synchronised."""
    failed = living(pod(C), sandboxes=(), retries={"sandbox": Backoff(delay_s=12, since=NOW - 2)})
    assert decided(failed) == Answer(wake_at=NOW + 10)
    assert decided(failed, NOW + 10) == Answer((RunSandbox(uid=UID, attempt=0),))


@pytest.mark.parametrize(
    ("policy", "code", "is_over"),
    [
        ("Never", 0, True),
        ("Never", 1, True),
        ("OnFailure", 0, True),
        ("OnFailure", 1, False),
        ("Always", 0, False),
    ],
)
def test_a_pod_that_is_through_gets_no_new_sandbox(policy: str, code: int, is_over: bool) -> None:
    """One that never restarts, or whose containers have all ended well, is only stopped."""
    ended = run(C, state=EXITED, exit_code=code)
    dead = living(pod(C, restart_policy=policy), ended, sandboxes=(sandbox(state=NOT_READY),))
    assert (decide(dead, SETUP, NOW).record.stopping_since is not None) is is_over


def test_a_container_that_may_restart_keeps_a_pod_that_never_does() -> None:
    """Its own restart policy counts, so the pod gets a new sandbox."""
    stubborn = container("c", restart_policy="OnFailure")
    of = pod(stubborn, restart_policy="Never")
    dead = living(of, run(stubborn, state=EXITED, exit_code=1), sandboxes=(sandbox(state=NOT_READY),))
    assert decided(dead) == Answer((StopSandbox(uid=UID, sandbox_id="s0"),))


def test_contents_of_volumes_are_brought_up_to_date_from_time_to_time() -> None:
    """Those that can change; an empty directory cannot."""
    changing = pod(C, volumes=(Volume(name="v", config_map=ConfigMapSource(name="cm")),))
    alive = living(changing, run(C))
    assert decided(alive) == Answer(wake_at=NOW + 60)
    assert decided(alive, NOW + 60) == Answer((MountVolumes(uid=UID),))
    assert decided(living(pod(C, volumes=(Volume(name="v", empty_dir=EmptyDir()),)), run(C))) == Answer()


def test_after_a_failure_nothing_is_decided_before_the_next_look() -> None:
    """Nobody knows how far a failed deed came."""
    unsure = living(pod(C), sandboxes=(), stale=True)
    assert decided(unsure) == Answer((Inspect(uid=UID),))


def test_a_sandbox_is_no_reason_to_wait_for_sidecars() -> None:
    """The first init container follows the sandbox at once."""
    side = sidecar("s")
    pull = PullImage(uid=UID, container="s", image="busybox:1", policy="IfNotPresent")
    assert decided(living(pod(C, init=(side,)))) == Answer((pull,))


def test_unknown_runs_do_not_keep_a_sandbox() -> None:
    """They are not known to run, and the sandbox is stopped with whatever is in it."""
    dead = living(pod(C), run(C, state=UNKNOWN), sandboxes=(sandbox(state=NOT_READY),))
    assert decided(dead) == Answer((StopSandbox(uid=UID, sandbox_id="s0"),))
