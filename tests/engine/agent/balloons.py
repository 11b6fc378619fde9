"""A node of 15 CPUs and 60Gi with a balloon, as in balloon.md §12; amounts are ``cpu,Gi``."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
from tests.engine.agent.world import World, pod, world

from flexlet.api.units import GIB
from flexlet.core.balloon import names
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.ports.cluster import PODS
from flexlet.testing import NodeOptions, idle

Json = dict[str, Any]
SYSTEM = "kube-system"
NONE = {"memory.available": "0%", "nodefs.available": "0%"}
FOLLOWS = ResizeSettings(plug=True, unplug=True)


def options(**more: Any) -> NodeOptions:
    return NodeOptions(
        cpus="0-14", memory=60 * GIB, config={"evictionHard": NONE} | more.pop("config", {}), **more
    )


def amounts(size: str) -> Json:
    cpu, memory = size.split(",")
    return {"cpu": cpu, "memory": memory if memory.endswith("i") else f"{memory}Gi"}


def resources(size: str, *, limited: bool) -> Json:
    """Guaranteed if it is limited."""
    return {"requests": amounts(size)} | ({"limits": amounts(size)} if limited else {})


class Node:
    """A node with a balloon and one pod beside it."""

    def __init__(self, at: World) -> None:
        self.at = at
        self.uids: dict[str, str] = {}

    async def settle(self, seconds: float = 3.0) -> None:
        await asyncio.sleep(seconds)
        await idle()

    async def balloon(
        self, size: str, *, critical: bool = False, enforce: Json | None = None, limited: bool = True
    ) -> None:
        body = pod("balloon", {"balloon": {"resources": resources(size, limited=limited)}})
        notes = {} if enforce is None else {names.ENFORCE: said(enforce)}
        body["metadata"] |= {"labels": {names.LABEL: "true"}, "annotations": notes}
        body["spec"] |= {"nodeName": "node-a", "priorityClassName": "system-node-critical" if critical else ""}
        body["spec"]["tolerations"] = [{"operator": "Exists"}]
        found = await self.at.cluster.create(PODS, body, SYSTEM)
        self.uids["balloon"] = found["metadata"]["uid"]
        await self.settle()

    async def workload(self, name: str, size: str, **spec: Any) -> None:
        containers = {"c": {"resources": {"requests": amounts(size)}}}
        self.uids[name] = await self.at.create(name, containers, **spec)
        await self.settle()

    async def resize(self, size: str, *, limited: bool = True) -> None:
        container = {"name": "balloon", "resources": resources(size, limited=limited)}
        await self.at.cluster.resize("balloon", {"spec": {"containers": [container]}}, SYSTEM)
        await self.settle()

    async def say(self, enforce: Json | None) -> None:
        notes = {names.ENFORCE: None if enforce is None else said(enforce)}
        body = {"metadata": {"annotations": notes}}
        await self.at.cluster.cluster.patch(PODS, SYSTEM, "balloon", body, kind="merge")
        await self.settle(0.5)

    async def get(self, name: str) -> Json:
        return await self.at.cluster.pod(name, SYSTEM if name == "balloon" else "default")

    async def size(self) -> tuple[str, str]:
        """What the balloon was granted, and why it waits for more."""
        status = (await self.get("balloon"))["status"]
        held = status["containerStatuses"][0]["allocatedResources"]
        waits = [each["reason"] for each in status["conditions"] if each["type"] == "PodResizePending"]
        return f"{held['cpu']},{held['memory'].removesuffix('Gi')}", ",".join(waits)

    async def phase(self, name: str) -> str:
        found = (await self.get(name))["status"]
        return str(found.get("reason") or found["phase"])

    def capped(self) -> Json:
        files = self.at.node.cgroup("kubepods")
        return {name: files.get(name, "") for name in ("cpu.max", "memory.high", "memory.max")}

    def uses(self, name: str, gib: float) -> None:
        """As files in memory, which nobody takes away."""
        (container,) = self.at.node.containers(self.uids[name]).values()
        self.at.node.sim.kernel.machine.cgroups[container.cgroup].shmem = int(gib * GIB)


def said(enforce: Json) -> str:
    return msgspec.json.encode(enforce).decode()


@contextlib.asynccontextmanager
async def node(directory: Path, **more: Any) -> AsyncIterator[Node]:
    async with world(directory, options(**more)) as at:
        yield Node(at)
