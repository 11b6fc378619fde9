"""An agent that dies at any step of a prepared unplug is followed by one that brings it to the same end."""

import asyncio
import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from tests.engine.agent.resizing.stage import CONFIG, RESIZE, Stage, is_ready_to_unplug, is_refused
from tests.engine.agent.world import amounts, is_gone, is_ready, world

from flexlet.api.units import GIB
from flexlet.testing import NodeOptions, SimHost, run
from flexlet.testing.lifeline import Lifeline

Json = dict[str, Any]
End = Callable[[Json], bool]

OWN: Final = amounts("1,64Mi", "1,64Mi")
STATIC: Final = {"cpuManagerPolicy": "static", **CONFIG}
WISH: Final = '{"cpu":"3","memory":"3840Mi"}'
NAMES: Final = ("own", "other", "big")


def is_at_rest(found: Json) -> bool:
    return bool(found["reason"] == "Stable")


class Story:
    """What is asked of the node, how that ends and what is left then."""

    def __init__(
        self, ends: End, left: Json, *, refuses: str = "", withdrawn: bool = False, crowded: bool = False
    ) -> None:
        self.ends = ends
        self.left = left
        self.refuses = refuses
        self.withdrawn = withdrawn
        self.crowded = crowded


LESS: Final = {"allocatable": {"cpu": "2", "memory": "2716Mi"}, "parts": (3, 30), "shared": "0,2"}
WHOLE: Final = {"allocatable": {"cpu": "3", "memory": "2972Mi"}, "parts": (4, 32), "shared": "0,2-3"}
SAME: Final = {"closed": False, "pods": {"own", "other"}, "pinned": "1"}
BUSY: Final = "cpu3 cannot be taken offline: EBUSY: cannot write 0 to /sys/devices/system/cpu/cpu3/online: EBUSY"
STORIES: Final = {
    "ready": Story(
        is_ready_to_unplug,
        SAME | LESS | {"reason": "InProgress", "phase": "ready", "why": ""},
        crowded=True,
    ),
    "refused": Story(
        is_refused,
        SAME | WHOLE | {"reason": "UnplugRefused", "phase": "refused", "why": BUSY},
        refuses="cpu3",
    ),
    "withdrawn": Story(
        is_at_rest,
        SAME | WHOLE | {"reason": "Stable", "phase": "idle", "why": ""},
        withdrawn=True,
    ),
}


async def lived(directory: Path, story: Story, dies_after: int | None) -> tuple[Json, tuple[str, str] | None]:
    """What came of the story, and after which deed the agent died."""
    options = NodeOptions(hardware=SimHost("0-3", 4 * GIB), config=STATIC, resize=RESIZE)
    async with world(directory, options) as there:
        stage = Stage(there)
        await _move_in(stage, crowded=story.crowded)
        if story.refuses:
            stage.host.refuse(story.refuses, errno.EBUSY)
        if story.withdrawn:
            await stage.wish(WISH)
            await stage.until(is_ready_to_unplug)
        await there.node.restart()
        await stage.passes(2)
        line = there.node.line
        line.dies_after = dies_after
        await stage.wish(None if story.withdrawn else WISH)
        died = await _death(stage, story.ends, line)
        if died is not None:
            await there.node.restart()
        await stage.passes(3)
        await stage.until(story.ends, 120)
        await stage.passes(3)
        return await picture(stage), died


async def _move_in(stage: Stage, *, crowded: bool) -> None:
    """One pod with the last CPU for its own, one that shares, and maybe one that is too big."""
    there = stage.there
    for name in ("first", "second", "own"):
        await there.create(name, {"a": OWN})
        await there.until(name, is_ready)
    for name in ("first", "second"):
        await there.cluster.delete(name)
        await there.until(name, is_gone)
    await stage.passes(3)
    assert stage.book()[0] == "0-2"
    sizes = {"other": "50m,64Mi"} | ({"big": "100m,2600Mi"} if crowded else {})
    for name, size in sizes.items():
        await there.create(name, {"a": amounts(size)})
        await there.until(name, is_ready)


async def _death(stage: Stage, ends: End, line: Lifeline) -> tuple[str, str] | None:
    await stage.passes(0.1)
    done = asyncio.ensure_future(stage.until(ends, 300))
    death = asyncio.ensure_future(line.died.wait())
    await asyncio.wait({done, death}, return_when=asyncio.FIRST_COMPLETED)
    done.cancel()
    death.cancel()
    return line.calls[-1] if line.died.is_set() else None


async def picture(stage: Stage) -> Json:
    """All that is left of it, without how many sizes there were on the way."""
    offer, state = await stage.offer(), stage.prepared()
    own = (await stage.there.get("own") or {})["metadata"]["uid"]
    return {
        "allocatable": offer["allocatable"],
        "closed": offer["closed"],
        "reason": offer["reason"],
        "parts": stage.parts(),
        "pods": {name for name in NAMES if is_ready(await stage.there.get(name))},
        "shared": stage.book()[0],
        "pinned": stage.pinned(own),
        "phase": state.phase,
        "why": state.why,
    }


async def every_death(directory: Path, story: Story, first: int, step: int) -> tuple[dict[str, Json], int]:
    """What came of every life that ended otherwise, and how many there were."""
    others: dict[str, Json] = {}
    number = first
    while True:
        found, died = await lived(directory / str(number), story, number)
        if found != story.left:
            others[f"{number} {'.'.join(died or ())}"] = found
        if died is None:
            return others, number
        number += step


@pytest.mark.slow
@pytest.mark.parametrize("first", [1, 2, 3])
@pytest.mark.parametrize("name", STORIES)
def test_death_at_any_step_changes_nothing_in_the_end(name: str, first: int, tmp_path: Path) -> None:
    """The last life of each is one without a death."""
    others, deaths = run(every_death(tmp_path, STORIES[name], first, 3))
    assert others == {}
    assert deaths > 10
