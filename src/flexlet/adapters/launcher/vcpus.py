"""Bringing a machine to a number of vCPUs: one after another, lowest first in, highest first out.

A socket that the guest keeps makes way for the next lower one. One that it let go of only in part is filled again:
the guest's topology stays whole. vCPUs that came are taken into use through the guest's agent, if there is one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from flexlet.adapters.launcher.agent import Agent, Vcpu
from flexlet.adapters.launcher.board import Board
from flexlet.adapters.qemu.hypervisor import QemuHypervisor
from flexlet.core.lab.devices import CpuSlot, present
from flexlet.core.lab.plans import Refused
from flexlet.core.lab.unplugging import Unplugged
from flexlet.core.vm import plugging
from flexlet.core.vm.guest import Answer, Machine

GIVE_UP: Final = 3
"""So many failures of the hypervisor are taken for the last word."""
ONE_GOES_S: Final = 30.0
"""What one vCPU may need to go before the next one is asked, which the order's own patience can only shorten."""
_ONLINE_TRIES: Final = 10
_ONLINE_PAUSE_S: Final = 1.0

Measure = Callable[[], Awaitable[None]]


class Vcpus:
    """The vCPUs of one machine."""

    def __init__(
        self, hypervisor: QemuHypervisor, machine: Machine, agent: Agent, board: Board, measure: Measure
    ) -> None:
        self._hypervisor = hypervisor
        self._machine = machine
        self._agent = agent
        self._board = board
        self._measure = measure
        self._has_new = False

    async def bring(self, vcpus: int, patience_s: float) -> Answer:
        """Plug or unplug as far as it goes; HypervisorError if the hypervisor fails at it."""
        target = self.whole(vcpus)
        slots = await self._slots()
        if len(present(slots)) > target:
            return await self._take(target, patience_s)
        plan = plugging.vcpus_to_plug(slots, target)
        if isinstance(plan, Refused):
            return Answer("Failed", plan.message, GIVE_UP)
        for slot in plan:
            await self._hypervisor.plug(slot)
            await self._measure()
            self._has_new = True
        return Answer("Settled", await self._bring_online() if plan else "")

    def whole(self, vcpus: int) -> int:
        """A number of vCPUs as whole sockets."""
        return plugging.whole(vcpus, self._machine)

    async def look(self) -> None:
        """Say how many the guest uses, if its agent tells; one that comes up late takes new ones into use."""
        if self._has_new:
            await self._bring_online()
        else:
            self._tell(await self._agent.vcpus())

    async def _slots(self) -> tuple[CpuSlot, ...]:
        return plugging.usable(await self._hypervisor.cpus(), self._machine)

    async def _take(self, target: int, patience_s: float) -> Answer:
        loop = asyncio.get_running_loop()
        deadline, last = loop.time() + patience_s, ""
        for socket in plugging.sockets_to_unplug(await self._slots()):
            if self._board.report.vcpus <= target or loop.time() >= deadline:
                break
            refusal = await self._take_socket(socket, min(deadline - loop.time(), ONE_GOES_S))
            last = refusal.message if refusal else last
            await self._measure()
        await self.look()
        have = self._board.report.vcpus
        return Answer() if have <= target else Answer("Partial", f"{have} vCPUs instead of {target}: {last}")

    async def _take_socket(self, socket: tuple[CpuSlot, ...], patience_s: float) -> Refused | None:
        gone: list[CpuSlot] = []
        for slot in socket:
            outcome = await self._hypervisor.unplug(slot, patience_s)
            if not isinstance(outcome, Unplugged):
                for back in reversed(gone):
                    await self._hypervisor.plug(back)
                return outcome
            gone.append(slot)
        return None

    async def _bring_online(self) -> str:
        """Until the guest uses all that it has, as far as an agent can tell; what is missing otherwise."""
        known = await self._agent.vcpus()
        for _ in range(_ONLINE_TRIES):
            if known is None:
                break
            if len(known) >= self._board.report.vcpus and all(vcpu.online for vcpu in known):
                break
            await self._agent.bring_online(vcpu.logical_id for vcpu in known if not vcpu.online)
            await asyncio.sleep(_ONLINE_PAUSE_S if len(known) < self._board.report.vcpus else 0)
            known = await self._agent.vcpus()
        online, have = self._tell(known), self._board.report.vcpus
        self._has_new = online is None or online < have
        return "" if online is None or online >= have else f"the guest uses {online} of {have} vCPUs"

    def _tell(self, known: tuple[Vcpu, ...] | None) -> int | None:
        online = None if known is None else sum(vcpu.online for vcpu in known)
        self._board.update(vcpus_online=online)
        return online
