"""Lines of the log from two pictures of the node."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.core.agent.builders import NOW, SETUP, container, pod, record, run, runtime

from flexlet.api.quantity import Quantity
from flexlet.core.agent.loglines import line, lines
from flexlet.core.agent.record import ADMITTED, Ending, PodRecord
from flexlet.core.agent.world import World
from flexlet.core.resize import conditions
from flexlet.core.runtime.shown import EXITED

A = container("a", "500m,64Mi", "1")
POD = pod(A)
KNOWN = record(POD, runtime(run(A)), admission=ADMITTED)
WHOSE = "pod=ns/p uid=uid-1"


def told(before: PodRecord | None, after: PodRecord | None) -> list[str]:
    world = World(setup=SETUP)
    was, now = ({} if each is None else {each.uid: each} for each in (before, after))
    return list(lines(replace(world, pods=was), replace(world, pods=now)))


def ended(**fields: Any) -> PodRecord:
    return replace(KNOWN, ending=Ending(**fields))


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "a"), (3, "3"), ("", '""'), ("a b", '"a b"'), ('say "x"', '"say \\"x\\""'), ("a=b", '"a=b"')],
)
def test_values_are_quoted_where_they_must_be(value: object, text: str) -> None:
    assert line("x", key=value) == f"x key={text}"


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (
            ended(reason="Evicted", message="The node was low on resource: memory."),
            [f'pod evicted {WHOSE} reason=Evicted message="The node was low on resource: memory."'],
        ),
        (
            ended(failed=False, disruption="make way"),
            [f'pod ended by the node {WHOSE} reason=Preempted message="make way"'],
        ),
        (replace(KNOWN, stopped=True), [f"pod terminated {WHOSE} reason=Completed"]),
        (replace(KNOWN, gone=True, stopped=True), [f"pod terminated {WHOSE} reason=Deleted"]),
        (None, [f"pod terminated {WHOSE} reason=Completed"]),
        (
            replace(KNOWN, resize=conditions.refused(conditions.NONE, "Infeasible", "too large", 2, NOW)),
            [f'resize infeasible {WHOSE} generation=1 message="too large"'],
        ),
        (
            replace(KNOWN, resize=conditions.failed(conditions.NONE, "no", 2, NOW)),
            [f"resize failed {WHOSE} generation=1 message=no"],
        ),
        (
            replace(KNOWN, shown=runtime(run(A, state=EXITED, exit_code=137, reason="OOMKilled"))),
            [f"container exited {WHOSE} container=a exit_code=137 reason=OOMKilled id=a#0"],
        ),
        (replace(KNOWN, stale=True), []),
    ],
)
def test_what_changed_of_a_pod_is_a_line(after: PodRecord | None, expected: list[str]) -> None:
    assert told(KNOWN, after) == expected


def test_a_run_that_ended_before_anybody_looked_has_started_too() -> None:
    new = run(A, attempt=1, state=EXITED, exit_code=1, reason="Error", started_at=1)
    after = replace(KNOWN, shown=runtime(new, run(A)))
    assert told(KNOWN, after) == [
        f"container restarted {WHOSE} container=a restarts=1 id=a#1",
        f"container exited {WHOSE} container=a exit_code=1 reason=Error id=a#1",
    ]


def test_what_an_agent_finds_when_it_starts_is_no_news() -> None:
    assert told(None, replace(KNOWN, stopped=True)) == []
    assert told(replace(KNOWN, shown=None), KNOWN) == []


def test_the_node_is_told_with_what_it_was_and_is() -> None:
    before = World(setup=replace(SETUP, allocatable={"cpu": Quantity.parse("2"), "pods": Quantity.parse("110")}))
    setup = replace(SETUP, allocatable={"cpu": Quantity.parse("4"), "pods": Quantity.parse("110")})
    after = World(setup=replace(setup, runtime_ready=False), pressures=("MemoryPressure",))
    assert list(lines(before, after)) == [
        "node allocatable changed cpu=2->4",
        "node condition changed condition=RuntimeReady status=False",
        "node condition changed condition=MemoryPressure status=True",
    ]
