"""Which containers start, which stop, and when a pod is over: one row for each rule."""

from typing import Any

import pytest
from tests.core.agent.builders import NOW, SETUP, UID, container, living, pod, run, sidecar

from flexlet.api.nodepod import NodeContainer, NodePod
from flexlet.api.nodepod.container import ExitCodes, RestartRule
from flexlet.api.nodepod.handlers import ExecAction, Probe
from flexlet.core.agent.deeds import PullImage, StopContainer
from flexlet.core.agent.lifecycle import decide
from flexlet.core.agent.record import PodRecord, ProbeState
from flexlet.core.runtime.shown import CREATED, EXITED, RUNNING, UNKNOWN, Container

ASK = Probe(exec=ExecAction(command=("true",)), termination_grace_period_seconds=7)
A, B = container("a"), container("b")
FIRST, J = container("i"), container("j")
S, T = sidecar("s"), sidecar("t")


def verdict(record: PodRecord) -> tuple[list[str], dict[str, str], bool]:
    """Who is to be started, who is stopped and why, whether the pod is over."""
    decision = decide(record, SETUP, NOW)
    starts = [deed.container for deed in decision.deeds if isinstance(deed, PullImage)]
    stops = {deed.container: deed.reason for deed in decision.deeds if isinstance(deed, StopContainer)}
    return starts, stops, decision.record.stopping_since is not None


def ended(of: NodeContainer, code: int = 0, **more: Any) -> Container:
    return run(of, state=EXITED, exit_code=code, **more)


def failing(name: str, kind: str, **more: Any) -> dict[str, ProbeState]:
    return {f"{kind}/{name}": ProbeState(container_id=f"{name}#0", result="failure", **more)}


PLAIN = pod(A, B)
INIT = pod(A, init=(FIRST, J))
MIXED = pod(A, init=(S, FIRST, T))


@pytest.mark.parametrize(
    ("of", "runs", "starts"),
    [
        (PLAIN, [], ["a", "b"]),
        (PLAIN, [run(A)], ["b"]),
        (PLAIN, [run(A), run(B)], []),
        (PLAIN, [ended(A), run(B)], ["a"]),
        # What was made and never started goes first.
        (PLAIN, [run(A, state=CREATED), run(B)], []),
        (INIT, [], ["i"]),
        (INIT, [run(FIRST)], []),
        (INIT, [ended(FIRST)], ["j"]),
        (INIT, [ended(FIRST, 1)], ["i"]),
        (INIT, [run(FIRST, state=CREATED)], []),
        (INIT, [ended(J)], ["a"]),
        (INIT, [ended(J), ended(FIRST)], ["a"]),
        (INIT, [ended(J, 1), ended(FIRST)], ["j"]),
        (INIT, [ended(FIRST, reason="OOMKilled")], ["i"]),
        (INIT, [run(A)], []),
        (INIT, [run(A, state=CREATED)], []),
        # The end of a regular container may be from before a reboot: initialization starts again.
        (INIT, [ended(A)], ["i"]),
        (MIXED, [], ["s"]),
        (MIXED, [run(S)], ["i"]),
        (MIXED, [run(FIRST), run(S)], []),
        (MIXED, [ended(FIRST), run(S)], ["t"]),
        (MIXED, [run(T), ended(FIRST), run(S)], ["a"]),
        (MIXED, [run(A), run(T), ended(FIRST), run(S)], []),
        # A sidecar that ends is started again, whatever else goes on.
        (MIXED, [run(A), run(T), ended(FIRST), ended(S, 1)], ["s"]),
        (MIXED, [run(A), ended(T), ended(FIRST), run(S)], ["t"]),
        (MIXED, [run(FIRST), ended(S)], ["s"]),
        # Its traces may be gone once the pod runs; a plain one is not missed.
        (MIXED, [run(A), run(T)], ["s"]),
        (MIXED, [run(A)], ["s", "t"]),
        (MIXED, [ended(T), ended(FIRST), run(S)], ["t"]),
        (pod(A, init=(S,)), [ended(S)], ["s"]),
    ],
)
def test_who_starts(of: NodePod, runs: list[Container], starts: list[str]) -> None:
    """Init containers one after the other, then all regular ones together."""
    assert verdict(living(of, *runs)) == (starts, {}, False)


RULED = container(
    "a",
    restart_policy="Never",
    restart_policy_rules=(
        RestartRule(action="Restart", exit_codes=ExitCodes(operator="In", values=(42,))),
        RestartRule(action="Restart", exit_codes=ExitCodes(operator="NotIn", values=(0, 1, 42))),
    ),
)


@pytest.mark.parametrize(
    ("of", "policy", "code", "restarts"),
    [
        (A, "Always", 0, True),
        (A, "Always", 1, True),
        (A, "OnFailure", 0, False),
        (A, "OnFailure", 1, True),
        (A, "Never", 1, False),
        (container("a", restart_policy="OnFailure"), "Never", 1, True),
        (container("a", restart_policy="OnFailure"), "Always", 0, False),
        (container("a", restart_policy="Always"), "Never", 0, True),
        (container("a", restart_policy="Never"), "Always", 1, False),
        (RULED, "Never", 42, True),
        (RULED, "Never", 7, True),
        (RULED, "Never", 1, False),
        (RULED, "Always", 0, False),
    ],
)
def test_who_starts_again(of: NodeContainer, policy: str, code: int, restarts: bool) -> None:
    """Rules by exit code first, then the container's own policy, then the pod's."""
    runs = (run(B), ended(of, code))
    assert verdict(living(pod(of, B, restart_policy=policy), *runs)) == (["a"] if restarts else [], {}, False)


@pytest.mark.parametrize(
    ("of", "runs"),
    [
        (pod(A, B, restart_policy="Never"), [ended(A), ended(B, 1)]),
        (pod(A, restart_policy="OnFailure"), [ended(A)]),
        (pod(A, init=(FIRST, J), restart_policy="Never"), [ended(FIRST, 1)]),
        (pod(A, init=(FIRST, J), restart_policy="Never"), [run(FIRST, state=UNKNOWN)]),
        (pod(A, init=(container("i", restart_policy="Never"),)), [run(container("i"), state=EXITED, exit_code=1)]),
        # Sidecars do not keep a pod alive.
        (pod(A, init=(S,), restart_policy="Never"), [ended(A), run(S)]),
        (pod(A, init=(S,), restart_policy="OnFailure"), [ended(A), ended(S)]),
    ],
)
def test_when_a_pod_is_over(of: NodePod, runs: list[Container]) -> None:
    """Nothing is kept and nothing is to be started: what is left is stopped with the pod."""
    stops = {each.name: f"Stopping container {each.name}" for each in runs if each.state == RUNNING}
    assert verdict(living(of, *runs)) == ([], stops, True)


def changed(of: NodeContainer) -> Container:
    return run(container(of.name), annotations={"io.kubernetes.container.hash": "other"})


@pytest.mark.parametrize(
    ("of", "runs", "probes", "stops"),
    [
        (pod(A, B), [changed(A), run(B)], {}, {"a": "Container a definition changed, will be restarted"}),
        (
            pod(A, restart_policy="Never"),
            [changed(A)],
            {},
            {"a": "Container a definition changed, will be restarted"},
        ),
        (
            pod(container("a", liveness_probe=ASK)),
            [run(A)],
            failing("a", "liveness"),
            {"a": "Container a failed liveness probe, will be restarted"},
        ),
        (
            pod(container("a", startup_probe=ASK)),
            [run(A)],
            failing("a", "startup"),
            {"a": "Container a failed startup probe, will be restarted"},
        ),
        (
            pod(container("a", liveness_probe=ASK), B, restart_policy="Never"),
            [run(A), run(B)],
            failing("a", "liveness"),
            {"a": "Container a failed liveness probe"},
        ),
        (
            pod(A, init=(sidecar("s", startup_probe=ASK),)),
            [run(S)],
            failing("s", "startup"),
            {"s": "Init container s failed startup probe"},
        ),
        (
            pod(A, init=(sidecar("s", liveness_probe=ASK),)),
            [run(A), run(S)],
            failing("s", "liveness"),
            {"s": "Init container s failed liveness probe"},
        ),
        (pod(A, init=(S,)), [run(A), changed(S)], {}, {"s": "Init container s definition changed"}),
        (
            pod(A, B),
            [run(A, state=UNKNOWN), run(B)],
            {},
            {"a": 'Container is in "unknown" state, try killing it before restart'},
        ),
        (
            pod(A, init=(FIRST,)),
            [run(FIRST, state=UNKNOWN)],
            {},
            {"i": 'Init container is in "unknown" state, try killing it before restart'},
        ),
    ],
)
def test_who_is_stopped(
    of: NodePod, runs: list[Container], probes: dict[str, ProbeState], stops: dict[str, str]
) -> None:
    """A running container is stopped when it is not what it should be; the reason is what people read."""
    assert verdict(living(of, *runs, probes=probes)) == ([], stops, False)


def test_a_liveness_failure_of_a_sidecar_does_not_hold_up_the_next_one() -> None:
    """It has started, which is all that others wait for."""
    side = sidecar("s", liveness_probe=ASK)
    of = pod(A, init=(side, T))
    record = living(of, run(side), probes=failing("s", "liveness"))
    assert verdict(record) == (["t"], {"s": "Init container s failed liveness probe"}, False)


def test_a_sidecar_holds_up_the_next_one_until_it_has_started() -> None:
    """Until its startup probe has succeeded."""
    side = sidecar("s", startup_probe=ASK)
    of = pod(A, init=(side,))
    assert verdict(living(of, run(side))) == ([], {}, False)
    success = {"startup/s": ProbeState(container_id="s#0", result="success")}
    assert verdict(living(of, run(side), probes=success)) == (["a"], {}, False)


def test_the_only_container_of_a_pod_that_never_restarts_is_stopped_with_the_pod() -> None:
    """There is nothing to be restarted, so the message does not promise it."""
    of = pod(container("a", liveness_probe=ASK), restart_policy="Never")
    record = living(of, run(A), probes=failing("a", "liveness"))
    assert verdict(record) == ([], {"a": "Stopping container a"}, True)


def test_a_probe_may_say_how_patiently_a_container_is_stopped() -> None:
    """Its own grace period wins over the pod's."""
    of = pod(container("a", liveness_probe=ASK))
    decision = decide(living(of, run(A), probes=failing("a", "liveness")), SETUP, NOW)
    assert [deed.grace_s for deed in decision.deeds if isinstance(deed, StopContainer)] == [7]
    assert decision.record.replaced == {"a#0"}


def test_a_run_that_was_replaced_starts_again_whatever_its_exit_code() -> None:
    """It was stopped to be started again."""
    record = living(pod(A, restart_policy="OnFailure"), ended(A), replaced=frozenset({"a#0"}))
    assert verdict(record) == (["a"], {}, False)


def test_a_run_whose_hook_failed_is_stopped_and_then_judged_by_its_exit_code() -> None:
    """Also in a pod that never restarts, and with the reason of the hook."""
    of = pod(A, restart_policy="Never")
    record = living(of, run(A), doomed={"a#0": "FailedPostStartHook"})
    assert verdict(record) == ([], {"a": "FailedPostStartHook"}, False)
    assert decide(record, SETUP, NOW).record.replaced == frozenset()
    assert verdict(living(of, ended(A), doomed={"a#0": "FailedPostStartHook"})) == ([], {}, True)


@pytest.mark.parametrize(
    ("of", "runs", "key"),
    [
        (pod(A), [], "container/a"),
        (pod(A, init=(FIRST,)), [], "container/i"),
        (pod(A, init=(S,)), [run(S)], "container/s"),
        (pod(A, restart_policy="Never"), [ended(A)], "container/a"),
        (pod(A, restart_policy="Never"), [run(A)], "stop/a#0"),
    ],
)
def test_what_is_under_way_is_awaited(of: NodePod, runs: list[Container], key: str) -> None:
    """Neither started nor stopped again, and no pod is over while something may still become of it."""
    assert verdict(living(of, *runs, underway={key: NOW})) == ([], {}, False)


def test_ephemeral_containers_start_once() -> None:
    """Even while the pod is not initialized; never again after their end."""
    debug = container("debug")
    of = pod(A, init=(FIRST,), ephemeral_containers=(debug,))
    assert verdict(living(of, run(FIRST))) == (["debug"], {}, False)
    assert verdict(living(of, ended(debug, 1), run(FIRST))) == ([], {}, False)
    assert verdict(living(of, run(debug), run(FIRST))) == ([], {}, False)


def test_a_deleted_pod_starts_nothing() -> None:
    """What has not been started is not started any more."""
    of = pod(A, B, meta={"deletion_timestamp": "1970-01-12T13:47:10Z", "deletion_grace_period_seconds": 5})
    assert verdict(living(of, run(A), ended(B))) == ([], {"a": "Stopping container a"}, True)


def test_the_uid_of_a_deed_is_that_of_the_pod() -> None:
    """Deeds find their way back by it."""
    assert {deed.uid for deed in decide(living(pod(A, B)), SETUP, NOW).deeds} == {UID}
