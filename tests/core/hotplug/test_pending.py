"""When a size is done with, and when a shortage has lasted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.hotplug import nodes

from flexlet.core.hotplug.generation import Generation
from flexlet.core.hotplug.pending import Decision, Pending, Signs, continues, decide
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.machine.difference import difference
from flexlet.core.machine.machine import Machine

SETTINGS = ResizeSettings(plug=True, unplug=True)
SHORT = Pending(since=100.0, published_at=100.0, short=True)
DONE = Pending(since=100.0, published_at=100.0)


@pytest.mark.parametrize(
    ("state", "signs", "now", "expected"),
    [
        (SHORT, Signs(), 129.9, Decision(state=SHORT, wake_at=130.0)),
        (SHORT, Signs(), 130.0, Decision(state=SHORT, act="evict", wake_at=130.0)),
        (
            SHORT,
            Signs(told_at=110.0),
            130.0,
            Decision(state=Pending(since=110.0, published_at=100.0, short=True), wake_at=140.0),
        ),
        (
            SHORT,
            Signs(is_leaving=True),
            500.0,
            Decision(state=Pending(since=500.0, published_at=100.0, short=True), wake_at=501.0),
        ),
        (DONE, Signs(), 101.9, Decision(state=DONE, wake_at=102.0)),
        (
            DONE,
            Signs(told_at=101.5),
            102.0,
            Decision(state=DONE, act="finish", wake_at=102.0),
        ),
        (
            DONE,
            Signs(is_leaving=True),
            102.0,
            Decision(state=Pending(since=102.0, published_at=100.0), wake_at=103.0),
        ),
        (DONE, Signs(is_leaving=True), 130.0, Decision(state=DONE, act="finish", wake_at=130.0)),
    ],
)
def test_nobody_is_evicted_before_the_machine_was_quiet(
    state: Pending, signs: Signs, now: float, expected: Decision
) -> None:
    assert decide(state, signs, now, SETTINGS) == expected


@given(st.lists(st.tuples(st.floats(0.1, 40.0), st.booleans(), st.booleans()), max_size=20))
def test_an_eviction_has_a_whole_quiet_period_before_it(looks: list[tuple[float, bool, bool]]) -> None:
    """Whatever is seen on the way, and whenever somebody asks."""
    state, now, stirred, told_at = Pending(since=0.0, short=True), 0.0, 0.0, 0.0
    for seconds, is_leaving, tells in looks:
        now += seconds
        told_at = now if tells else told_at
        stirred = now if tells or is_leaving else stirred
        found = decide(state, Signs(told_at=told_at, is_leaving=is_leaving), now, SETTINGS)
        state = found.state
        assert (found.act == "evict") == (now >= stirred + SETTINGS.evict_quiet_s)


@pytest.mark.parametrize(
    ("published", "now", "short", "expected"),
    [
        (nodes.machine(memory="7Gi"), nodes.machine(memory="6Gi"), False, True),
        (nodes.machine(memory="7Gi"), nodes.machine(memory="8Gi"), False, False),
        (nodes.machine(memory="7Gi"), nodes.machine(memory="8Gi"), True, True),
        (nodes.machine(memory="7Gi"), nodes.machine(2, memory="7Gi"), False, True),
        (nodes.machine(memory="9Gi"), nodes.machine(8, memory="9Gi"), False, True),
        (nodes.machine(memory="9Gi"), nodes.machine(2, memory="9Gi"), False, False),
        (nodes.machine(8, memory="7Gi"), nodes.machine(8, memory="6Gi"), False, False),
        (nodes.machine(), nodes.machine(memory="7Gi"), False, True),
    ],
)
def test_what_goes_the_same_way_is_the_same_generation(
    published: Machine, now: Machine, *, short: bool, expected: bool
) -> None:
    generation = Generation(number=2, machine=published, changes=difference(nodes.machine(), published))
    assert continues(generation, now, short=short) is expected
