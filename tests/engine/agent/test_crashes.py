"""An agent that dies after any of its deeds is followed by one that brings the pod to the same end."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.engine.agent.world import World, amounts, is_gone, is_ready, is_resized, world

from flexlet.testing import NodeOptions, idle, run
from flexlet.testing.lifeline import Lifeline

Json = dict[str, Any]
Predicate = Callable[[Json | None], bool]

SMALL = amounts("100m,32Mi", "200m,64Mi")
LEVEL = amounts("300m,96Mi", "400m,128Mi")
RESTARTED: Json = {
    "resources": SMALL,
    "resizePolicy": [{"resourceName": "memory", "restartPolicy": "RestartContainer"}],
}
GROWN: Json = {"spec": {"containers": [{"name": "a", "resources": amounts("150m,48Mi", "300m,96Mi")}]}}
GROWN_LEVEL: Json = {
    "spec": {
        "resources": amounts("400m,128Mi", "600m,192Mi"),
        "containers": [{"name": "a", "resources": amounts("50m,16Mi", "100m,32Mi")}],
    }
}


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


async def start(there: World, name: str) -> None:
    story = STORIES["start"]
    await there.create(name, story.containers, **story.spec)


async def resize(there: World, name: str) -> None:
    await there.cluster.resize(name, GROWN)


async def resize_level(there: World, name: str) -> None:
    await there.cluster.resize(name, GROWN_LEVEL)


async def stop(there: World, name: str) -> None:
    await there.cluster.delete(name)


STORIES = {
    "start": Story(
        start, is_ready, begins=True, initContainers=[{"name": "i", "image": "busybox:1", "command": ["true"]}]
    ),
    "resize": Story(resize, is_resized),
    "resize with restart": Story(resize, is_resized, RESTARTED, restartPolicy="OnFailure"),
    "pod-level resize": Story(resize_level, is_resized, resources=LEVEL),
    "stop": Story(stop, is_gone),
}


EXPECTED = {
    "start": {"i": 0, "a": 0, "b": 0},
    "resize": {"a": 0, "b": 0},
    "resize with restart": {"a": 1, "b": 0},
    "pod-level resize": {"a": 0, "b": 0},
    "stop": {},
}
"""How often containers were restarted."""


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


@pytest.mark.parametrize("name", STORIES)
def test_death_after_any_deed_changes_nothing_in_the_end(name: str, tmp_path: Path) -> None:
    """Same status, same cgroups, same records, every container once and none lost."""
    expected, others, deaths = run(every_death(tmp_path, STORIES[name]))
    assert others == {}
    assert deaths > 5
    restarts = {container: attempt for container, attempt, _ in expected["containers"]}
    assert restarts == EXPECTED[name]
