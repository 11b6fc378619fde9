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
from flexlet.apps.controllers import Wiring, add_workloads
from flexlet.core import refs
from flexlet.core.hollow.fleet import Fleet
from flexlet.core.hollow.machine import DECLARED_FEATURES, Machine
from flexlet.ports.clock import Clock


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
            wiring = Wiring(server.cluster, clock)
            add_workloads(wiring, server.rest.registry.kinds())
            if hollow.count:
                features = [name for name in DECLARED_FEATURES if settings.gates[name]]
                fleet = Fleet(hollow.names, hollow.machine, __version__, features)
                wiring.add(fleet, (refs.NODES, refs.PODS), pace_s=0.0)
            tasks = [group.create_task(part.run()) for part in wiring.parts()]
            ready(server)
            await stop.wait()
            for task in tasks:
                task.cancel()
