"""The whole chain on one node: the wish, the balloon as a fence, an agent that gets ready, the machine (§5.8)."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from tests.scenarios.native.test_native import FOLLOWS, Native, held, native

from flexlet.adapters.sim.hardware import BLOCK
from flexlet.api.units import GIB
from flexlet.core.nodesize import names
from flexlet.engine.nodesize.keeper import MachineKeeper
from flexlet.ports.cluster import NODES
from flexlet.ports.machineend import MachineEnd, MachineSize
from flexlet.testing import SimHost
from flexlet.testing.simtime import run

AUTO = {"via": "Auto", "onInsufficient": "Fail", "machine": {"qmp": "/run/n1.qmp"}}


class HostEnd:
    """The hypervisor of a simulated machine; it takes out what the guest switched off."""

    def __init__(self, host: SimHost) -> None:
        self.host = host
        self.asked: list[tuple[str, int, int]] = []

    async def measure(self) -> MachineSize:
        return MachineSize(len(self.host.present), len(self.host.blocks) * BLOCK)

    async def plug(self, cpus: int, memory: int) -> MachineSize:
        self.asked.append(("plug", cpus, memory // GIB))
        self.host.plug_cpus(cpus)
        self.host.plug_memory(memory)
        return await self.measure()

    async def unplug(self, cpus: int, memory: int) -> MachineSize:
        self.asked.append(("unplug", cpus, memory // GIB))
        self.host.unplug_cpus(sorted(self.host.present - self.host.awake)[-cpus:] if cpus else ())
        off = [block for block, state in self.host.blocks.items() if state == "offline"]
        self.host.unplug_blocks(off[-memory // BLOCK :] if memory else ())
        return await self.measure()


@contextlib.asynccontextmanager
async def kept(at: Native) -> AsyncIterator[HostEnd]:
    end = HostEnd(at.node.host)

    @contextlib.asynccontextmanager
    async def opening(_: str) -> AsyncIterator[MachineEnd]:
        yield end

    keeper = MachineKeeper(at.stage.decider, opening, at.stage.sim.clock, at.stage.wake)
    task = asyncio.create_task(keeper.run())
    try:
        yield end
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def said(at: Native) -> dict[str, Any]:
    found = await at.stage.get(NODES, "n1") or {}
    notes = found["metadata"]["annotations"]
    return {key: notes[key] for key in (names.DESIRED_CAPACITY, names.UNPLUG_READY) if key in notes}


def test_a_node_shrinks_behind_its_fence_and_grows_past_it(tmp_path: Path) -> None:
    """The balloon fences 4 CPUs and 16Gi, the agent empties them, the machine gives them up; and back again."""

    async def story() -> None:
        async with (
            native(tmp_path, hardware=SimHost("0-14", 60 * GIB), resize=FOLLOWS) as at,
            kept(at) as end,
        ):
            await at.stage.add("web", 5, 20)
            await at.want(12, 48)
            assert await at.stage.figures() == {"balloon": (3, 12), "effective": (12, 48), "headroom": (7, 28)}
            await at.want(8, 32, **AUTO)
            await at.settle(60)
            assert await at.stage.figures() == {"balloon": (3, 12), "effective": (8, 32), "headroom": (3, 12)}
            assert (await at.stage.status())["machine"].get("phase", "Idle") == "Idle"
            assert await said(at) == {}
            assert await at.phase("web") == "Running"
            shrunk = await end.measure()
            await at.want(16, 64, **AUTO)
            await at.settle(30)
            grown = await end.measure()
            assert (await at.stage.figures())["effective"] == (15.999, 64 - 16 / 1024)
            assert end.asked == [("unplug", 4, 16), ("plug", 5, 20)]
            assert (shrunk, grown) == (MachineSize(11, 44 * GIB), MachineSize(16, 64 * GIB))
            assert await at.phase("web") == "Running"

    run(story())


def test_a_kernel_that_lets_nothing_go_leaves_the_balloon_as_the_downsizing(tmp_path: Path) -> None:
    """Nothing is unplugged, nobody ends, and pods are held to the smaller size all the same."""

    async def story() -> None:
        hardware = SimHost("0-14", 60 * GIB)
        async with native(tmp_path, hardware=hardware, resize=FOLLOWS) as at, kept(at) as end:
            parts = [f"cpu{cpu}" for cpu in hardware.present] + [f"memory{each}" for each in hardware.blocks]
            for part in parts:
                hardware.refuse(part)
            await at.stage.add("web", 5, 20)
            await at.want(12, 48)
            await at.want(8, 32, enforce="CpuAndMemory", **AUTO)
            await at.settle(120)
            assert await at.stage.figures() == {"balloon": (7, 28), "effective": (8, 32), "headroom": (3, 12)}
            status = await at.stage.status()
            assert (status["machine"]["phase"], end.asked) == ("Refused", [])
            assert at.capped() == held(8, 32)
            assert await said(at) == {}
            assert await at.phase("web") == "Running"

    run(story())


def test_memory_that_stays_does_not_hold_up_the_cpus(tmp_path: Path) -> None:
    """The kernel keeps all memory: the CPUs go, and the balloon holds what stays."""

    async def story() -> None:
        hardware = SimHost("0-14", 60 * GIB)
        async with native(tmp_path, hardware=hardware, resize=FOLLOWS) as at, kept(at) as end:
            for block in hardware.blocks:
                hardware.refuse(f"memory{block}")
            await at.stage.add("web", 5, 20)
            await at.want(12, 48)
            await at.want(8, 32, **AUTO)
            await at.settle(120)
            assert end.asked == [("unplug", 4, 0)]
            assert await at.stage.figures() == {"balloon": (3, 28), "effective": (8, 32), "headroom": (3, 12)}
            status = await at.stage.status()
            assert status["allocatable"] == {"cpu": "11", "memory": "60Gi"}
            assert status["machine"]["phase"] == "Refused"
            assert status["machine"]["message"].endswith(": the balloon is the downsizing")
            assert await said(at) == {}
            assert await at.phase("web") == "Running"

    run(story())
