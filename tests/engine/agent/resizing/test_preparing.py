"""A node that is told of an unplug before it happens (node-resize.md §4.8), from the annotation to the parts."""

from pathlib import Path

import pytest
from tests.engine.agent.resizing.stage import (
    FOUR,
    LESS,
    STATIC,
    STUBBORN,
    WHOLE,
    B,
    Stage,
    is_ready_to_unplug,
    is_refused,
    node,
    staged,
)
from tests.engine.agent.world import amounts, is_ready, world

from flexlet.core.hotplug import saved
from flexlet.core.hotplug.preparing import Prepared
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.managers.files import CPU_FILE
from flexlet.errors import HostError
from flexlet.testing import run


async def _served(directory: Path) -> None:
    async with world(directory, node()) as there:
        stage = Stage(there)
        await there.create("web", {"a": B})
        await there.until("web", is_ready)
        await stage.wish(FOUR)
        found = await stage.until(is_ready_to_unplug)
        assert found == {
            "allocatable": LESS,
            "closed": False,
            "reason": "InProgress",
            "ready": found["generation"],
            "generation": found["generation"],
        }
        assert stage.parts() == (2, 32)
        stage.remove()
        await stage.passes(5)
        await stage.wish(None)
        await stage.passes(5)
        assert await stage.offer() == found | {"reason": "Stable", "ready": None}
        assert stage.parts() == (2, 32)
        assert is_ready(await there.get("web"))
        assert stage.prepared() == Prepared()
        assert [reason for reason, _ in await stage.told("web")].count("NodeCapacityExceeded") == 0
        # Once for memory and CPUs together, and not again when the parts are gone.
        resized = [message for reason, message in await stage.told("node-a") if reason == "NodeResized"]
        assert resized == ["capacity changed: cpu 4→2, memory 8Gi→4Gi (generation 2)"]


def test_a_node_with_room_gets_ready_and_nobody_is_hurt(tmp_path: Path) -> None:
    """Less is offered, parts go offline, and it says so; when they are gone it is a smaller node at rest."""
    run(_served(tmp_path))


async def _newcomer(directory: Path) -> None:
    async with staged(directory) as stage:
        there = stage.there
        there.let_through("NodeRestriction")
        await stage.wish(FOUR)
        found = await stage.until(is_ready_to_unplug)
        assert (found["closed"], found["allocatable"]) == (True, LESS)
        await there.create("late", {"a": amounts("100m,1Gi")})
        late = await there.until("late", lambda found: found is not None and found["status"]["phase"] == "Failed")
        assert late["status"]["reason"] == "OutOfmemory"
        await stage.wish(None)
        found = await stage.until(lambda found: found["reason"] == "Stable")
        assert found == {
            "allocatable": WHOLE,
            "closed": False,
            "reason": "Stable",
            "ready": None,
            "generation": found["generation"],
        }
        await there.create("later", {"a": amounts("100m,1Gi")})
        await there.until("later", is_ready)


def test_nobody_comes_into_what_is_about_to_go(tmp_path: Path) -> None:
    """Neither by the scheduler, who sees less and a taint, nor past it; a withdrawn wish gives it all back."""
    run(_newcomer(tmp_path))


NONSENSE = [
    ("four", "cannot read annotation flexlet.io/desired-capacity 'four'"),
    ('{"cpu":"0"}', "something must be left"),
    ('{"memory":"256Mi"}', "reserved for daemons"),
    ('{"pods":"3"}', "names pods; only cpu and memory can be unplugged"),
]


async def _nonsense(directory: Path) -> None:
    async with staged(directory) as stage:
        for text, why in NONSENSE:
            await stage.wish(text)
            await stage.passes(2)
            assert why in await stage.message()
            assert (await stage.offer())["allocatable"] == WHOLE
        assert stage.parts() == (4, 64)


def test_a_wish_that_makes_no_sense_is_refused_with_a_sentence(tmp_path: Path) -> None:
    run(_nonsense(tmp_path))


async def _gated(directory: Path) -> None:
    async with staged(directory, node(resize=ResizeSettings(plug=True))) as stage:
        await stage.wish(FOUR)
        await stage.until(is_refused)
        assert await stage.message() == "the feature gate NodeResourceHotUnPlug is off"


def test_a_node_that_must_not_shrink_refuses(tmp_path: Path) -> None:
    run(_gated(tmp_path))


async def _outlived(directory: Path) -> None:
    async with staged(directory) as stage:
        node_a = stage.there.node
        await stage.wish(FOUR)
        ready = await stage.until(is_ready_to_unplug)
        await node_a.kill()
        stage.host.udev.clear()
        await node_a.start()
        await stage.passes(30)
        # Nobody brought the parts online, and nothing was offered meanwhile that is about to go.
        assert (await stage.offer(), stage.parts()) == (ready, (2, 32))
        await node_a.kill()
        await stage.wish(None)
        await node_a.start()
        found = await stage.until(lambda found: found["reason"] == "Stable" and found["ready"] is None)
        assert (found["allocatable"], stage.parts(), stage.prepared()) == (WHOLE, (4, 64), Prepared())


def test_the_next_agent_keeps_the_promise_and_takes_it_back(tmp_path: Path) -> None:
    run(_outlived(tmp_path))


async def _removed_meanwhile(directory: Path) -> None:
    async with staged(directory) as stage:
        await stage.wish(FOUR)
        ready = await stage.until(is_ready_to_unplug)
        await stage.there.node.kill()
        stage.remove()
        await stage.wish(None)
        await stage.there.node.start()
        await stage.passes(10)
        assert await stage.offer() == ready | {"reason": "Stable", "ready": None}


def test_parts_are_removed_while_no_agent_runs(tmp_path: Path) -> None:
    run(_removed_meanwhile(tmp_path))


async def _out_of_reach(directory: Path) -> None:
    async with staged(directory) as stage:
        there = stage.there
        await there.create("big", {"a": STUBBORN})
        await there.until("big", is_ready)
        await stage.wish('{"memory":"4Gi"}')
        await stage.passes(0.01)
        there.node.reach.is_away = True
        await stage.passes(60)
        assert stage.parts() == (4, 64)
        there.node.reach.is_away = False
        await stage.until(is_ready_to_unplug, 120)
        assert (await there.get("big"), stage.parts()) == (None, (4, 32))


def test_an_api_that_is_away_only_takes_time(tmp_path: Path) -> None:
    run(_out_of_reach(tmp_path))


async def _full_disk(directory: Path, full: str) -> None:
    async with world(directory, node(STATIC)) as there:
        stage = Stage(there)
        checkpoints = there.node.checkpoints
        save = checkpoints.save

        async def refusing(name: str, data: bytes) -> None:
            if name == full:
                raise HostError(f"cannot write {name}: No space left on device")
            await save(name, data)

        checkpoints.save = refusing  # type: ignore[method-assign]
        await stage.wish(FOUR)
        await stage.passes(20)
        assert stage.parts()[0] == 4
        checkpoints.save = save  # type: ignore[method-assign]
        found = await stage.until(is_ready_to_unplug)
        assert (found["allocatable"], stage.parts(), stage.book()) == (LESS, (2, 32), ("0-1", {}))


@pytest.mark.parametrize("full", [saved.FILE, CPU_FILE])
def test_nothing_goes_before_it_is_on_disk(full: str, tmp_path: Path) -> None:
    run(_full_disk(tmp_path, full))
