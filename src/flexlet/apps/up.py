"""``flexlet up``: API server, scheduler, controllers and nodes in one process.

Parts start in the order in which they need each other and stop in the reverse one. Whatever fails takes the whole
process down with its reason: half a cluster would only confuse.
"""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

import msgspec

from flexlet import __version__
from flexlet.apiserver.auth.kubeconfig import write_kubeconfig
from flexlet.apiserver.server import ApiServer, Settings, serving
from flexlet.apps.controllers import workload_loops
from flexlet.core.hollow.fleet import Fleet
from flexlet.core.hollow.machine import Machine
from flexlet.engine.executor import Executor
from flexlet.engine.feed import Feed
from flexlet.engine.loop import Loop
from flexlet.engine.recorder import Recorder
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import NODES, PODS, Cluster


class Hollow(msgspec.Struct, frozen=True):
    """How many simulated nodes, and how big each is."""

    count: int = 1
    machine: Machine = Machine()

    @property
    def names(self) -> tuple[str, ...]:
        """``hollow-0``, ``hollow-1`` ...; as wide as the last one, so that they sort."""
        width = len(str(max(self.count - 1, 0)))
        return tuple(f"hollow-{index:0{width}}" for index in range(self.count))


async def up(
    settings: Settings, hollow: Hollow, kubeconfig: Path, clock: Clock, ready: Callable[[ApiServer], None]
) -> None:
    """Run until SIGINT or SIGTERM; `ready` is called once, when clients can connect."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serving(settings, clock) as server:
        write_kubeconfig(kubeconfig, server.kubeconfig())
        async with asyncio.TaskGroup() as group:
            loops = [*workload_loops(server.cluster, clock), *hollow_loops(server.cluster, clock, hollow)]
            tasks = [group.create_task(loop.run()) for loop in loops]
            ready(server)
            await stop.wait()
            for task in tasks:
                task.cancel()


def hollow_loops(cluster: Cluster, clock: Clock, hollow: Hollow) -> list[Loop]:
    """The loop that simulates the nodes; none if there are none."""
    if not hollow.count:
        return []
    fleet = Fleet(hollow.names, hollow.machine, __version__)
    feeds = [Feed(cluster, clock, ref) for ref in (NODES, PODS)]
    executor = Executor(cluster, Recorder(cluster, clock), concurrency=128)
    return [Loop(fleet, feeds, executor, clock)]
