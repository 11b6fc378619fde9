"""Stopping a pod for good: why, how patiently, in which order, and what is left to do afterwards."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.core.agent.builders import (
    NOW,
    SETUP,
    UID,
    Answer,
    container,
    decided,
    deleted,
    living,
    pod,
    record,
    run,
    runtime,
    sandbox,
    sidecar,
    told,
)

from flexlet.api.nodepod.handlers import ExecAction, Handler, Lifecycle
from flexlet.api.nodepod.pod import NodeContainerStatus
from flexlet.core.agent.deeds import (
    FinishDelete,
    ForgetPod,
    RemoveContainer,
    RemovePodCgroup,
    RemoveSandbox,
    RemoveVolumes,
    ReportStatus,
    RunPreStop,
    StopContainer,
    StopSandbox,
)
from flexlet.core.agent.lifecycle import decide
from flexlet.core.agent.observations import FILE
from flexlet.core.agent.record import REJECTED, Backoff, Ending, PodRecord
from flexlet.core.runtime.shown import EXITED, NOT_READY, RuntimePod

A, B = container("a"), container("b")
S, T = sidecar("s"), sidecar("t")
HOOK = Handler(exec=ExecAction(command=("drain",)))
SANDBOX = StopSandbox(uid=UID, sandbox_id="s0")
DEAD = (sandbox(state=NOT_READY),)
ALL_STOPPED = frozenset({"s0"})


def stop(name: str, grace_s: int = 30, hook: Handler | None = None) -> StopContainer:
    return StopContainer(
        uid=UID,
        container=name,
        container_id=f"{name}#0",
        grace_s=grace_s,
        reason=f"Stopping container {name}",
        pre_stop=hook,
    )


def killing(name: str, kind: str = "containers") -> tuple[str, str, str, str]:
    return ("Normal", "Killing", f"Stopping container {name}", f"spec.{kind}{{{name}}}")


def stopping(of: PodRecord, grace_s: int = 30, **more: Any) -> PodRecord:
    """One that was told to stop just now."""
    running = of.shown.running if of.shown is not None else ()
    known: dict[str, Any] = {
        "stopping_since": NOW,
        "grace_s": grace_s,
        "stop_by": NOW + grace_s,
        "stops": {each.id: NOW + grace_s for each in running},
    }
    return told(replace(of, **{**known, **more}))


@pytest.mark.parametrize(
    ("more", "grace_s"),
    [
        ({"pod": deleted(pod(A), 5)}, 5),
        ({"pod": deleted(pod(A), 0)}, 1),
        ({"ending": Ending()}, 20),
        ({"ending": Ending(grace_s=3)}, 3),
        ({"ending": Ending(grace_s=300), "pod": deleted(pod(A), 5)}, 5),
        # Nobody asks for it any more: at once, but a manifest that was removed is no emergency.
        ({"gone": True}, 1),
        ({"gone": True, "source": FILE}, 20),
    ],
)
def test_the_grace_is_the_shortest_that_anybody_asked_for(more: dict[str, Any], grace_s: int) -> None:
    """The deletion's, the node's, or else the pod's own; never less than a second."""
    of = pod(A, termination_grace_period_seconds=20)
    record = replace(living(of, run(A)), **more)
    record = told(replace(record, pod=replace(record.pod, spec=of.spec)))
    answer = decided(record)
    assert [deed for deed in answer.deeds if isinstance(deed, StopContainer)] == [stop("a", grace_s)]
    assert (answer.events, answer.wake_at) == ((killing("a"),), NOW + grace_s)


def test_a_pod_that_ended_according_to_the_api_is_not_run_again() -> None:
    """A phase that was told is final, whatever the runtime still has."""
    of = living(pod(A), run(A))
    ended = replace(of, pod=replace(of.pod, status=replace(of.pod.status, phase="Failed")))
    assert decided(told(ended)).deeds == (stop("a"),)


def test_a_pod_past_its_deadline_is_ended() -> None:
    """Counted from its start; told once."""
    of = living(pod(A, active_deadline_seconds=20), run(A))
    assert decided(of) == Answer(wake_at=NOW + 20)
    text = "Pod was active on the node longer than the specified deadline"
    late = decided(of, NOW + 20)
    assert late.events == (("Normal", "DeadlineExceeded", text, ""), killing("a"))
    assert late.deeds[0] == stop("a")
    record = decide(of, SETUP, NOW + 20).record
    assert record.ending == Ending(reason="DeadlineExceeded", message=text)


def test_hooks_run_before_the_signal() -> None:
    """Within the grace, which the executor sees to."""
    hooked = container("a", lifecycle=Lifecycle(pre_stop=HOOK))
    of = living(deleted(pod(hooked)), run(hooked))
    assert decided(of).deeds == (stop("a", hook=HOOK),)


def test_all_containers_stop_side_by_side_then_every_sandbox() -> None:
    """Also sandboxes that are not ready: they may hold a network."""
    of = deleted(pod(A, B))
    both = (sandbox(1), sandbox(0, state=NOT_READY))
    assert decided(living(of, run(A), run(B))).deeds == (stop("a"), stop("b"))
    busy = stopping(living(of, run(A), run(B, state=EXITED)), underway={"stop/a#0": NOW})
    assert decided(busy) == Answer(wake_at=NOW + 30)
    ended = stopping(living(of, run(A, state=EXITED), run(B, state=EXITED), sandboxes=both))
    assert decided(ended).deeds == (StopSandbox(uid=UID, sandbox_id="s1"),)
    half = replace(ended, stopped_sandboxes=frozenset({"s1"}))
    assert decided(half).deeds == (SANDBOX,)


def test_a_shorter_grace_reaches_those_who_were_told_already() -> None:
    """The grace may only shrink; a deletion with a longer one changes nothing."""
    patient = stopping(living(deleted(pod(A)), run(A)), underway={"stop/a#0": NOW})
    hurried = told(replace(patient, pod=deleted(pod(A), 5)), NOW + 10)
    answer = decided(hurried, NOW + 10)
    assert (answer.deeds, answer.wake_at) == ((stop("a", 5),), NOW + 15)
    slower = told(replace(patient, pod=deleted(pod(A), 300)), NOW + 10)
    assert decided(slower, NOW + 10) == Answer(wake_at=NOW + 30)


def test_sidecars_are_told_at_once_and_stop_last_in_reverse_order() -> None:
    """Each outlives the regular containers and all sidecars that came after it."""
    of = deleted(pod(A, init=(S, T)))
    everything = living(of, run(A), run(T), run(S))
    answer = decided(everything)
    assert answer.deeds == (stop("a"),)
    assert answer.events == (killing("a"), killing("t", "initContainers"), killing("s", "initContainers"))
    without_app = stopping(living(of, run(A, state=EXITED), run(T), run(S)))
    assert decided(without_app) == Answer((stop("t"),), (), NOW + 30)
    alone = stopping(living(of, run(A, state=EXITED), run(T, state=EXITED), run(S)))
    assert decided(alone, NOW + 4) == Answer((stop("s", 26),), (), NOW + 30)


def test_sidecars_do_not_wait_beyond_the_grace() -> None:
    """Then everybody is stopped."""
    of = deleted(pod(A, init=(S,)))
    hanging = stopping(living(of, run(A), run(S)), underway={"stop/a#0": NOW})
    assert decided(hanging, NOW + 29).deeds == ()
    assert decided(hanging, NOW + 30).deeds == (stop("s", 0),)


def test_the_hook_of_a_sidecar_runs_at_once() -> None:
    """It may be what the others wait for; its signal comes later, without the hook."""
    hooked = sidecar("s", lifecycle=Lifecycle(pre_stop=HOOK))
    of = deleted(pod(A, init=(hooked,)))
    hook = RunPreStop(uid=UID, container="s", container_id="s#0", grace_s=30, hook=HOOK)
    both = living(of, run(A), run(hooked))
    assert decided(both).deeds == (stop("a"), hook)
    turn = stopping(living(of, run(A, state=EXITED), run(hooked)), hooked=frozenset({"s#0"}))
    assert decided(turn).deeds == (stop("s"),)
    hanging = replace(turn, underway={"hook/s#0": NOW})
    assert decided(hanging).deeds == ()
    assert decided(hanging, NOW + 30).deeds == (stop("s", 0),)


def test_a_container_that_cannot_be_stopped_does_not_keep_the_sandbox() -> None:
    """The sandbox takes it with it; until it is gone the pod is not stopped."""
    retries = {"stop/a#0": Backoff(delay_s=12, since=NOW)}
    stubborn = stopping(living(deleted(pod(A)), run(A)), retries=retries)
    assert decided(stubborn) == Answer((SANDBOX,), (), NOW + 12)
    after = replace(stubborn, stopped_sandboxes=ALL_STOPPED)
    assert decided(after) == Answer(wake_at=NOW + 12)
    assert decided(after, NOW + 12).deeds == (stop("a", 18),)


@pytest.mark.parametrize("key", ["container/a", "sandbox"])
def test_what_is_being_made_is_awaited_before_the_pod_counts_as_stopped(key: str) -> None:
    """It would run on unseen."""
    making = stopping(living(deleted(pod(A)), sandboxes=()), underway={key: NOW - 60})
    assert decided(making) == Answer(wake_at=NOW + 30)
    assert decide(making, SETUP, NOW).record.stopped is False


def stopped(of: PodRecord, **more: Any) -> PodRecord:
    known: dict[str, Any] = {"stopped": True, "stopped_sandboxes": ALL_STOPPED}
    return told(replace(stopping(of), **{**known, **more}))


def ended(**more: Any) -> PodRecord:
    """A deleted pod that has stopped."""
    return stopped(living(deleted(pod(A)), run(A, state=EXITED), sandboxes=DEAD), **more)


CGROUP = RemovePodCgroup(uid=UID, path=f"kubepods/besteffort/pod{UID}")


def test_a_pod_is_stopped_when_nothing_of_it_runs() -> None:
    """Its end is told at once; volumes and cgroup go meanwhile."""
    last = stopping(living(deleted(pod(A)), run(A, state=EXITED), sandboxes=DEAD), stopped_sandboxes=ALL_STOPPED)
    answer = decided(last)
    assert answer.deeds[:2] == (CGROUP, RemoveVolumes(uid=UID))
    assert [deed.status["phase"] for deed in answer.deeds[2:]] == ["Succeeded"]  # type: ignore[union-attr]


def test_the_api_lets_a_pod_go_when_it_is_cleaned_up_and_known_to_have_ended() -> None:
    """Not before: whoever sees it vanish may use its volumes."""
    assert decided(ended()).deeds == (CGROUP, RemoveVolumes(uid=UID))
    assert decided(ended(has_cgroup=False)).deeds == (RemoveVolumes(uid=UID),)
    clean = ended(has_cgroup=False, unmounted=True, cleaned=True)
    assert decided(clean) == Answer((FinishDelete(uid=UID),))
    unheard = replace(clean, reported=None)
    assert [type(deed).__name__ for deed in decided(unheard).deeds] == ["ReportStatus"]
    assert decided(replace(clean, deleted=True)) == Answer()


def test_a_pod_that_was_not_deleted_stays_when_it_has_ended() -> None:
    """With its last runs, whose logs are asked for."""
    of = living(pod(A, restart_policy="Never"), run(A, state=EXITED), sandboxes=DEAD, has_cgroup=False)
    assert decided(stopped(of, unmounted=True, cleaned=True)) == Answer()


def test_everything_of_a_pod_that_is_gone_goes_at_last_what_was_allocated_to_it() -> None:
    """Nobody is told any more."""
    gone = ended(gone=True, has_cgroup=False)
    run_away = RemoveContainer(uid=UID, container="a", container_id="a#0")
    assert decided(gone).deeds == (RemoveVolumes(uid=UID, everything=True), run_away)
    empty = replace(gone, shown=runtime(sandboxes=DEAD), unmounted=True, erased=True)
    assert decided(empty).deeds == (RemoveSandbox(uid=UID, sandbox_id="s0"),)
    nothing = replace(empty, shown=runtime(sandboxes=()))
    assert decided(nothing) == Answer((ForgetPod(uid=UID),))
    assert decided(replace(nothing, cleaned=True)) == Answer()


def test_of_a_pod_that_lives_one_ended_run_each_is_kept() -> None:
    """The newest, whose exit is told; and of sandboxes those that something is left in."""
    of = pod(A, B)
    runs = (run(A, 2), run(A, 1, state=EXITED), run(A, 0, state=EXITED), run(B))
    old = (sandbox(2), sandbox(1, state=NOT_READY), sandbox(0, state=NOT_READY))
    record = living(of, *runs, sandboxes=old)
    assert decided(record).deeds == (
        RemoveContainer(uid=UID, container="a", container_id="a#0"),
        RemoveSandbox(uid=UID, sandbox_id="s1"),
    )


def test_a_run_that_is_being_made_is_not_taken_for_a_dead_one() -> None:
    """It may look as if it had never started."""
    runs = (run(A, 1, state="CREATED"), run(A, 0, state=EXITED))
    assert decided(living(pod(A), *runs, underway={"container/a": NOW - 60})) == Answer()


@pytest.mark.parametrize(
    ("shown", "known", "is_told"),
    [
        (None, (), True),
        (runtime(sandboxes=()), (), True),
        (None, (NodeContainerStatus(name="a", container_id="containerd://1"),), False),
        (runtime(run(A)), (), False),
    ],
)
def test_a_rejection_is_told_at_once_unless_something_may_run(
    shown: RuntimePod | None, known: tuple[NodeContainerStatus, ...], is_told: bool
) -> None:
    """What an earlier agent left running ends first."""
    of = pod(A)
    of = replace(of, status=replace(of.status, container_statuses=known))
    ending = Ending(reason="OutOfcpu", message="Pod was rejected: no cpu")
    found = decide(record(of, shown, admission=REJECTED, ending=ending), SETUP, NOW)
    reports = [each.status for each in found.deeds if isinstance(each, ReportStatus)]
    assert [each["reason"] for each in reports] == (["OutOfcpu"] if is_told else [])
