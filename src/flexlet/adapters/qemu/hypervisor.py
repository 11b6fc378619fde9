"""The Hypervisor port on QEMU.

What goes out of a machine is proven, not assumed (`flexlet.core.lab.unplugging`): events are listened to from
before the request, a CPU is looked up again in its slot, and at the deadline a last look decides. After each
change the inventory is handed to `note`, so that the machine is the same when it starts again. `claim` is asked
before a CPU is started and may refuse; `slots` says how many of QEMU's slots the machine may use.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Final, Self

from flexlet.adapters.qemu.monitor import Monitor, Refusal
from flexlet.core.lab import answers, devices
from flexlet.core.lab.devices import CpuSlot, Dimm, Memory
from flexlet.core.lab.events import Event
from flexlet.core.lab.plans import Refused
from flexlet.core.lab.spec import MAX_CPUS, Inventory
from flexlet.core.lab.unplugging import Device, Outcome, Unplugged, overdue, sign
from flexlet.errors import HypervisorGone

_BACKEND_TRIES: Final = 20
_BACKEND_PAUSE_S: Final = 0.1
_UNDER_WAY: Final = "already in the process of unplug"


class QemuHypervisor:
    """One machine through its monitor."""

    def __init__(
        self,
        monitor: Monitor,
        note: Callable[[Inventory], None] = lambda _: None,
        claim: Callable[[], None] = lambda: None,
        slots: Callable[[], int] = lambda: MAX_CPUS,
    ) -> None:
        self._monitor = monitor
        self._note = note
        self._claim = claim
        self._slots = slots

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._monitor.close()

    async def cpus(self) -> tuple[CpuSlot, ...]:
        """All CPU slots, full and free, in the guest's order."""
        slots = answers.cpu_slots(await self._monitor.execute("query-hotpluggable-cpus"))
        return tuple(slot for slot in slots if slot.socket < self._slots())

    async def memory(self) -> Memory:
        """The memory the machine has now."""
        summary = await self._monitor.execute("query-memory-size-summary")
        return answers.memory(summary, await self._monitor.execute("query-memory-devices"))

    async def plug(self, device: Device) -> None:
        """Add a device; the guest has yet to bring it online."""
        if isinstance(device, CpuSlot):
            self._claim()
            await self._monitor.execute("device_add", {"driver": device.type, "id": device.id, **device.props})
        else:
            await self._plug_dimm(device)
        await self.remember()

    async def unplug(self, device: Device, patience_s: float) -> Outcome:
        """Ask the guest to let a device go; Unplugged only when that is proven."""
        async with self._monitor.listening() as events:
            outcome = await self._ask_to_go(device)
            if outcome is None:
                outcome = await self._await_outcome(device, events, patience_s)
        if outcome == Unplugged():
            if isinstance(device, Dimm) and not await self._is_emulated():
                await self._drop_backend(device)
            await self.remember()
        return outcome

    async def ask_elastic(self, size: int) -> None:
        """Let elastic memory become that big; the guest follows in its own time, or partly."""
        await self._monitor.execute(
            "qom-set", {"path": devices.VIRTIO_MEM_ID, "property": "requested-size", "value": size}
        )
        await self.remember()

    async def power_down(self) -> None:
        """Press the power button."""
        await self._monitor.execute("system_powerdown")

    async def quit(self) -> None:
        """End the machine at once; a connection that breaks on that is what was wanted."""
        with contextlib.suppress(HypervisorGone):
            await self._monitor.execute("quit")

    async def events(self) -> AsyncIterator[Event]:
        """What happens from the first step of the iteration on; ends when the machine does."""
        async with self._monitor.listening() as events:
            async for event in events:
                yield event

    async def _plug_dimm(self, dimm: Dimm) -> None:
        is_new = await self._add_backend(dimm)
        module = {"driver": "pc-dimm", "id": dimm.id, "memdev": dimm.backend, "slot": dimm.slot}
        try:
            await self._monitor.execute("device_add", module)
        except Refusal:
            if is_new:
                await self._monitor.execute("object-del", {"id": dimm.backend})
            raise

    async def _add_backend(self, dimm: Dimm) -> bool:
        """Whether it is new: one may be kept for this, or left by a connection that broke between two commands."""
        backend = {"qom-type": "memory-backend-ram", "id": dimm.backend, "size": dimm.size}
        try:
            await self._monitor.execute("object-add", backend)
        except Refusal as refusal:
            if "duplicate" not in refusal.description:
                raise
            return False
        return True

    async def _is_emulated(self) -> bool:
        """Whether memory that is gone must be kept for the next module.

        QEMU's emulator remembers code by where it was in memory, and forgets it when that memory is written; but
        not when it is taken out, and other memory comes in its place. Programs would then run old code.
        """
        return not answers.has_kvm(await self._monitor.execute("query-kvm"))

    async def _drop_backend(self, dimm: Dimm) -> None:
        for _ in range(_BACKEND_TRIES):
            try:
                await self._monitor.execute("object-del", {"id": dimm.backend})
            except Refusal as refusal:
                if "in use" not in refusal.description:
                    return
                await asyncio.sleep(_BACKEND_PAUSE_S)
            else:
                return

    async def _ask_to_go(self, device: Device) -> Outcome | None:
        target = device.target if isinstance(device, CpuSlot) else device.id
        try:
            await self._monitor.execute("device_del", {"id": target})
        except Refusal as refusal:
            if refusal.kind == "DeviceNotFound":
                return Unplugged()
            if _UNDER_WAY not in refusal.description:
                return Refused("HypervisorRefused", f"QEMU keeps {device.id}: {refusal.description}")
        return None

    async def _await_outcome(self, device: Device, events: AsyncIterator[Event], patience_s: float) -> Outcome:
        try:
            async with asyncio.timeout(patience_s):
                async for event in events:
                    seen = sign(device, event)
                    if isinstance(seen, Unplugged | Refused):
                        return seen
                    if seen == "look" and await self._is_gone(device):
                        return Unplugged()
        except TimeoutError:
            return Unplugged() if await self._is_gone(device) else overdue(device, patience_s)
        raise HypervisorGone(f"the connection broke while {device.id} was on its way out: query before retrying")

    async def _is_gone(self, device: Device) -> bool:
        if isinstance(device, Dimm):
            return device.slot not in {dimm.slot for dimm in (await self.memory()).dimms}
        return all(slot.place != device.place for slot in devices.present(await self.cpus()))

    async def remember(self) -> None:
        """Hand over what is plugged now; a device may have gone long after it was asked to."""
        memory = await self.memory()
        sockets = tuple(slot.socket for slot in devices.present(await self.cpus()))
        elastic = memory.elastic.requested if memory.elastic else 0
        self._note(Inventory(sockets, {dimm.slot: dimm.size for dimm in memory.dimms}, elastic))
