"""A hollow node that fell silent and comes back: believed again, its pods ready, its size as it was."""

import asyncio
from typing import Any

from tests.scenarios.nodesize.world import NODE, World, world

from flexlet.core.controllers.nodelifecycle.decider import NodeLifecycleDecider
from flexlet.core.refs import LEASES, NODES, PODS
from flexlet.ports import cluster as ports
from flexlet.testing.simtime import run


def condition(found: dict[str, Any], kind: str = "Ready") -> str:
    return next(str(c["status"]) for c in found["status"]["conditions"] if c["type"] == kind)


async def readiness(stage: World) -> dict[str, str]:
    """Of the node, and of all pods."""
    node = await stage.get(ports.NODES, NODE) or {}
    return {NODE: condition(node)} | {pod["metadata"]["name"]: condition(pod) for pod in await stage.pods()}


async def taints(stage: World) -> list[str]:
    node = await stage.get(ports.NODES, NODE) or {}
    return sorted(taint["key"] for taint in node["spec"].get("taints") or [])


def test_a_node_that_comes_back_is_ready_again_with_all_its_pods() -> None:
    """Longer silent than the node controller waits, shorter than pods tolerate it."""

    async def story() -> None:
        async with world(nodes=(NODE, "n2")) as stage:
            watcher = stage.loop(NodeLifecycleDecider(), (NODES, LEASES, PODS))
            watching = asyncio.create_task(watcher.run())
            stage.start_controller()
            await stage.add("web", 5, 20, tolerations=[{"operator": "Exists"}])
            await stage.apply({"target": {"effective": {"cpu": "8", "memory": "32Gi"}}})
            await stage.settle(5)
            before = await stage.figures()
            names = [NODE, "web", "flexlet-balloon-n1"]
            assert await readiness(stage) == dict.fromkeys(names, "True")

            await stage.sleep_node()
            await stage.settle(90)
            assert await readiness(stage) == {NODE: "Unknown"} | dict.fromkeys(names[1:], "False")

            stage.wake_node()
            await stage.settle(20)
            assert await readiness(stage) == dict.fromkeys(names, "True")
            assert (await taints(stage), await stage.figures()) == ([], before)
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    run(story())
