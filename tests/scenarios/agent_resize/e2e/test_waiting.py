"""Pods that wait: for a node, or for room on the one they are on; who gets it first when there is some."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.engine.agent.world import World, condition, is_gone, is_ready, is_resized, pod, world
from tests.scenarios.agent_resize.stage import written

from flexlet.api.status import ApiError
from flexlet.ports.cluster import PODS, Ref
from flexlet.testing import NodeOptions, run
from flexlet.testing.host import GIB

Json = dict[str, Any]

NODE = NodeOptions(cpus="0-1", memory=4 * GIB)


async def resize(there: World, name: str, size: str) -> None:
    await there.cluster.resize(name, {"spec": {"containers": [{"name": "c", "resources": written(size)}]}})


async def running(there: World, **sizes: str) -> None:
    """Pods that run, in this order."""
    for name, size in sizes.items():
        await there.create(name, {"c": written(size)})
        await there.until(name, is_ready)
        await asyncio.sleep(1)


async def waiting(there: World, **sizes: str) -> None:
    """Ask for more than there is, in this order."""
    for name, size in sizes.items():
        await resize(there, name, size)
        await there.until(name, is_deferred)
        await asyncio.sleep(1)


def is_deferred(found: Json | None) -> bool:
    return found is not None and condition(found, "PodResizePending").get("reason") == "Deferred"


async def who_waits(there: World, *names: str) -> list[str]:
    """Who still does, a moment later."""
    await asyncio.sleep(2)
    return [name for name in names if is_deferred(await there.get(name))]


def test_resizes_and_the_scheduler(tmp_path: Path) -> None:
    """A pod that waits for a node is given one when it, or one that runs, becomes smaller."""

    async def story() -> tuple[Json, Json, list[str], str]:
        async with world(tmp_path, NODE) as there:
            scheduling = asyncio.ensure_future(there.cluster.schedule())
            await running(there, a="1,64Mi")
            await there.cluster.create(PODS, pod("b", {"c": written("1500m,64Mi")}))
            await asyncio.sleep(2)
            unscheduled = condition(await there.cluster.pod("b"), "PodScheduled")
            await resize(there, "b", "1,64Mi")
            placed = await there.until("b", is_ready)
            await there.cluster.create(PODS, pod("d", {"c": written("500m,64Mi")}))
            await asyncio.sleep(2)
            await resize(there, "a", "500m,64Mi")
            await there.until("d", is_ready)
            await waiting(there, a="1500m,64Mi")
            await there.cluster.delete("b")
            await there.cluster.delete("d")
            await there.until("a", is_resized)
            with pytest.raises(ApiError) as refused:
                await resize(there, "a", "3,64Mi")
            scheduling.cancel()
            return unscheduled, placed, await who_waits(there, "a"), str(refused.value)

    unscheduled, placed, left, said = run(story())
    assert (unscheduled["status"], unscheduled["reason"]) == ("False", "Unschedulable")
    assert placed["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "1"
    assert left == []
    assert "node didn't have enough allocatable resources: cpu, requested: 3000, allocatable: 2000" in said


def test_a_neighbour_that_shrinks_makes_room(tmp_path: Path) -> None:
    """Deferred, then accepted as soon as the neighbour's resize is done."""

    async def story() -> list[str]:
        async with world(tmp_path, NODE) as there:
            await running(there, a="500m,64Mi", b="1400m,64Mi")
            await waiting(there, a="1,64Mi")
            await resize(there, "b", "900m,64Mi")
            await there.until("a", is_resized)
            return await who_waits(there, "a", "b")

    assert run(story()) == []


def test_who_gets_room_first(tmp_path: Path) -> None:
    """Higher priority first, then the Guaranteed, then who has waited longest; one at each departure."""

    async def story() -> list[list[str]]:
        async with world(tmp_path, NODE) as there:
            high = {"metadata": {"name": "high"}, "value": 1000}
            await there.cluster.cluster.create(Ref("scheduling.k8s.io", "v1", "priorityclasses"), "", high)
            names = ("oldest", "newest", "guaranteed", "important")
            await running(there, **{f"filler{number}": "350m,64Mi" for number in range(4)})
            await running(there, oldest="100m,64Mi", newest="100m,64Mi", guaranteed="100m,64Mi / 100m,64Mi")
            await there.create("important", {"c": written("100m,64Mi")}, priorityClassName="high")
            await there.until("important", is_ready)
            await waiting(there, oldest="450m,64Mi", newest="450m,64Mi", guaranteed="450m,64Mi / 450m,64Mi")
            await waiting(there, important="450m,64Mi")
            left = []
            for number in range(4):
                await there.cluster.delete(f"filler{number}")
                await there.until(f"filler{number}", is_gone)
                left.append(await who_waits(there, *names))
            return left

    assert run(story()) == [["oldest", "newest", "guaranteed"], ["oldest", "newest"], ["newest"], []]


def test_one_resize_lets_the_next_through(tmp_path: Path) -> None:
    """A departure makes room for the first, whose own memory makes room for the second, and so on."""

    async def story() -> tuple[list[str], Json]:
        async with world(tmp_path, NODE) as there:
            await running(there, filler="400m,64Mi", b="500m,2Gi", c="500m,512Mi", d="500m,512Mi")
            await waiting(there, b="900m,512Mi", c="100m,2Gi", d="850m,512Mi")
            await there.cluster.delete("filler")
            await there.until("d", is_resized)
            sizes = {name: (await there.cluster.pod(name))["status"]["allocatedResources"] for name in "bcd"}
            return await who_waits(there, "b", "c", "d"), sizes

    left, sizes = run(story())
    assert left == []
    assert {name: each["cpu"] for name, each in sizes.items()} == {"b": "900m", "c": "100m", "d": "850m"}
