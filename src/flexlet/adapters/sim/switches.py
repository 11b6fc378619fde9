"""What a simulated kernel does with the parts of its machine, and what it says about it."""

import asyncio
import errno
from collections.abc import AsyncIterator
from typing import TypeVar

from flexlet.adapters.sim.hardware import BLOCK, Hardware
from flexlet.api.cpuset import CpuSet
from flexlet.core.machine.parts import OnlineAs, Part, PartRefused
from flexlet.errors import HostError
from flexlet.ports.uevents import Overrun, Uevent

T = TypeVar("T")


class Switches(Hardware):
    """`flexlet.ports` Uevents, Swaps and Parts of a simulated machine."""

    async def online(self, part: Part, as_: OnlineAs = "online") -> PartRefused | None:
        """Bring a part online."""
        refused = self._refusal(part, "1" if part.kind == "cpu" else as_)
        if refused is None and part.kind == "cpu":
            self.wake(part.number)
        elif refused is None:
            self.fill(part.number, as_)
        return refused

    async def offline(self, part: Part, timeout_s: float) -> PartRefused | None:  # noqa: ARG002  it is quick
        """Take a part offline."""
        refused = self._refusal(part, "0" if part.kind == "cpu" else "offline")
        if refused is None and part.kind == "cpu":
            self.sleep(part.number)
        elif refused is None:
            self.empty(part.number)
        return refused

    async def events(self) -> AsyncIterator[Uevent | Overrun]:
        """What happens from the first step of the iteration on."""
        async for event in _heard(self.listeners):
            yield event

    async def changes(self) -> AsyncIterator[None]:
        """Swap devices coming and going."""
        async for change in _heard(self.swap_listeners):
            yield change

    def wake(self, cpu: int) -> None:
        """Bring a CPU online."""
        if cpu not in self.awake:
            self.awake.add(cpu)
            self.say("online", Part("cpu", cpu))

    def sleep(self, cpu: int) -> None:
        """Take a CPU offline."""
        if cpu in self.awake:
            self.awake.discard(cpu)
            self.say("offline", Part("cpu", cpu))

    def fill(self, block: int, as_: str) -> None:
        """Bring a block of memory online."""
        if self.blocks[block] != "online":
            self.blocks[block] = "online"
            self.nodes[self.block_homes.get(block, 0)] += BLOCK
            if as_ == "online_movable":
                self.movable.add(block)
            self.say("online", Part("memory", block))

    def empty(self, block: int) -> None:
        """Take a block of memory offline."""
        if self.blocks[block] != "offline":
            self.blocks[block] = "offline"
            self.nodes[self.block_homes.get(block, 0)] -= BLOCK
            self.movable.discard(block)
            self.say("offline", Part("memory", block))

    def say(self, action: str, part: Part) -> None:
        """Tell what happened to a part."""
        self.tell(Uevent(action, f"/devices/system/{part.kind}/{part}", part.kind))
        self.follow()

    def tell(self, event: Uevent | Overrun) -> None:
        """Let everybody hear it."""
        for queue in self.listeners:
            queue.put_nowait(event)

    def follow(self) -> None:
        """Keep the cgroups' side in step."""
        if self.machine is not None:
            self.machine.cpus, self.machine.memory_total = str(CpuSet.of(self.awake)), self.total
            self.machine.mems = str(CpuSet.of(self.nodes))

    def tell_of_swap(self) -> None:
        """The list of swap devices is another."""
        for queue in self.swap_listeners:
            queue.put_nowait(None)

    def _refusal(self, part: Part, word: str) -> PartRefused | None:
        there = part.number in (self.present if part.kind == "cpu" else self.blocks)
        number = self.refusals.get(str(part), 0) if there else errno.ENOENT
        if number == errno.EACCES:
            raise HostError(f"cannot write {word} to {part.switch}: Permission denied")
        message = f"cannot write {word} to {part.switch}: {errno.errorcode.get(number, '')}"
        return PartRefused(part=part, reason=errno.errorcode[number], message=message) if number else None


async def _heard(listeners: list[asyncio.Queue[T]]) -> AsyncIterator[T]:
    queue: asyncio.Queue[T] = asyncio.Queue()
    listeners.append(queue)
    try:
        while True:
            yield await queue.get()
    finally:
        listeners.remove(queue)
