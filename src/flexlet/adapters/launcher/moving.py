"""Live migration by plain QEMU: this launcher sends the machine, or waits for it.

The source reports how far it is. When all has arrived the guest runs at the target and this QEMU holds nothing but
an old picture of it: it is `Migrated`, and ends when it is told to.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from flexlet.adapters.launcher.board import Board, Pulse
from flexlet.adapters.qemu.hypervisor import QemuHypervisor
from flexlet.adapters.qemu.monitor import Monitor, Refusal
from flexlet.core.vm import plugging, qmp
from flexlet.core.vm.guest import Machine, MigrateTo, Move
from flexlet.errors import HypervisorError, HypervisorGone

LOOK_S: Final = 0.2
UNLIMITED: Final = 1 << 50
"""Bytes a second: more than any network has."""
CAPABILITIES: Final = {"events": True, "auto-converge": True}

Measure = Callable[[], Awaitable[None]]


class Moving:
    """Migrations of one machine."""

    def __init__(
        self,
        monitor: Monitor,
        hypervisor: QemuHypervisor,
        machine: Machine,
        board: Board,
        pulse: Pulse,
        measure: Measure,
    ) -> None:
        self._monitor = monitor
        self._hypervisor = hypervisor
        self._machine = machine
        self._board = board
        self._pulse = pulse
        self._measure = measure

    async def listen(self, address: str) -> None:
        """Wait for the machine at this address; a second time changes nothing."""
        try:
            await self._execute("migrate-set-capabilities", capabilities=_capabilities())
            await self._execute("migrate-incoming", uri=address)
        except Refusal as refusal:
            if self._board.report.message != _listening(address):
                self._board.update(message=str(refusal))
            return
        self._board.update(message=_listening(address))

    async def send(self, order: MigrateTo) -> None:
        """Send the machine there, and follow until that has ended one way or the other."""
        if self._board.report.move.state == "Active":
            return
        self._tell(Move("Active"), order)
        try:
            await self._begin(order)
            await self._follow(order)
        except HypervisorGone:
            self._tell(Move("Failed", message="the connection to QEMU broke during the migration"), order)
        except HypervisorError as error:
            self._tell(Move("Failed", message=str(error)), order)
        self._pulse.beat()

    def _tell(self, move: Move, order: MigrateTo) -> None:
        self._board.update(move=msgspec.structs.replace(move, address=order.address))

    async def cancel(self) -> None:
        """Give it up; what follows the migration sees the end of it."""
        await self._execute("migrate_cancel")

    async def _begin(self, order: MigrateTo) -> None:
        refusal = plugging.gap(plugging.usable(await self._hypervisor.cpus(), self._machine))
        if refusal:
            raise HypervisorError(refusal.message)
        await self._execute("migrate-set-capabilities", capabilities=_capabilities())
        await self._execute(
            "migrate-set-parameters",
            **{"max-bandwidth": order.max_bandwidth or UNLIMITED, "downtime-limit": order.downtime_limit_ms},
        )
        await self._execute("migrate", uri=order.address)

    async def _follow(self, order: MigrateTo) -> None:
        while True:
            move = qmp.move(await self._monitor.execute("query-migrate"))
            if move.state not in {"", "Active"}:
                await self._measure()
                self._tell(move, order)
                return
            self._tell(Move("Active", move.transferred, move.total_ms, 0), order)
            await self._pulse.within(LOOK_S)

    async def _execute(self, command: str, **arguments: Any) -> None:
        await self._monitor.execute(command, arguments or None)


def _capabilities() -> list[dict[str, object]]:
    return [{"capability": name, "state": state} for name, state in CAPABILITIES.items()]


def _listening(address: str) -> str:
    return f"waits for the machine at {address}"
