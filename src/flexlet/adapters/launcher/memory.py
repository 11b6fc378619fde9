"""Bringing a machine to an amount of memory: by virtio-mem, or by modules for guests without its driver.

virtio-mem is told a size once; the guest follows in its own time, or in part, and goes on trying. Modules come at
once and go whole, or not at all.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from flexlet.adapters.launcher.board import Board, Pulse
from flexlet.adapters.launcher.vcpus import GIVE_UP
from flexlet.adapters.qemu.hypervisor import QemuHypervisor
from flexlet.core.lab import plans
from flexlet.core.lab.devices import Dimm
from flexlet.core.lab.plans import Refused
from flexlet.core.lab.spec import text_of
from flexlet.core.lab.unplugging import Unplugged
from flexlet.core.vm import plugging
from flexlet.core.vm.guest import Answer, Machine

LOOK_S: Final = 0.25

Measure = Callable[[], Awaitable[None]]


class GuestMemory:
    """The memory of one machine."""

    def __init__(
        self, hypervisor: QemuHypervisor, machine: Machine, board: Board, pulse: Pulse, measure: Measure
    ) -> None:
        self._hypervisor = hypervisor
        self._machine = machine
        self._board = board
        self._pulse = pulse
        self._measure = measure

    async def bring(self, target: int, patience_s: float) -> Answer:
        """Let the guest take or give as far as it goes; HypervisorError if the hypervisor fails at it."""
        memory = await self._hypervisor.memory()
        if memory.present == memory.asked == target:
            return Answer()
        if self._machine.memory_device == "virtio-mem":
            return await self._stretch(target, patience_s)
        if target > memory.present:
            return await self._add_modules(target)
        return await self._take_modules(target, patience_s)

    async def _stretch(self, target: int, patience_s: float) -> Answer:
        wish = plugging.elastic_wish(await self._hypervisor.memory(), target)
        if isinstance(wish, Refused):
            return Answer("Failed", wish.message, GIVE_UP)
        await self._hypervisor.ask_elastic(wish)
        await self._measure()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience_s
        while self._board.report.memory != target and loop.time() < deadline:
            await self._pulse.within(LOOK_S)
            await self._measure()
        return self.reached(target)

    async def _add_modules(self, target: int) -> Answer:
        plan = plugging.modules_to_plug(await self._hypervisor.memory(), target, self._machine)
        if isinstance(plan, Refused):
            return Answer("Failed", plan.message, GIVE_UP)
        for dimm in plan:
            await self._hypervisor.plug(dimm)
            await self._measure()
        return self.reached(target, "memory comes in modules")

    async def _take_modules(self, target: int, patience_s: float) -> Answer:
        """Take the planned modules; for one that is refused, another of its size."""
        memory = await self._hypervisor.memory()
        planned = plugging.modules_to_unplug(memory, target)
        loop = asyncio.get_running_loop()
        tried, waiting, why = set[Dimm](planned), list(planned), "memory goes in whole modules"
        deadline = loop.time() + patience_s
        while waiting and loop.time() < deadline:
            dimm = waiting.pop(0)
            outcome = await self._hypervisor.unplug(dimm, deadline - loop.time())
            await self._measure()
            if not isinstance(outcome, Unplugged):
                why = outcome.message
                spare = plans.spare(memory, dimm, tried)
                waiting += [spare] if spare else []
                tried |= {spare} if spare else set()
        return self.reached(target, why)

    def reached(self, target: int, why: str = "the guest goes on trying") -> Answer:
        """How near the guest has come."""
        have = self._board.report.memory
        return (
            Answer()
            if have == target
            else Answer("Partial", f"{text_of(have)} instead of {text_of(target)}: {why}")
        )
