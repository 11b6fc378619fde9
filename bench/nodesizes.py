"""A thousand NodeSizes on hollow nodes: what their controller costs.

Time is simulated, so nothing waits for a clock; CPU time is real, and only that of the controller's own thoughts
is counted.
"""

import asyncio
import contextlib
import gc
import time
import tracemalloc
from collections.abc import AsyncIterator
from typing import Any, Final

from flexlet.apiserver.housekeeping.crds import Definitions
from flexlet.apps import nodesize
from flexlet.core.hollow.fleet import Fleet
from flexlet.core.hollow.machine import Machine
from flexlet.core.nodesize import names
from flexlet.core.nodesize.decider import NodeSizeDecider
from flexlet.core.observations import Observation, Seen
from flexlet.core.refs import NODES, PODS
from flexlet.engine.executor import Executor
from flexlet.engine.feed import Feed
from flexlet.engine.loop import Decider, Loop
from flexlet.engine.recorder import Recorder
from flexlet.ports.cluster import Ref
from flexlet.testing.cluster import SimCluster, serving
from flexlet.testing.simtime import SimClock
from flexlet.testing.simtime import run as simulate

COUNT: Final = 1000
_SIZES: Final = Ref(*names.NODE_SIZES)


class Clocked(NodeSizeDecider):
    """Counts the CPU time of its own thoughts."""

    def __init__(self) -> None:
        super().__init__()
        self.cpu_s = 0.0

    def fold(self, observation: Observation) -> None:
        """As ever."""
        began = time.process_time()
        super().fold(observation)
        self.cpu_s += time.process_time() - began

    def decide(self, now: float) -> Any:
        """As ever."""
        began = time.process_time()
        plan = super().decide(now)
        self.cpu_s += time.process_time() - began
        return plan


def run() -> list[tuple[str, float, str]]:
    """Make them, resize them, and leave them alone."""
    return simulate(_story())


async def _story() -> list[tuple[str, float, str]]:
    async with _cluster() as sim:
        for index in range(COUNT):
            await sim.cluster.create(_SIZES, "", _size(f"n{index}", "8"))
        decider = Clocked()
        loop = asyncio.create_task(_loop(sim, decider, (names.NODE_SIZES, NODES, PODS)).run())
        await sim.clock.sleep(60)
        made_s = decider.cpu_s
        for index in range(COUNT):
            await sim.cluster.patch(_SIZES, "", f"n{index}", {"spec": {"target": {"effective": {"cpu": "4"}}}})
        await sim.clock.sleep(60)
        resized_s = decider.cpu_s - made_s
        await sim.clock.sleep(600)
        idle_s = decider.cpu_s - made_s - resized_s
        await _ended(loop)
        used = await _picture(sim)
        granted = decider.tally.resizes["Inflate", "granted"]
    return [
        (f"inflates granted with {COUNT} NodeSizes", granted, ""),
        ("CPU time of a resize", resized_s / COUNT * 1000, "ms"),
        ("CPU time in 10 idle minutes", idle_s, "s"),
        ("memory of the controller's picture", used / COUNT / 1024, "KiB per node"),
    ]


def _size(name: str, cpu: str) -> dict[str, Any]:
    target = {"effective": {"cpu": cpu, "memory": "32Gi"}}
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.KIND,
        "metadata": {"name": name},
        "spec": {"target": target},
    }


async def _picture(sim: SimCluster) -> int:
    """The memory of all that a controller knows, measured on one that has just listed everything."""
    listed = [(ref, await sim.cluster.list(Ref(*ref))) for ref in (names.NODE_SIZES, NODES, PODS)]
    gc.collect()
    tracemalloc.start()
    decider = NodeSizeDecider()
    for ref, listing in listed:
        for raw in listing.items:
            decider.fold(Seen(ref, raw))
    gc.collect()
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return used


@contextlib.asynccontextmanager
async def _cluster() -> AsyncIterator[SimCluster]:
    """An API server with hollow nodes."""
    clock = SimClock()
    async with serving(clock) as sim:
        definitions = Definitions(sim.rest, sim.cluster, clock)
        await definitions.load()
        await nodesize.install(sim.cluster)
        fleet = Fleet(tuple(f"n{index}" for index in range(COUNT)), Machine(cpus=16, memory=64 * 1024**3), "bench")
        nodes = asyncio.create_task(_loop(sim, fleet, (NODES, PODS)).run())
        await clock.sleep(5)
        yield sim
        await _ended(nodes)


def _loop(sim: SimCluster, decider: Decider, follows: tuple[tuple[str, str, str], ...]) -> Loop:
    feeds = [Feed(sim.cluster, sim.clock, Ref(*ref)) for ref in follows]
    return Loop(decider, feeds, Executor(sim.cluster, Recorder(sim.cluster, sim.clock)), sim.clock)


async def _ended(task: "asyncio.Task[None]") -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
