"""Parts that do not go, or do not come back, when an unplug is prepared."""

import errno
from pathlib import Path

from tests.engine.agent.resizing.stage import FOUR, REPLACED, WHOLE, is_ready_to_unplug, is_refused, node, staged

from flexlet.testing import run


async def _refused(directory: Path) -> None:
    async with staged(directory) as stage:
        stage.host.refuse("memory40", errno.EBUSY)
        await stage.wish('{"memory":"4Gi"}')
        found = await stage.until(is_refused)
        assert found == {
            "allocatable": WHOLE,
            "closed": False,
            "reason": "UnplugRefused",
            "ready": None,
            "generation": found["generation"],
        }
        assert stage.parts() == (4, 64)
        switch = "/sys/devices/system/memory/memory40/state"
        why = f"memory40 cannot be taken offline: EBUSY: cannot write offline to {switch}: EBUSY"
        assert await stage.message() == why
        assert ("UnplugRefused", why) in await stage.told("node-a")
        # Not tried again; only another wish is.
        await stage.passes(60)
        assert await stage.offer() == found
        await stage.wish(None)
        assert (await stage.until(lambda found: found["reason"] == "Stable"))["allocatable"] == WHOLE


def test_a_block_that_does_not_go_leaves_everything_as_it_was(tmp_path: Path) -> None:
    """S23: allocatable is restored, UnplugRefused, and nobody was ended because nobody had to make room."""
    run(_refused(tmp_path))


async def _stands_in(directory: Path) -> None:
    options = node()
    assert options.hardware is not None
    options.hardware.movable = set(range(16, 64))
    async with staged(directory, options) as stage:
        stage.host.refuse("memory40", errno.EBUSY)
        await stage.wish('{"memory":"4Gi"}')
        await stage.until(is_ready_to_unplug)
        gone = {block for block, state in stage.host.blocks.items() if state == "offline"}
        assert gone == set(range(31, 64)) - {40}
        await stage.wish(None)
        await stage.until(lambda found: found["reason"] == "Stable")
        assert (stage.parts(), stage.host.movable) == ((4, 64), set(range(16, 64)))


def test_another_movable_block_goes_instead_and_comes_back_movable(tmp_path: Path) -> None:
    run(_stands_in(tmp_path))


async def _forbidden(directory: Path) -> None:
    async with staged(directory) as stage:
        stage.host.refuse("cpu3", errno.EACCES)
        await stage.wish(FOUR)
        found = await stage.until(is_refused)
        assert (found["allocatable"], stage.parts()) == (WHOLE, (4, 64))
        assert "Permission denied" in await stage.message()


def test_a_part_that_nobody_may_switch_brings_the_others_back(tmp_path: Path) -> None:
    """Memory was offline already when the first CPU could not be switched."""
    run(_forbidden(tmp_path))


async def _lost(directory: Path) -> None:
    async with staged(directory) as stage:
        stage.host.udev.clear()
        await stage.wish(FOUR)
        await stage.until(is_ready_to_unplug)
        stage.host.refuse("memory50", errno.EBUSY)
        stage.host.refuse("cpu3", errno.EBUSY)
        await stage.wish(None)
        found = await stage.until(lambda found: found["reason"] == "HalfPlugged")
        assert (found["allocatable"], stage.parts()) == ({"cpu": "2", "memory": "6940Mi"}, (3, 63))
        assert await stage.message() == "CPUs 3 there and offline; 1 block of memory there and offline"


def test_parts_that_do_not_come_back_are_told(tmp_path: Path) -> None:
    """They are half-plugged like any others that nobody brings online."""
    run(_lost(tmp_path))


async def _abandoned(directory: Path) -> None:
    async with staged(directory, node(resize=REPLACED)) as stage:
        await stage.wish(FOUR)
        await stage.until(is_ready_to_unplug)
        found = await stage.until(is_refused)
        assert (found["allocatable"], found["ready"], stage.parts()) == (WHOLE, None, (4, 64))
        assert await stage.message() == "nobody removed the parts in time"


def test_parts_that_nobody_removes_come_back(tmp_path: Path) -> None:
    run(_abandoned(tmp_path))
