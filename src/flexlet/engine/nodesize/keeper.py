"""Carries out what the sizing of nodes asks of machines, and tells what came of it.

One task per machine at a time; a hypervisor that cannot be reached is asked again after a pause. What a broken
connection left undone shows in the next measure, so nothing is done twice. Whatever else goes wrong with a machine
is that machine's alone: it is counted, told of, and the machine is asked again after a pause that grows.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

from flexlet.core.faults import Faults
from flexlet.core.nodesize.decider import NodeSizeDecider
from flexlet.core.nodesize.hardware import Deed
from flexlet.core.nodesize.scene import Measured
from flexlet.engine.guard import Guard
from flexlet.errors import FlexletError
from flexlet.ports.clock import Clock
from flexlet.ports.machineend import MachineEnd, MachineSize

log: Final = logging.getLogger(__name__)
RETRY_S: Final = 5.0
LOOP: Final = "machines of nodes"

Opening = Callable[[str], AbstractAsyncContextManager[MachineEnd]]
"""Opens the end that a NodeSize names."""


class MachineKeeper:
    """Runs deeds on machines; `wake` lets the decider look at what they came to."""

    def __init__(
        self,
        decider: NodeSizeDecider,
        opening: Opening,
        clock: Clock,
        wake: Callable[[], None],
        faults: Faults | None = None,
    ) -> None:
        self._faults = faults or Faults()
        self._guard = Guard(LOOP, clock, self._faults)
        self._decider = decider
        self._opening = opening
        self._clock = clock
        self._wake = wake

    async def run(self) -> None:
        """Until cancelled."""
        wanted = asyncio.Event()
        self._decider.on_deed = wanted.set
        async with asyncio.TaskGroup() as group:
            while True:
                for deed in self._decider.take_deeds():
                    group.create_task(self._do(deed))
                await wanted.wait()
                wanted.clear()

    async def _do(self, deed: Deed) -> None:
        try:
            async with self._opening(deed.qmp) as end:
                size = await carry_out(end, deed)
            found = Measured(size.cpus, size.memory, size.refusal, modules=size.modules)
            self._decider.learn_machine(deed.node, found)
        except FlexletError as error:
            log.warning("cannot size the machine of %s: %s", deed.node, error)
            await self._lost(deed.node, RETRY_S)
        except Exception as error:  # noqa: BLE001  whatever it is, it concerns this machine alone
            self._guard.take(deed.node, error)
            await self._lost(deed.node, max(RETRY_S, self._faults.until(LOOP, deed.node) - self._clock.now()))
        else:
            self._guard.ended(deed.node)
        self._wake()

    async def _lost(self, node: str, pause_s: float) -> None:
        await self._clock.sleep(pause_s)
        with self._guard.over(f"{node}, lost"):
            self._decider.lost_machine(node)


async def carry_out(end: MachineEnd, deed: Deed) -> MachineSize:
    """Bring a machine to the size of a deed, from whatever it has."""
    size = await end.measure()
    if not deed.cpus and not deed.memory:
        return size
    more = max(0, deed.cpus - size.cpus), max(0, deed.memory - size.memory)
    less = max(0, size.cpus - deed.cpus), max(0, size.memory - deed.memory)
    if any(more):
        size = await end.plug(*more)
    if any(less) and not any(more):
        size = await end.unplug(*less)
    return size
