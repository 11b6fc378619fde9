"""What QEMU says unasked, as values in the past tense.

An event that flexlet does not act on is kept as `Happened` with its name, so that a listener can show all of
them. The words in `GuestAnswered` are ACPI's _OST: which request the guest talks about, and how it went.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

EJECT_REQUESTS: Final = frozenset({3, 0x103})  # asked by the machine, and started by the guest itself


class DeviceDeleted(msgspec.Struct, frozen=True, tag=True):
    """A device is gone; a CPU says so only for a part of itself, by path."""

    path: str
    device: str = ""


class UnplugRefused(msgspec.Struct, frozen=True, tag=True):
    """The guest refuses to let a device go."""

    path: str
    device: str = ""


class GuestAnswered(msgspec.Struct, frozen=True, tag=True):
    """The guest's _OST about a slot: of which kind (CPU, DIMM), in answer to what, with which status."""

    slot_type: str
    slot: str
    source: int
    status: int
    device: str = ""


class MemoryResized(msgspec.Struct, frozen=True, tag=True):
    """Elastic memory has another size now."""

    path: str
    size: int
    device: str = ""


class ShutDown(msgspec.Struct, frozen=True, tag=True):
    """The machine ends: whether the guest wanted it, and why."""

    guest: bool
    reason: str


class Happened(msgspec.Struct, frozen=True, tag=True):
    """Anything else, by its name."""

    name: str


Event = DeviceDeleted | UnplugRefused | GuestAnswered | MemoryResized | ShutDown | Happened


def parse(message: Mapping[str, Any]) -> Event:
    """The value of a QMP event."""
    name = str(message.get("event", ""))
    data = message.get("data") or {}
    device = str(data.get("device") or data.get("id") or "")
    match name:
        case "DEVICE_DELETED":
            return DeviceDeleted(str(data.get("path", "")), device)
        case "DEVICE_UNPLUG_GUEST_ERROR":
            return UnplugRefused(str(data.get("path", "")), device)
        case "ACPI_DEVICE_OST":
            return _answered(data.get("info") or {})
        case "MEMORY_DEVICE_SIZE_CHANGE":
            return MemoryResized(str(data.get("qom-path", "")), int(data.get("size", 0)), device)
        case "SHUTDOWN":
            return ShutDown(bool(data.get("guest")), str(data.get("reason", "")))
        case _:
            return Happened(name)


def _answered(info: Mapping[str, Any]) -> GuestAnswered:
    return GuestAnswered(
        slot_type=str(info.get("slot-type", "")),
        slot=str(info.get("slot", "")),
        source=int(info.get("source", 0)),
        status=int(info.get("status", 0)),
        device=str(info.get("device") or ""),
    )
