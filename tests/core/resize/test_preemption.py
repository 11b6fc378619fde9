"""Who must go for a critical pod."""

import pytest

from flexlet.api.units import PodUid
from flexlet.core.resize import preemption
from flexlet.core.resize.neighbours import Neighbour

CRITICAL = Neighbour(uid=PodUid("k"), held={}, qos="Guaranteed", priority=2_000_001_000, critical=True)


def other(
    name: str, cpu: int, memory: int = 0, qos: str = "Burstable", priority: int = 0, **more: bool
) -> Neighbour:
    held = {"cpu": cpu, "memory": memory}
    return Neighbour(uid=PodUid(name), held=held, qos=qos, priority=priority, **more)


@pytest.mark.parametrize(
    ("others", "missing", "victims"),
    [
        # The nearest fit of a class, of two equal ones the smaller.
        ([other("a", 100), other("b", 300), other("c", 500)], {"cpu": 300}, ("b",)),
        ([other("a", 500, 9), other("b", 500, 5)], {"cpu": 300}, ("b",)),
        # As few as possible.
        ([other("a", 100), other("b", 200), other("c", 300)], {"cpu": 450}, ("c", "b")),
        # BestEffort first, then Burstable, Guaranteed last, and never more than needed.
        ([other("g", 900, qos="Guaranteed"), other("b", 300)], {"cpu": 300}, ("b",)),
        ([other("g", 900, qos="Guaranteed"), other("b", 300)], {"cpu": 400}, ("g",)),
        ([other("g", 200, qos="Guaranteed"), other("b", 300)], {"cpu": 400}, ("b", "g")),
        # Both resources.
        ([other("a", 500, 0), other("b", 0, 500), other("c", 400, 400)], {"cpu": 400, "memory": 400}, ("c",)),
        # Who leaves already is not killed twice, and counts as gone.
        ([other("a", 300, leaving=True), other("b", 300)], {"cpu": 300}, ()),
        ([other("a", 300, leaving=True), other("b", 300)], {"cpu": 400}, ("b",)),
        # Never a balloon, never a critical pod of the same or a higher priority.
        ([other("a", 900, balloon=True)], {"cpu": 300}, None),
        ([other("a", 900, balloon=True), other("b", 300)], {"cpu": 300}, ("b",)),
        ([other("a", 900, priority=2_000_001_000, critical=True)], {"cpu": 300}, None),
        ([other("a", 900, priority=2_000_000_000, critical=True)], {"cpu": 300}, ("a",)),
        ([other("a", 100)], {"cpu": 300}, None),
    ],
)
def test_victims(others: list[Neighbour], missing: dict[str, int], victims: tuple[str, ...] | None) -> None:
    assert preemption.victims(CRITICAL, others, missing) == victims


def test_a_static_pod_has_no_priority_to_compare() -> None:
    static = Neighbour(uid=PodUid("s"), held={}, qos="Burstable", critical=True)
    assert preemption.victims(static, [other("a", 300)], {"cpu": 300}) == ("a",)
    critical = other("a", 300, priority=2_000_000_000, critical=True)
    assert preemption.victims(static, [critical], {"cpu": 300}) is None
