"""What QMP's queries answer, as values.

QEMU lists CPU slots in descending order and leaves ``qom-path`` out where no CPU sits. Fields that flexlet does
not use are ignored; a field that is missing is a HypervisorError, for then this is not the QEMU we know.
"""

from typing import Any, Final

import msgspec

from flexlet.core.lab.devices import CpuSlot, Dimm, Memory, VirtioMem
from flexlet.errors import HypervisorError


class _Slot(msgspec.Struct, rename="kebab"):
    type: str
    props: dict[str, int]
    qom_path: str = ""


class _Summary(msgspec.Struct, rename="kebab"):
    base_memory: int


class _Kvm(msgspec.Struct):
    enabled: bool


class _Device(msgspec.Struct, rename="kebab"):
    size: int
    slot: int = 0
    requested_size: int = 0
    max_size: int = 0
    block_size: int = 0


class _MemoryDevice(msgspec.Struct):
    type: str
    data: _Device


_DIMM: Final = "dimm"
_VIRTIO_MEM: Final = "virtio-mem"


def cpu_slots(answer: object) -> tuple[CpuSlot, ...]:
    """The slots of ``query-hotpluggable-cpus``, in the guest's order."""
    slots = _read("query-hotpluggable-cpus", answer, list[_Slot])
    return tuple(
        sorted((CpuSlot(slot.type, slot.props, slot.qom_path) for slot in slots), key=lambda slot: slot.place)
    )


def memory(summary: object, devices: object) -> Memory:
    """The memory from ``query-memory-size-summary`` and ``query-memory-devices``."""
    base = _read("query-memory-size-summary", summary, _Summary).base_memory
    found = _read("query-memory-devices", devices, list[_MemoryDevice])
    dimms = sorted((device.data.slot, device.data.size) for device in found if device.type == _DIMM)
    elastic = [device.data for device in found if device.type == _VIRTIO_MEM]
    return Memory(base, tuple(Dimm(*dimm) for dimm in dimms), _virtio_mem(elastic[0]) if elastic else None)


def has_kvm(answer: object) -> bool:
    """Whether ``query-kvm`` says that the machine's CPUs are real ones."""
    found: _Kvm = _read("query-kvm", answer, _Kvm)
    return found.enabled


def _virtio_mem(data: _Device) -> VirtioMem:
    return VirtioMem(data.requested_size, data.size, data.max_size, data.block_size)


def _read(command: str, answer: object, kind: Any) -> Any:
    try:
        return msgspec.convert(answer, kind)
    except msgspec.ValidationError as error:
        raise HypervisorError(f"cannot read the answer of {command}: {error}") from error
