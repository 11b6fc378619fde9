"""A runtime that has lost something which runs: nobody is stopped on its word alone."""

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
    told,
)

from flexlet.api.nodepod import NodeContainer
from flexlet.core.agent import doubts, runs, status
from flexlet.core.agent.deeds import Inspect, PodDeed, PullImage, ReportStatus, StopContainer, StopSandbox
from flexlet.core.agent.record import Doubt, PodRecord
from flexlet.core.runtime.shown import EXITED, NOT_READY, UNKNOWN, Container

C, D = container("c", "100m,64Mi", "200m,128Mi"), container("d")
LOST_AT = NOW - 10
ENDS_AT = LOST_AT + doubts.PATIENCE_S


def lost(of: NodeContainer) -> Container:
    return run(of, state=EXITED, exit_code=255, reason="Unknown")


def in_doubt(*ids: str, seen_at: float = NOW) -> dict[str, Doubt]:
    return dict.fromkeys(ids, Doubt(since=LOST_AT, seen_at=seen_at))


def without_sandbox(*of: Container, **more: Any) -> PodRecord:
    """Told when all was well; then its sandbox was lost."""
    spec = pod(*(C, D)[: len(of)])
    before = living(spec, *(run(each) for each in spec.spec.containers))
    gone = runtime(*of, sandboxes=(sandbox(state=NOT_READY),))
    return replace(before, shown=gone, **{"doubts": in_doubt("s0"), **more})


def without_container(state: str = UNKNOWN, **more: Any) -> PodRecord:
    before = living(pod(C), run(C))
    return replace(before, shown=runtime(run(C, state=state)), **{"doubts": in_doubt("c#0"), **more})


def deeds(of: PodRecord, now: float = NOW) -> list[PodDeed]:
    """What is done to a pod; who is told of it is another matter."""
    return [deed for deed in decided(of, now).deeds if not isinstance(deed, ReportStatus)]


def stopped(of: PodRecord, now: float = NOW) -> list[tuple[str, bool]]:
    return [(deed.container_id, deed.replaces) for deed in deeds(of, now) if isinstance(deed, StopContainer)]


# What the kernel is asked about


@pytest.mark.parametrize(
    ("found", "asked"),
    [
        (runtime(run(C)), set()),
        (runtime(run(C), sandboxes=(sandbox(state=NOT_READY),)), {"s0"}),
        (runtime(run(C, state=UNKNOWN)), {"c#0"}),
        (runtime(lost(C)), {"c#0"}),
        (runtime(run(C, state=EXITED, exit_code=255, reason="Error")), set()),
        (runtime(run(C, state=EXITED, reason="Unknown")), set()),
        (runtime(), {"c#0"}),
        (runtime(sandboxes=()), {"c#0", "s0"}),
    ],
)
def test_only_what_may_run_unseen_is_asked_about(found: Any, asked: set[str]) -> None:
    assert doubts.questionable(record(pod(C), runtime(run(C))), found) == asked


def test_what_was_not_there_is_not_missed() -> None:
    """Unless it was in doubt before."""
    ended = record(pod(C), runtime(run(C, state=EXITED), sandboxes=(sandbox(state=NOT_READY),)))
    assert doubts.questionable(ended, runtime(sandboxes=())) == set()
    assert doubts.questionable(replace(ended, doubts=in_doubt("c#0")), runtime(sandboxes=())) == {"c#0"}


# Sandboxes


def test_a_lost_sandbox_is_kept_for_those_who_run_in_it() -> None:
    assert decided(without_sandbox(run(C))) == Answer()
    assert not runs.needs_sandbox(without_sandbox(run(C)))


def test_a_sandbox_that_is_dead_is_not_kept() -> None:
    """The kernel agrees with the runtime."""
    assert stopped(without_sandbox(run(C), doubts={})) == [("c#0", True)]


@pytest.mark.parametrize(
    "more",
    [{"stopped_sandboxes": frozenset({"s0"})}, {"stopping_since": NOW}],
    ids=["stopped", "stopping"],
)
def test_a_sandbox_that_was_to_be_stopped_is_not_kept(more: dict[str, Any]) -> None:
    assert runs.needs_sandbox(without_sandbox(run(C), **more))


def test_a_lost_sandbox_goes_when_somebody_must_start_in_it() -> None:
    """It cannot be started in; then everybody moves to a new one."""
    assert stopped(without_sandbox(run(C), run(D, state=EXITED, exit_code=1))) == [("c#0", True)]
    alone = without_sandbox(run(C, state=EXITED, exit_code=1))
    assert deeds(alone) == [StopSandbox(uid=UID, sandbox_id="s0")]


def test_nobody_is_stopped_for_an_ephemeral_container() -> None:
    debugger = container("debug")
    spec = replace(pod(C), spec=replace(pod(C).spec, ephemeral_containers=(debugger,)))
    watched = replace(without_sandbox(run(C)), pod=spec)
    assert [type(deed) for deed in deeds(watched)] == [PullImage]


# Containers


@pytest.mark.parametrize("record", [without_container(), replace(without_container(), shown=runtime())])
def test_a_runtime_gets_time_to_find_a_container_again(record: PodRecord) -> None:
    assert decided(record).deeds == ()
    assert decided(record).wake_at == ENDS_AT


def test_when_the_time_is_over_it_must_say_so_again() -> None:
    assert decided(without_container(), now=ENDS_AT) == Answer((Inspect(uid=UID),))


def test_a_container_that_is_lost_for_good_is_replaced() -> None:
    """And not started again before it was stopped."""
    confirmed = without_container(doubts=in_doubt("c#0", seen_at=ENDS_AT))
    assert stopped(confirmed, ENDS_AT) == [("c#0", True)]
    told_of = 'Container is in "unknown" state, try killing it before restart'
    assert [each[2] for each in decided(confirmed, ENDS_AT).events] == [told_of]


def test_a_container_without_processes_is_replaced_at_once() -> None:
    assert stopped(without_container(doubts={})) == [("c#0", True)]


def test_nobody_waits_for_a_container_of_a_pod_that_is_to_end() -> None:
    ending = replace(without_container(), pod=deleted(pod(C)))
    assert deeds(ending) == [StopSandbox(uid=UID, sandbox_id="s0")]


def test_the_status_says_that_it_runs() -> None:
    known = told(living(pod(C), run(C))).reported
    assert status.same(status.render(without_container(), SETUP, NOW), known or {})
    assert status.same(status.render(without_sandbox(run(C)), SETUP, NOW), known or {})
