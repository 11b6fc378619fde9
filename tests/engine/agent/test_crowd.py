"""Fifty pods ask for more at the same instant: everybody is served, and the node is never overdrawn."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.engine.agent.world import World, amounts, condition, is_ready, is_resized, world

from flexlet.testing import NodeOptions, run
from flexlet.testing.host import GIB

pytestmark = pytest.mark.slow

Json = dict[str, Any]

CROWD = 50
COUNTED = ("runtime.update_container", "cgroups.write", "runtime.inspect")
SMALL, LARGE = amounts("100m,64Mi", "200m,128Mi"), amounts("300m,128Mi", "400m,256Mi")


async def crowd(there: World) -> list[str]:
    """All of them, running."""
    names = [f"p{number}" for number in range(CROWD)]
    for name in names:
        await there.create(name, {"c": SMALL})
    for name in names:
        await there.until(name, is_ready)
    return names


async def ask(there: World, names: list[str]) -> None:
    wish: Json = {"spec": {"containers": [{"name": "c", "resources": LARGE}]}}
    await asyncio.gather(*(there.cluster.resize(name, wish) for name in names))


def test_all_reach_the_end(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """Each pod costs its own few calls, however many there are: none is looked at or told of for others."""

    async def story() -> tuple[int, dict[str, int], int, int]:
        async with world(tmp_path, NodeOptions(cpus="0-15", memory=32 * GIB)) as there:
            names = await crowd(there)
            agent = there.node.agent
            assert agent is not None
            first, rounds, writes = len(there.node.line.calls), agent.loop.rounds, there.pod_writes
            await ask(there, names)
            for name in names:
                await there.until(name, is_resized)
            calls = [f"{port}.{method}" for port, method in there.node.line.calls[first:]]
            counted = {call: calls.count(call) for call in COUNTED}
            return agent.loop.late_rounds, counted, agent.loop.rounds - rounds, there.pod_writes - writes

    late, calls, rounds, writes = run(story())
    for name, count in (("rounds", rounds), ("late rounds", late), ("writes of pods", writes)):
        record_property(name, count)
    assert calls["runtime.update_container"] == CROWD
    assert CROWD <= calls["cgroups.write"] <= 2 * CROWD
    assert calls["runtime.inspect"] <= 2 * CROWD
    assert writes <= 3 * CROWD
    assert rounds <= 6 * CROWD


def test_room_for_some(tmp_path: Path) -> None:
    """Where there is room for thirty, thirty are served, and twenty wait with a reason; nobody gets a part."""

    async def story() -> tuple[list[str], list[str]]:
        async with world(tmp_path, NodeOptions(cpus="0-10", memory=32 * GIB)) as there:
            names = await crowd(there)
            await ask(there, names)
            await asyncio.sleep(30)
            pods = {name: await there.cluster.pod(name) for name in names}
            served = [name for name, pod in pods.items() if is_resized(pod)]
            waiting = [
                name
                for name, pod in pods.items()
                if condition(pod, "PodResizePending").get("reason") == "Deferred"
            ]
            return served, waiting

    served, waiting = run(story())
    assert (len(served), len(waiting)) == (30, 20)
    assert not set(served) & set(waiting)
