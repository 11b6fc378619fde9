from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests import hosts
from tests.core.hotplug import nodes

from flexlet.api.cpuset import CpuSet
from flexlet.core.hotplug import saved
from flexlet.core.hotplug.generation import Generation
from flexlet.core.hotplug.plan import NoChange, ResizePlan, plan
from flexlet.core.hotplug.preparing import Prepared
from flexlet.core.hotplug.saved import STORIES, Beginning, Saved, Spoiled, Story
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.machine import discovery
from flexlet.core.machine.machine import Identity
from flexlet.core.machine.parts import Part
from flexlet.core.managers.resync import Move, Resynced
from flexlet.core.managers.state import Managers

B = nodes.tenant("b", "500m,2Gi", ",4Gi")
WEB = nodes.tenant("web", "500m,4Gi", age=1)
BALLOON = nodes.tenant("balloon", "1,2Gi", ",2Gi", balloon=True, age=1)
FIRST = saved.begin(None, nodes.machine(), 5.0)


def planned(memory: str, start: Beginning = FIRST, **more: Any) -> ResizePlan:
    found = plan(
        start.before,
        nodes.machine(memory=memory),
        10.0,
        nodes.situation(B, WEB, BALLOON, **more),
        start.unfinished,
    )
    assert isinstance(found, ResizePlan)
    return found


def test_a_node_begins_with_the_first_generation() -> None:
    first = Generation(number=1, machine=nodes.machine(), seen_at=5.0, applied_at=5.0)
    assert Beginning(before=first, saved=Saved(generation=first)) == FIRST


def test_an_agent_that_starts_sees_what_happened_meanwhile_as_a_difference() -> None:
    """Whatever is in the file is the size that the node had."""
    again = saved.begin(saved.parse_or_none(saved.encode(FIRST.saved)), nodes.machine(memory="4Gi"), 99.0)
    assert again == FIRST
    assert planned("4Gi", again).generation.number == 2


def test_sizes_that_were_begun_are_remembered_until_one_is_done() -> None:
    small, smaller = nodes.machine(memory="4Gi"), nodes.machine(memory="2Gi")
    kept = saved.attempted(saved.attempted(FIRST.saved, small), smaller)
    assert kept == replace(FIRST.saved, tried=(small, smaller))
    assert [saved.attempted(kept, each) for each in (small, nodes.machine())] == [kept, kept]
    done = saved.finished(saved.published(kept, planned("4Gi"), (B, WEB, BALLOON), 11.0), 12.0)
    assert (done.tried, done.worn) == ((), (nodes.machine(), smaller)), (
        "of those before containers may have values"
    )


def test_a_size_that_is_taken_back_is_no_story() -> None:
    kept = saved.attempted(FIRST.saved, nodes.machine(memory="4Gi"))
    found = plan(FIRST.before, nodes.machine(), 1.0, nodes.situation(B), None, kept.tried)
    assert isinstance(found, ResizePlan)
    done = saved.finished(saved.published(kept, found, (B,), 2.0), 3.0)
    assert (done.stories, done.generation.number, done.before, done.tried) == ((), 1, None, ())


def test_what_was_published_and_not_finished_is_taken_up_again() -> None:
    found = planned("4Gi")
    kept = saved.published(FIRST.saved, found, (B, WEB, BALLOON), 11.0)
    again = saved.begin(kept, nodes.machine(memory="4Gi"), 99.0)
    current = replace(found.generation, applied_at=11.0)
    assert (again.before, again.unfinished) == (FIRST.before, current)
    assert planned("4Gi", again).victims == found.victims
    ended = saved.finished(kept, 12.5)
    done = saved.begin(ended, nodes.machine(memory="4Gi"), 99.0)
    assert (done.before, done.unfinished) == (current, None)
    assert plan(done.before, nodes.machine(memory="4Gi"), 99.0, nodes.situation(B)) == NoChange(
        "the machine is as it was"
    )


def test_a_machine_that_was_started_again_counts_on() -> None:
    other = nodes.machine(memory="4Gi", identity=Identity(boot_id="boot-2"))
    kept = replace(saved.published(FIRST.saved, planned("4Gi"), (), 11.0), prepared=Prepared(wish="x"))
    again = saved.begin(kept, other, 99.0)
    third = Generation(number=3, machine=other, seen_at=99.0, applied_at=99.0)
    fresh = Saved(generation=third, stories=kept.stories)
    assert again == Beginning(before=third, saved=fresh, earlier=kept.generation)
    assert again.earlier is not None
    found = plan(FIRST.before, other, 99.0, nodes.situation(B, WEB))
    assert isinstance(found, ResizePlan)
    assert [each.uid for each in found.victims] == ["web"]


@pytest.mark.parametrize(
    ("settings", "number"),
    [(ResizeSettings(), 2), (ResizeSettings(plug=True), 2), (nodes.BOTH, 1)],
)
def test_a_node_that_does_not_follow_has_the_size_that_it_found(settings: ResizeSettings, number: int) -> None:
    """S22: gates off; as any kubelet that starts. One that follows begins with the difference."""
    smaller = nodes.machine(memory="4Gi")
    assert saved.begin(FIRST.saved, smaller, 99.0, settings).before.number == number
    assert saved.begin(FIRST.saved, nodes.machine(), 99.0, settings) == FIRST


def test_an_announced_unplug_is_remembered_and_nothing_of_it_is_under_way() -> None:
    state = Prepared(phase="offlining", wish="x", parts=(Part("cpu", 3),), asked={"late": 5.0})
    kept = replace(FIRST.saved, prepared=state)
    text = saved.encode(saved.finished(saved.published(kept, planned("4Gi"), (), 11.0), 12.0))
    again = saved.begin(saved.parse_or_none(text), nodes.machine(memory="4Gi"), 99.0)
    assert again.saved.prepared == replace(state, asked={})


def test_the_story_says_what_was_done_to_whom_and_why() -> None:
    move = Move("b", "c", CpuSet.parse("1-2"), CpuSet.parse("1,3"))
    found = planned("4Gi", resync=lambda *_: Resynced(managers=Managers(), reassigned=(move,)))
    kept = saved.published(FIRST.saved, found, (B, WEB, BALLOON), 11.0)
    (story,) = kept.stories
    assert saved.told(story) == (
        "generation 2, 1970-01-01T00:00:10Z: memory 8Gi→4Gi; not finished",
        f"  ended default/web: OutOfmemory: {found.victims[0].why}",
        "  balloon default/balloon made room: memory 2Gi→924Mi",
        "  container c of default/b was given CPUs 1,3 instead of 1-2",
    )
    (story,) = saved.finished(
        replace(kept, stories=(replace(story, notes=("BelowReserved",)),)), 12.5, forced=True
    ).stories
    assert saved.told(story)[0].endswith("memory 8Gi→4Gi; done after 2.5 s")
    assert saved.told(story)[-2:] == (
        "  pods used more than there was when their time was over",
        "  remained: BelowReserved",
    )


def test_a_story_that_is_taken_up_again_forgets_nobody() -> None:
    """The first agent ended one pod, the second one nobody."""
    kept = saved.published(FIRST.saved, planned("4Gi"), (B, WEB, BALLOON), 11.0)
    again = saved.begin(kept, nodes.machine(memory="4Gi"), 99.0)
    later = plan(again.before, nodes.machine(memory="4Gi"), 99.0, nodes.situation(B), again.unfinished)
    assert isinstance(later, ResizePlan)
    assert saved.published(kept, later, (B,), 100.0) == kept


def test_only_the_last_stories_are_kept() -> None:
    kept = FIRST.saved
    for number in range(STORIES + 5):
        found = planned("4Gi" if number % 2 == 0 else "8Gi", Beginning(before=kept.generation, saved=kept))
        kept = saved.finished(saved.published(kept, found, (), 11.0), 12.0)
    assert [each.number for each in kept.stories] == list(range(7, 7 + STORIES))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "truncated"),
        (b"{", "truncated"),
        (b"[]", "Expected `object`"),
        (b'{"version":1}', "generation"),
        (b'{"version":1,"generation":{"number":"x","machine":{}}}', "$.generation.number"),
        (b'{"version":2,"generation":{"number":1,"machine":{}}}', "version 2, this flexlet reads version 1"),
    ],
)
def test_what_cannot_be_read_is_a_value(text: bytes, words: str) -> None:
    """The node begins anew and keeps the file beside."""
    found = saved.parse(text)
    assert isinstance(found, Spoiled)
    assert words in found.why
    assert saved.parse_or_none(text) is None


@given(st.binary(max_size=40))
def test_no_text_makes_reading_fail(text: bytes) -> None:
    assert isinstance(saved.parse(text), Saved | Spoiled)


@pytest.mark.parametrize("name", ["small", "two-sockets", "half-plugged"])
def test_a_machine_survives_the_file(name: str) -> None:
    """Otherwise every start would be a change of size."""
    machine = discovery.machine(hosts.snapshot(name), hosts.STORAGE)
    kept = Saved(
        generation=Generation(number=3, machine=machine),
        stories=(Story(number=3, victims=planned("4Gi").victims),),
    )
    assert saved.parse(saved.encode(kept)) == kept
