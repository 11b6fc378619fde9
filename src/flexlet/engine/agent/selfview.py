"""The node looks at itself: its runtime, its images, and what others found. All of it goes to whoever asked.

The runtime is asked how it feels every five seconds, and for its images every thirty; one that does not answer is
a fact like any other. The machine is looked at by `detecting`, and is told here when the node follows it.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from flexlet.core.machine.machine import Machine
from flexlet.core.node.facts import Address, NodeFacts
from flexlet.errors import RuntimeFault
from flexlet.ports.clock import Clock
from flexlet.ports.runtime import Runtime

_RUNTIME_S: Final = 5.0
_IMAGES_S: Final = 30.0


class SelfView:
    """Gathers `NodeFacts`; `changed` is called with each new set of them."""

    def __init__(self, runtime: Runtime, clock: Clock, addresses: tuple[Address, ...]) -> None:
        self._runtime = runtime
        self._clock = clock
        self._addresses = addresses
        self.facts: NodeFacts | None = None
        self.changed: Callable[[NodeFacts], None] = lambda _: None

    async def first(self, machine: Machine) -> NodeFacts:
        """Look at everything once; RuntimeFault if the runtime cannot be reached."""
        self._put(machine=machine)
        version = await self._runtime.version()
        self._put(runtime_version=version)
        await self._ask_runtime()
        await self._list_images()
        assert self.facts is not None  # noqa: S101 the machine was put
        return self.facts

    def tell(self, **fields: object) -> None:
        """Facts that others found: the machine, pressures, shutdown, problems, enforcement."""
        self._put(**fields)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._repeat(self._ask_runtime, _RUNTIME_S))
            group.create_task(self._repeat(self._list_images, _IMAGES_S))

    async def _repeat(self, work: Callable[[], object], seconds: float) -> None:
        while True:
            await self._clock.sleep(seconds)
            await work()  # type: ignore[misc]

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
