"""A hypervisor without a machine, for tests and demonstrations.

It answers as QEMU 10 does and lets the same events happen in the same order (recorded in ``tests/data/qmp``); the
contract tests hold it to that. The guest in it is quick and obedient, except for the devices named in `keeps`,
which it refuses to let go, and those in `ignores`, about which it says nothing. With a simulated machine inside
(`hardware`) what is plugged here comes up there.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Final

import msgspec

from flexlet.adapters.sim.plugging import SimHardware
from flexlet.api.units import MIB
from flexlet.core.lab import devices
from flexlet.core.lab.devices import CpuSlot, Dimm, Memory, VirtioMem
from flexlet.core.lab.events import DeviceDeleted, Event, GuestAnswered, Happened, MemoryResized, ShutDown
from flexlet.core.lab.plans import Refused
from flexlet.core.lab.spec import MachineSpec
from flexlet.core.lab.unplugging import Device, Outcome, Unplugged, overdue, sign
from flexlet.errors import HypervisorError, HypervisorGone

BLOCK: Final = 2 * MIB
_PLUG, _EJECT = 1, 3
_DONE, _IN_PROGRESS, _BUSY = 0, 132, 130


class SimHypervisor:
    """`flexlet.ports.hypervisor.Hypervisor` in memory."""

    def __init__(
        self,
        spec: MachineSpec,
        keeps: Iterable[str] = (),
        ignores: Iterable[str] = (),
        hardware: SimHardware | None = None,
    ) -> None:
        spare = spec.max_memory - spec.memory
        self.keeps = set(keeps)
        self.ignores = set(ignores)
        self._spare = spare
        self._hardware = hardware
        self._blocks: dict[int, tuple[int, ...]] = {}
        self._ended = False
        self._listeners: list[asyncio.Queue[Event | None]] = []
        self._sockets = set(range(spec.cpus))
        self._slots = range(spec.max_cpus)
        self._memory = Memory(spec.memory, (), VirtioMem(0, 0, spare, BLOCK) if spare else None)

    async def cpus(self) -> tuple[CpuSlot, ...]:
        """All CPU slots, full and free, in the guest's order."""
        self._check_alive()
        return tuple(self._slot(number) for number in self._slots)

    async def memory(self) -> Memory:
        """The memory the machine has now."""
        self._check_alive()
        return self._memory

    async def plug(self, device: Device) -> None:
        """Add a device; the guest takes notice at once."""
        self._check_alive()
        if isinstance(device, CpuSlot):
            if device.socket in self._sockets:
                raise HypervisorError(f"QEMU refuses device_add: Duplicate device ID '{device.id}'")
            self._sockets.add(device.socket)
        else:
            self._check_room(device)
            self._set_dimms((*self._memory.dimms, device))
        self._appear(device)
        self._happen(_answer(device, _PLUG, _DONE, device.id))

    async def unplug(self, device: Device, patience_s: float) -> Outcome:
        """Ask the guest to let a device go; Unplugged only when it has."""
        self._check_alive()
        if not self._has(device):
            return Unplugged()
        if isinstance(device, CpuSlot) and device.socket == 0:
            return Refused("HypervisorRefused", f"QEMU keeps {device.id}: Boot CPU is unpluggable")
        if device.id in self.ignores:
            return overdue(device, patience_s)
        self._happen(_answer(device, _EJECT, _IN_PROGRESS, device.id))
        if device.id in self.keeps:
            refusal = _answer(device, _EJECT, _BUSY, device.id)
            self._happen(refusal)
            verdict = sign(device, refusal)
            return verdict if isinstance(verdict, Refused) else overdue(device, patience_s)
        self._remove(device)
        return Unplugged()

    async def ask_elastic(self, size: int) -> None:
        """Let elastic memory become that big; a guest that keeps it does not shrink."""
        self._check_alive()
        elastic = self._memory.elastic
        if elastic is None:
            raise HypervisorError("QEMU refuses qom-set: Device 'vmem0' not found")
        if size % BLOCK:
            raise HypervisorError("QEMU refuses qom-set: 'requested-size' has to be multiples of 'block-size'")
        if size > elastic.max_size:
            raise HypervisorError("QEMU refuses qom-set: 'requested-size' cannot exceed the memory backend size")
        stuck = devices.VIRTIO_MEM_ID in self.keeps and size < elastic.size
        reached = elastic.size if stuck else size
        changed = msgspec.structs.replace(elastic, requested=size, size=reached)
        self._memory = msgspec.structs.replace(self._memory, elastic=changed)
        if self._hardware is not None:
            self._hardware.memory += reached - elastic.size
        if reached != elastic.size:
            self._happen(MemoryResized("/machine/peripheral/vmem0", reached, devices.VIRTIO_MEM_ID))

    async def power_down(self) -> None:
        """Press the power button; the guest obeys."""
        self._check_alive()
        self._happen(Happened("POWERDOWN"))
        self._end(ShutDown(guest=True, reason="guest-shutdown"))

    async def quit(self) -> None:
        """End the machine at once."""
        if not self._ended:
            self._end(ShutDown(guest=False, reason="host-qmp-quit"))

    async def events(self) -> AsyncIterator[Event]:
        """What happens from the first step of the iteration on; ends when the machine does."""
        self._check_alive()
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._listeners.append(queue)
        try:
            while (event := await queue.get()) is not None:
                yield event
        finally:
            self._listeners.remove(queue)

    def _slot(self, number: int) -> CpuSlot:
        free = CpuSlot("sim-x86_64-cpu", {"socket-id": number, "core-id": 0, "thread-id": 0})
        if number not in self._sockets:
            return free
        path = f"/machine/peripheral/{free.id}" if number else "/machine/unattached/device[0]"
        return msgspec.structs.replace(free, path=path)

    def _has(self, device: Device) -> bool:
        if isinstance(device, CpuSlot):
            return device.socket in self._sockets
        return device.slot in {dimm.slot for dimm in self._memory.dimms}

    def _check_room(self, dimm: Dimm) -> None:
        if self._has(dimm):
            raise HypervisorError(f"QEMU refuses device_add: Duplicate device ID '{dimm.id}'")
        # Modules and elastic memory have an address space of the same size each.
        if sum(known.size for known in self._memory.dimms) + dimm.size > self._spare:
            raise HypervisorError("QEMU refuses device_add: not enough space")

    def _appear(self, device: Device) -> None:
        if self._hardware is None:
            return
        if isinstance(device, CpuSlot):
            self._hardware.plug_cpus([device.socket])
        else:
            self._blocks[device.slot] = self._hardware.plug_memory(device.size)

    def _disappear(self, device: Device) -> None:
        if self._hardware is None:
            return
        if isinstance(device, CpuSlot):
            self._hardware.unplug_cpus([device.socket])
        else:
            self._hardware.unplug_blocks(self._blocks.pop(device.slot))

    def _remove(self, device: Device) -> None:
        self._disappear(device)
        path = f"/machine/peripheral/{device.id}"
        if isinstance(device, CpuSlot):
            self._sockets.remove(device.socket)
            self._happen(DeviceDeleted(f"{path}/lapic"))
        else:
            self._set_dimms(tuple(dimm for dimm in self._memory.dimms if dimm.slot != device.slot))
            self._happen(DeviceDeleted(path, device.id))
        self._happen(_answer(device, _EJECT, _DONE))

    def _set_dimms(self, dimms: tuple[Dimm, ...]) -> None:
        ordered = tuple(sorted(dimms, key=lambda dimm: dimm.slot))
        self._memory = msgspec.structs.replace(self._memory, dimms=ordered)

    def _happen(self, event: Event) -> None:
        for queue in self._listeners:
            queue.put_nowait(event)

    def _end(self, event: Event) -> None:
        self._happen(event)
        self._ended = True
        for queue in self._listeners:
            queue.put_nowait(None)

    def _check_alive(self) -> None:
        if self._ended:
            raise HypervisorGone("the simulated machine has ended")


def _answer(device: Device, source: int, status: int, name: str = "") -> GuestAnswered:
    if isinstance(device, CpuSlot):
        return GuestAnswered("CPU", str(device.socket), source, status, name)
    return GuestAnswered("DIMM", str(device.slot), source, status, name)
