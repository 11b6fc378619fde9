"""The node looks at itself: its machine, its runtime, its images. What it finds goes to whoever asked.

The machine is read every few seconds and at once when someone says that it changed; the runtime is asked how it
feels every five seconds, and for its images every thirty. A runtime that does not answer is a fact like any other.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from flexlet.core.machine import discovery, sources
from flexlet.core.machine.machine import Machine
from flexlet.core.node.facts import Address, NodeFacts
from flexlet.errors import HostError, RuntimeFault
from flexlet.ports.clock import Clock
from flexlet.ports.host import HostReader
from flexlet.ports.runtime import Runtime

if TYPE_CHECKING:
    from flexlet.core.machine.snapshot import Snapshot

_MACHINE_S: Final = 10.0
_RUNTIME_S: Final = 5.0
_IMAGES_S: Final = 30.0


class SelfView:
    """Gathers `NodeFacts`; `changed` is called with each new set of them."""

    def __init__(
        self,
        host: HostReader,
        runtime: Runtime,
        clock: Clock,
        storage: str,
        addresses: tuple[Address, ...],
        machine_s: float = _MACHINE_S,
    ) -> None:
        self._host = host
        self._runtime = runtime
        self._clock = clock
        self._storage = storage
        self._addresses = addresses
        self._machine_s = machine_s
        self._everything: Snapshot | None = None
        self._again = asyncio.Event()
        self.facts: NodeFacts | None = None
        self.changed: Callable[[NodeFacts], None] = lambda _: None

    async def first(self) -> NodeFacts:
        """Look at everything once; RuntimeFault if the runtime cannot be reached."""
        await self._look_at_machine()
        version = await self._runtime.version()
        self._put(runtime_version=version)
        await self._ask_runtime()
        await self._list_images()
        assert self.facts is not None  # noqa: S101 the machine was looked at
        return self.facts

    def look_again(self) -> None:
        """Someone noticed that the machine changed."""
        self._again.set()

    def tell(self, **fields: object) -> None:
        """Facts that others found: pressures, shutdown, problems, enforcement."""
        self._put(**fields)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._repeat(self._ask_runtime, _RUNTIME_S))
            group.create_task(self._repeat(self._list_images, _IMAGES_S))
            group.create_task(self._wait_for_machine(group))

    async def _wait_for_machine(self, group: asyncio.TaskGroup) -> None:
        while True:
            alarm = group.create_task(self._ring())
            await self._again.wait()
            alarm.cancel()
            self._again.clear()
            await self._look_at_machine()

    async def _ring(self) -> None:
        await self._clock.sleep(self._machine_s)
        self._again.set()

    async def _repeat(self, work: Callable[[], object], seconds: float) -> None:
        while True:
            await self._clock.sleep(seconds)
            await work()  # type: ignore[misc]

    async def _look_at_machine(self) -> None:
        """A reading that cannot be true changes nothing; the next one will tell."""
        try:
            machine = await self._machine()
        except HostError:
            if self.facts is None:
                raise
            return
        self._put(machine=machine)

    async def _machine(self) -> Machine:
        everything, known = self._everything, self.facts
        if everything is not None and known is not None and not known.machine.half_plugged.is_moving:
            sizes = await self._host.read(sources.SIZES, (self._storage,))
            if not sources.needs_everything(everything, sizes):
                return discovery.measured(known.machine, sizes, self._storage)
        self._everything = await self._host.read(sources.EVERYTHING, (self._storage,))
        return discovery.machine(self._everything, self._storage)

    async def _ask_runtime(self) -> None:
        try:
            found = await self._runtime.status()
        except RuntimeFault:
            self._put()
            return
        ready = found.condition("RuntimeReady").status
        known = self.facts.runtime_ready_at if self.facts is not None else None
        self._put(runtime=found, runtime_ready_at=self._clock.now() if ready else known)

    async def _list_images(self) -> None:
        try:
            images = await self._runtime.images()
        except RuntimeFault:
            return
        self._put(images=images)

    def _put(self, **fields: object) -> None:
        before = self.facts
        if before is None:
            self.facts = NodeFacts(addresses=self._addresses, **fields)  # type: ignore[arg-type]
        else:
            self.facts = msgspec.structs.replace(before, **fields)
        if self.facts != before:
            self.changed(self.facts)
