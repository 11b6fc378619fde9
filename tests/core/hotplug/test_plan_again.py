"""Plans that follow others which were not finished, given up or overtaken."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.core.hotplug import nodes
from tests.core.hotplug.plans import DB, WEB, B, books, kinds, planned

from flexlet.api.units import GIB, Bytes
from flexlet.core.hotplug.generation import Generation
from flexlet.core.hotplug.plan import ResizePlan, late, plan
from flexlet.core.hotplug.settling import Situation, still_holds
from flexlet.core.hotplug.steps import (
    HoldPods,
    Release,
    Squeeze,
    TuneContainer,
)
from flexlet.core.machine.difference import Change


def test_what_was_tried_and_given_up_is_taken_back() -> None:
    """8Gi, 4Gi begun and not published, then 8Gi again: the squeeze ends, and containers have what they had."""
    found = plan(nodes.generation(), nodes.machine(), 1.0, nodes.situation(B), None, [nodes.machine(memory="4Gi")])
    assert isinstance(found, ResizePlan)
    assert found.generation == nodes.generation()
    assert kinds(found.steps) == ["HoldPods", "Publish", "ReportNode", "TuneContainer", "Release"]
    assert found.steps[0] == HoldPods(path="kubepods", files=found.view.kubepods)
    tuned = [each for each in found.steps if isinstance(each, TuneContainer)]
    assert [(each.oom_before, each.oom_after, each.files) for each in tuned] == [
        ((500,), 750, {"memory.swap.max": "1073741824"})
    ]
    other = plan(
        nodes.generation(),
        nodes.machine(memory="6Gi"),
        1.0,
        nodes.situation(B),
        None,
        [nodes.machine(memory="4Gi")],
    )
    assert isinstance(other, ResizePlan)
    assert [each.oom_before for each in other.steps if isinstance(each, TuneContainer)] == [(500, 750)]


def test_containers_may_have_values_of_sizes_before() -> None:
    """Those that were just starting when the size changed, and those that did not want to change."""
    sizes = [nodes.machine(memory=text) for text in ("4Gi", "6Gi")]
    found = late(sizes, nodes.machine(), nodes.situation(B))
    assert [(each.oom_before, each.oom_after, each.files) for each in found] == [
        ((500, 667), 750, {"memory.swap.max": "1073741824"})
    ]
    assert late([], nodes.machine(), nodes.situation(B)) == ()
    grown = plan(nodes.generation(), nodes.machine(memory="16Gi"), 1.0, nodes.situation(B), None, (), sizes)
    assert isinstance(grown, ResizePlan)
    assert kinds(grown.steps) == ["HoldPods", "Publish", "ReportNode", "TuneContainer", "Release"]
    assert [each.oom_before for each in grown.steps if isinstance(each, TuneContainer)] == [(500, 667, 750)]


def test_an_unfinished_generation_is_taken_up_again() -> None:
    """After a crash: the same steps for whoever is still there, under the same number."""
    before, after = nodes.generation(), nodes.machine(memory="4Gi")
    first = planned(before, after, nodes.situation(B, WEB, DB))
    again = planned(before, after, nodes.situation(B, WEB, DB), first.generation)
    tuned = tuple(replace(s, before=s.files) if isinstance(s, TuneContainer) else s for s in first.steps)
    assert again == replace(first, before=first.generation, was=first.view, steps=tuned)
    later = planned(before, after, nodes.situation(DB), first.generation)
    assert (later.generation.number, later.victims, kinds(later.steps)[-1]) == (2, (), "Release")
    assert later.steps[-1] == first.steps[-1]


def test_a_machine_that_grows_back_in_the_middle_spares_who_is_left() -> None:
    """8Gi, 4Gi, and 16Gi before anybody has ended: nothing is squeezed any more, scores of both sizes are ours."""
    before = nodes.generation()
    first = planned(before, nodes.machine(memory="4Gi"), nodes.situation(B, WEB))
    found = planned(before, nodes.machine(memory="16Gi"), nodes.situation(B, WEB), first.generation)
    assert (found.generation.number, found.victims) == (3, ())
    assert found.generation.changes == (Change("memory", "increase", 4 * GIB, 16 * GIB),)
    assert found.steps[0] == HoldPods(path="kubepods", files=found.view.kubepods)
    tuned = [
        (each.uid, each.oom_before, each.oom_after) for each in found.steps if isinstance(each, TuneContainer)
    ]
    assert tuned == [("b", (500, 750), 875), ("web", (3, 500), 750)]
    assert found.steps[-1] == Release(path="kubepods", squeeze_s=60.0)


def test_a_machine_that_grows_back_a_little_is_still_squeezed() -> None:
    before = nodes.generation()
    first = planned(before, nodes.machine(memory="4Gi"), nodes.situation(B, WEB, DB))
    found = planned(before, nodes.machine(memory="6Gi"), nodes.situation(B, WEB, DB), first.generation)
    assert [each.uid for each in found.victims] == ["db", "b"]
    assert found.steps[0] == Squeeze(path="kubepods", limit=Bytes(5 * GIB))


def test_a_shrink_that_is_repeated_ends_only_who_came_in_between() -> None:
    """S5: 8, 4, 16, 4Gi."""
    keeps, late = nodes.tenant("keeps", ",2Gi"), nodes.tenant("late", ",8Gi", age=9)
    small = nodes.generation(memory="4Gi")
    up = planned(small, nodes.machine(memory="16Gi"), nodes.situation(keeps))
    down = planned(up.generation, nodes.machine(memory="4Gi"), nodes.situation(keeps, late))
    assert (up.generation.shrank, down.generation.shrank) == (False, True)
    assert [each.uid for each in down.victims] == ["late"]
    assert down.view == replace(up.was)


SIZES = st.tuples(st.integers(1, 8), st.sampled_from(("2Gi", "4Gi", "8Gi", "16Gi")), st.sampled_from(("0", "4Gi")))


@given(st.lists(SIZES, min_size=2, max_size=5))
def test_wherever_a_plan_is_cut_short_the_end_is_the_same(lives: list[tuple[int, str, str]]) -> None:
    """Sizes follow each other before anything is finished; the last plan leads to what the last size means."""
    machines = [nodes.machine(*each) for each in lives]
    before, unfinished = Generation(number=1, machine=machines[0]), None
    for each in machines[1:]:
        found = plan(before, each, 1.0, nodes.situation(B, WEB, DB), unfinished)
        if isinstance(found, ResizePlan):
            unfinished = found.generation
    if unfinished is None or not isinstance(found, ResizePlan):
        return
    direct = plan(before, machines[-1], 1.0, nodes.situation(B, WEB, DB))
    written: dict[str, str] = {}
    for step in found.steps:
        written |= step.files if isinstance(step, HoldPods | Release | Squeeze) else {}
    assert written == found.view.kubepods
    if isinstance(direct, ResizePlan):
        assert found.view == direct.view


@pytest.mark.parametrize(
    ("now", "holds"),
    [
        (nodes.situation(B, WEB), True),
        (nodes.situation(WEB, B, pressed=True), True),
        (nodes.situation(B), False),
        (nodes.situation(B, WEB, DB), False),
        (nodes.situation(B, replace(WEB, leaving=True)), False),
        (nodes.situation(B, nodes.tenant("web", "500m,5Gi", age=1)), False),
        (nodes.situation(B, WEB, managers=books("0-3")), False),
    ],
)
def test_a_plan_holds_until_somebody_comes_or_goes(now: Situation, holds: bool) -> None:
    """What changes without taking room (a status, the order, pressure) is no reason to plan again."""
    assert still_holds(nodes.situation(B, WEB), now) == holds
