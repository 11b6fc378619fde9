"""Machines that can be plugged, for nodes of the simulated world."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import msgspec
from tests.scenarios.nodesize.world import NODE, World

from flexlet.api.quantity import Quantity
from flexlet.api.units import GIB
from flexlet.core.nodesize import names
from flexlet.engine.nodesize.keeper import MachineKeeper
from flexlet.ports import cluster as ports
from flexlet.ports.machineend import MachineEnd, MachineSize


class FakeEnd:
    """A machine whose guest keeps `keeps` Gi of what it is asked for, and which can grow to `limit`.

    `modules` are Gi that can be taken out; by default any part can.
    """

    def __init__(
        self,
        stage: World,
        cpus: int,
        gib: float,
        *,
        keeps: float = 0,
        limit: int = 64,
        modules: tuple[int, ...] | None = None,
    ) -> None:
        self.stage = stage
        self.cpus = cpus
        self.gib = gib
        self.keeps = keeps
        self.limit = limit
        self.modules = None if modules is None else tuple(size * GIB for size in modules)
        self.asked: list[tuple[str, int, float]] = []

    async def measure(self) -> MachineSize:
        return MachineSize(self.cpus, int(self.gib * GIB), modules=self.modules)

    async def plug(self, cpus: int, memory: int) -> MachineSize:
        self.asked.append(("plug", cpus, memory / GIB))
        refusal = "no free slot" if self.cpus + cpus > self.limit else ""
        self.cpus = min(self.limit, self.cpus + cpus)
        self.gib += memory / GIB
        return await self._changed(refusal)

    async def unplug(self, cpus: int, memory: int) -> MachineSize:
        self.asked.append(("unplug", cpus, memory / GIB))
        self.cpus -= cpus
        self.gib -= max(0, memory / GIB - self.keeps)
        return await self._changed("the guest keeps dimm3" if self.keeps else "")

    async def _changed(self, refusal: str) -> MachineSize:
        await self.stage.plug(self.cpus, self.gib)
        return MachineSize(self.cpus, int(self.gib * GIB), refusal)


@contextlib.asynccontextmanager
async def kept(stage: World, end: FakeEnd, *, obliging: bool = True) -> AsyncIterator[None]:
    """The keeper of machines beside the controller, and an agent that gets ready for an unplug, or does not."""

    @contextlib.asynccontextmanager
    async def opening(_: str) -> AsyncIterator[MachineEnd]:
        yield end

    keeper = MachineKeeper(stage.decider, opening, stage.sim.clock, stage.wake)
    tasks = [asyncio.create_task(keeper.run()), asyncio.create_task(_agent(stage, obliging))]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _agent(stage: World, obliging: bool) -> None:
    """Says that it is ready a second after it was asked, or that it refuses, and forgets it with the request."""
    while True:
        await stage.sim.clock.sleep(1.0)
        node = await stage.get(ports.NODES, NODE) or {}
        notes = node["metadata"].get("annotations", {})
        is_asked, is_ready = names.DESIRED_CAPACITY in notes, names.UNPLUG_READY in notes
        if is_asked:
            assert all(
                Quantity.parse(text) for text in msgspec.json.decode(notes[names.DESIRED_CAPACITY]).values()
            )
        if not obliging:
            said = {"type": "NodeResize", "status": "False", "reason": "Stable"}
            if is_asked:
                said |= {"reason": "UnplugRefused", "message": "CPU 0 must stay"}
            body = {"status": {"conditions": [said]}}
            await stage.sim.cluster.patch(ports.NODES, "", NODE, body, kind="strategic", subresource="status")
        elif is_asked != is_ready:
            answer = {names.UNPLUG_READY: "1" if is_asked else None}
            await stage.sim.cluster.patch(ports.NODES, "", NODE, {"metadata": {"annotations": answer}})
