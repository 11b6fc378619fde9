"""A pod's story, told once in peace and once for every deed after which the agent may die."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.engine.agent.world import World, amounts, is_gone, is_ready, world

from flexlet.testing import NodeOptions, idle
from flexlet.testing.lifeline import Lifeline

Json = dict[str, Any]
Predicate = Callable[[Json | None], bool]
SMALL = amounts("100m,32Mi", "200m,64Mi")


class Story:
    """What is done to a pod while the agent may die, and what must come of it."""

    def __init__(
        self,
        act: Callable[[World, str], Awaitable[object]],
        done: Predicate,
        a: Json = SMALL,
        *,
        options: NodeOptions | None = None,
        begins: bool = False,
        **spec: Any,
    ) -> None:
        self.act = act
        self.done = done
        self.containers = {"a": a, "b": {}}
        self.options = options
        self.begins = begins
        """Whether the story is the pod's beginning."""
        self.spec = spec


async def lived(
    there: World, name: str, story: Story, dies_after: int | None
) -> tuple[Json, tuple[str, str] | None]:
    """One pod's story; the agent dies after so many deeds. What came of it, and after which it died."""
    if not story.begins:
        await there.create(name, story.containers, **story.spec)
        before = await there.until(name, is_ready)
        await there.node.restart()
        await asyncio.sleep(1)
    await idle()
    line = there.node.line
    line.dies_after = dies_after
    await story.act(there, name)
    found = await _either(there, name, story, line)
    died = line.calls[-1] if line.died.is_set() else None
    if died is not None:
        await there.node.restart()
        found = await there.until(name, story.done)
    await asyncio.sleep(3)
    found = await there.get(name) or before
    return there.picture(found["metadata"]["uid"], found["status"]), died


async def _either(there: World, name: str, story: Story, line: Lifeline) -> Json:
    done = asyncio.ensure_future(there.until(name, story.done))
    death = asyncio.ensure_future(line.died.wait())
    await asyncio.wait({done, death}, return_when=asyncio.FIRST_COMPLETED)
    if line.died.is_set():
        done.cancel()
        return {}
    death.cancel()
    return done.result()


async def every_death(directory: Path, story: Story) -> tuple[Json, dict[str, Json], int]:
    """What comes of the story in peace, and of every one with a death that ended otherwise."""
    async with world(directory, story.options) as there:
        expected, _ = await lived(there, "p0", story, None)
        await _clear(there, "p0")
        others: dict[str, Json] = {}
        number = 0
        while True:
            number += 1
            name = f"p{number}"
            found, died = await lived(there, name, story, number)
            if died is None:
                return expected, others, number
            if found != expected:
                others[f"{number} {'.'.join(died)}"] = found
            await _clear(there, name)


async def _clear(there: World, name: str) -> None:
    if await there.get(name) is not None:
        await there.cluster.delete(name)
        await there.until(name, is_gone)
