"""Hollow nodes in this process, and their NodeSizes as one watch shows them."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterable
from types import TracebackType
from typing import Any, Final, Self

from flexlet.adapters.clock import SystemClock
from flexlet.adapters.kube.client import HttpCluster
from flexlet.api import decode
from flexlet.apps.controllers import Wiring
from flexlet.core.hollow.fleet import Fleet
from flexlet.core.hollow.machine import Machine
from flexlet.core.nodesize import names
from flexlet.core.nodesize.objects import NodeSize
from flexlet.core.observations import Observation, Seen
from flexlet.core.refs import NODES, PODS
from flexlet.engine.feed import Feed
from flexlet.ports.cluster import Ref

PATIENCE_S: Final = 900.0
MEMORY: Final = "32Gi"
_SIZES: Final = Ref(*names.NODE_SIZES)
_AT_ONCE: Final = 16


def node(index: int) -> str:
    """The name of a node."""
    return f"n{index}"


@contextlib.asynccontextmanager
async def hollow_nodes(cluster: HttpCluster, count: int) -> AsyncIterator[None]:
    """That many nodes of 16 CPUs and 64Gi, registered, for as long as the block lasts."""
    fleet = Fleet(tuple(map(node, range(count))), Machine(cpus=16, memory=64 << 30), "bench")
    wiring = Wiring(cluster, SystemClock())
    wiring.add(fleet, (NODES, PODS), pace_s=0.0)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(part.run()) for part in wiring.parts()]
        async with asyncio.timeout(PATIENCE_S):
            while not all(each.uid for each in fleet.nodes.values()):  # noqa: ASYNC110 a fleet tells nobody
                await asyncio.sleep(0.2)
        yield
        for task in tasks:
            task.cancel()


class Sizes:
    """The NodeSizes of all nodes: makes them, changes them, and knows which have what they ask for."""

    def __init__(self, cluster: HttpCluster, count: int) -> None:
        self._cluster = cluster
        self._names = [node(index) for index in range(count)]
        self._has: dict[str, str] = {}
        self._changed = asyncio.Event()
        self._following: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._following = asyncio.create_task(self._follow())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)

    async def create(self, cpu: str) -> None:
        """One for each node."""
        await self._each(self._names, lambda name: self._cluster.create(_SIZES, "", _body(name, cpu)))

    async def retarget(self, cpu: str) -> None:
        """All of them."""
        await self._each(self._names, lambda name: self._cluster.patch(_SIZES, "", name, {"spec": _spec(cpu)}))

    async def one(self, index: int, cpu: str) -> float:
        """Seconds from the wish for one node to its status."""
        begin = time.monotonic()
        await self._cluster.patch(_SIZES, "", node(index), {"spec": _spec(cpu)})
        await self._until([node(index)], cpu)
        return time.monotonic() - begin

    async def all_have(self, cpu: str) -> None:
        """Until every node is Ready with it."""
        await self._until(self._names, cpu)

    async def _until(self, wanted: list[str], cpu: str) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while any(self._has.get(name) != cpu for name in wanted):
                self._changed.clear()
                await self._changed.wait()

    async def _follow(self) -> None:
        async for batch in Feed(self._cluster, SystemClock(), _SIZES).batches():
            self._take(batch)
            self._changed.set()

    def _take(self, batch: Iterable[Observation]) -> None:
        for seen in batch:
            if isinstance(seen, Seen):
                size = decode.from_json(seen.raw, NodeSize)
                self._has[size.metadata.name] = _reached(size)

    @staticmethod
    async def _each(wanted: Iterable[str], do: Any) -> None:
        slots = asyncio.Semaphore(_AT_ONCE)

        async def one(name: str) -> None:
            async with slots:
                await do(name)

        async with asyncio.TaskGroup() as group:
            for name in wanted:
                group.create_task(one(name))


def _reached(size: NodeSize) -> str:
    """The CPUs a node has, if they are what was asked for last."""
    is_ready = any(c.type == "Ready" and c.status == "True" for c in size.status.conditions)
    is_now = size.status.observed_generation == size.metadata.generation
    return str(size.status.effective.get("cpu", "")) if is_ready and is_now else ""


def _spec(cpu: str) -> dict[str, Any]:
    return {"target": {"effective": {"cpu": cpu, "memory": MEMORY}}}


def _body(name: str, cpu: str) -> dict[str, Any]:
    meta = {"name": name}
    return {"apiVersion": names.API_VERSION, "kind": names.KIND, "metadata": meta, "spec": _spec(cpu)}
