"""A launcher at work: QEMU runs, orders come in, reports go out, until the machine ends.

Whatever concerns the machine is read from QEMU, never remembered: a launcher that was killed and started again
finds the same machine and goes on. Loops that lose QEMU look again; a fault of our own ends the launcher and the
machine with it, so that nobody believes it to be looked after.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from flexlet.adapters.launcher import overhead
from flexlet.adapters.launcher.agent import Agent
from flexlet.adapters.launcher.board import Board, Pulse
from flexlet.adapters.launcher.devices import Devices
from flexlet.adapters.launcher.memory import GuestMemory
from flexlet.adapters.launcher.moving import Moving
from flexlet.adapters.launcher.process import Running
from flexlet.adapters.launcher.rundir import RunDir
from flexlet.adapters.launcher.sizing import Sizing
from flexlet.adapters.launcher.vcpus import Vcpus
from flexlet.adapters.qemu.hypervisor import QemuHypervisor
from flexlet.adapters.qemu.monitor import Monitor
from flexlet.adapters.qemu.starts import CpuStarts
from flexlet.core.lab.arguments import Accelerator
from flexlet.core.lab.devices import present
from flexlet.core.lab.events import Event, Happened, ShutDown
from flexlet.core.vm import plugging, qmp
from flexlet.core.vm.bootline import AGENT_CHARDEV, cpu_slots, vcpus_a_socket
from flexlet.core.vm.ending import Ending, ending
from flexlet.core.vm.guest import (
    AttachDevice,
    Listen,
    Machine,
    MigrateCancel,
    MigrateTo,
    Order,
    PowerDown,
    SetSize,
)
from flexlet.errors import FlexletError, HypervisorError

IDLE_S: Final = 5.0
GUEST_S: Final = 15.0
OVERHEAD_S: Final = 15.0
PRESS_S: Final = 5.0
QUIT_S: Final = 10.0
_PAUSE_S: Final = 0.2


class Launcher:
    """One machine and all that is done with it."""

    def __init__(
        self,
        machine: Machine,
        accelerator: Accelerator,
        run: RunDir,
        running: Running,
        board: Board,
        orders: asyncio.Queue[Order],
    ) -> None:
        self._machine = machine
        self._running = running
        self._board = board
        self._pulse = Pulse()
        self._monitor = Monitor(run.monitors[0])
        starts = CpuStarts(run.starts, cpu_slots(machine, accelerator))
        if running.is_ours:
            starts.begin(machine.sockets * vcpus_a_socket(machine), accelerator)
        self._hypervisor = QemuHypervisor(self._monitor, claim=starts.claim, slots=lambda: machine.max_sockets)
        self._vcpus = Vcpus(self._hypervisor, machine, Agent(run.agent, self._has_agent), board, self._measure)
        memory = GuestMemory(self._hypervisor, machine, board, self._pulse, self._measure)
        self._sizing = Sizing(board, self._pulse, self._vcpus, memory)
        self._moving = Moving(self._monitor, self._hypervisor, machine, board, self._pulse, self._measure)
        self._devices = Devices(self._monitor, running.pid)
        self._orders = orders
        self._deeds: set[asyncio.Task[None]] = set()
        self._reason = ""
        self._is_ending = False

    async def run(self) -> Ending:
        """Look after the machine until it ends."""
        loops = [
            asyncio.create_task(self._steadily(loop))
            for loop in (self._listen, self._look, self._look_inside, self._weigh, self._take_orders)
        ]
        end = asyncio.create_task(self._running.ended())
        try:
            await asyncio.wait((end, *loops), return_when=asyncio.FIRST_COMPLETED)
            for loop in loops:
                if loop.done():
                    loop.result()  # a fault of our own
            code = await end
            await asyncio.wait((loops[0],), timeout=_PAUSE_S)  # its last words may still be on their way
            return ending(code, self._reason, wanted=self._is_ending)
        finally:
            await self._leave((end, *loops))

    async def _leave(self, tasks: tuple[asyncio.Task[object], ...]) -> None:
        everything = (*tasks, *self._deeds)
        for task in everything:
            task.cancel()
        await asyncio.gather(*everything, return_exceptions=True)
        await self._sizing.close()
        await self._monitor.close()

    async def _steadily(self, step: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await step()
            except HypervisorError:
                await asyncio.sleep(_PAUSE_S)

    # ---- learning

    async def _listen(self) -> None:
        async with self._heard() as events:
            async for event in events:
                self._learn(event)
        await asyncio.sleep(_PAUSE_S)

    @contextlib.asynccontextmanager
    async def _heard(self) -> AsyncIterator[AsyncIterator[Event]]:
        async with self._monitor.listening() as events:
            self._pulse.beat()
            yield events

    def _learn(self, event: Event) -> None:
        if event == Happened("RESET"):
            self._board.update(resets=self._board.report.resets + 1)
        if isinstance(event, ShutDown):
            self._reason = event.reason
        self._pulse.beat()

    async def _look(self) -> None:
        await self._measure()
        await self._pulse.within(IDLE_S)

    async def _measure(self) -> None:
        state = qmp.run_state(await self._monitor.execute("query-status"))
        slots = plugging.usable(await self._hypervisor.cpus(), self._machine)
        memory = await self._hypervisor.memory()
        self._board.update(
            run_state=state, vcpus=len(present(slots)), memory=memory.present, requested=memory.asked
        )

    async def _look_inside(self) -> None:
        await self._vcpus.look()
        await asyncio.sleep(GUEST_S)

    async def _has_agent(self) -> bool:
        return qmp.is_open(await self._monitor.execute("query-chardev"), AGENT_CHARDEV)

    async def _weigh(self) -> None:
        answer = await self._monitor.execute("human-monitor-command", {"command-line": "info ramblock"})
        blocks = qmp.guest_blocks(answer)
        self._board.update(resident=await asyncio.to_thread(overhead.beside_guest, self._running.pid, blocks))
        await asyncio.sleep(OVERHEAD_S)

    # ---- doing

    async def _take_orders(self) -> None:
        await self._measure()  # orders wait until QEMU answers
        while True:
            order = await self._orders.get()
            if isinstance(order, SetSize):
                self._sizing.want(order)
            else:
                self._begin(self._carried_out(order))

    def _begin(self, deed: Awaitable[None]) -> None:
        task = asyncio.ensure_future(deed)
        self._deeds.add(task)
        task.add_done_callback(self._deeds.discard)

    async def _carried_out(self, order: Order) -> None:
        try:
            match order:
                case PowerDown():
                    await self._power_down()
                case MigrateTo():
                    await self._moving.send(order)
                case MigrateCancel():
                    await self._moving.cancel()
                case Listen():
                    await self._moving.listen(order.address)
                case AttachDevice():
                    await self._devices.attach(order)
        except FlexletError as error:
            self._board.update(message=str(error))

    async def _power_down(self) -> None:
        """The power button, again and again: a guest that is just booting does not hear it the first time."""
        if self._is_ending:
            return
        self._is_ending = True
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._machine.grace_s
        while self._board.report.run_state in {"Running", "Paused"} and loop.time() < deadline:
            with contextlib.suppress(HypervisorError):
                await self._hypervisor.power_down()
            await asyncio.sleep(min(PRESS_S, max(deadline - loop.time(), 0)))
        await self._cut()

    async def _cut(self) -> None:
        """QEMU ends on `quit` with its disks written; one that does not is killed."""
        with contextlib.suppress(HypervisorError, TimeoutError):
            async with asyncio.timeout(QUIT_S):
                await self._hypervisor.quit()
        await asyncio.sleep(QUIT_S)
        self._running.kill()
