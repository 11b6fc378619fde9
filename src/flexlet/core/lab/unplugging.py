"""When an unplug is proven, when it is refused, and when there is nothing to do but wait.

``device_del`` returns when the guest was asked. Then, as recorded with QEMU 10 and Linux 6.1: a DIMM that goes
says _OST 132 (in progress) and DEVICE_DELETED with its id; a busy one says _OST 130 and stays. A CPU that goes
says _OST 132, DEVICE_DELETED with the path of its interrupt controller and no id, then _OST 0. So for a CPU the
only proof is the slot's own entry in ``query-hotpluggable-cpus`` losing its path; `Look` asks for that.

A guest that says nothing has refused nothing: that is the deadline's business, and the device may still go
later.
"""

from typing import Final, Literal

import msgspec

from flexlet.core.lab.devices import CpuSlot, Dimm
from flexlet.core.lab.events import EJECT_REQUESTS, DeviceDeleted, Event, GuestAnswered, UnplugRefused
from flexlet.core.lab.plans import Refused

Device = CpuSlot | Dimm

_SUCCESS: Final = 0
_IN_PROGRESS: Final = 0x84
_STATUSES: Final = {
    1: "it failed for a reason of its own",
    2: "it does not know this request",
    0x80: "it does not support ejecting",
    0x81: "the device is in use",
    0x82: "the device is busy",
    0x83: "something that depends on it is busy",
}


class Unplugged(msgspec.Struct, frozen=True, tag=True):
    """Proven: the device is gone."""


Outcome = Unplugged | Refused
Sign = Unplugged | Refused | Literal["look", "wait"]


def sign(device: Device, event: Event) -> Sign:
    """What an event means for the unplug of a device that is under way."""
    match event:
        case DeviceDeleted() if _is_about(device, event.device, event.path):
            return "look" if isinstance(device, CpuSlot) else Unplugged()
        case UnplugRefused() if _is_about(device, event.device, event.path):
            return Refused("GuestRefused", f"the guest refuses to let {device.id} go")
        case GuestAnswered() if event.source in EJECT_REQUESTS and _is_slot_of(device, event):
            return _verdict(device, event.status)
        case _:
            return "wait"


def overdue(device: Device, patience_s: float) -> Refused:
    """The guest has not answered in time."""
    return Refused(
        "TimedOut",
        f"the guest has not let {device.id} go within {patience_s:g} s; it was asked and may still do so later",
    )


def _verdict(device: Device, status: int) -> Sign:
    if status == _IN_PROGRESS:
        return "wait"
    if status == _SUCCESS:
        return "look"
    why = _STATUSES.get(status, "it gives no reason")
    return Refused("GuestRefused", f"the guest keeps {device.id}: {why} (ACPI status {status})")


def _is_about(device: Device, name: str, path: str) -> bool:
    if name:
        return name == device.id
    mine = (device.path or f"/machine/peripheral/{device.id}") if isinstance(device, CpuSlot) else ""
    return bool(mine) and (path == mine or path.startswith(f"{mine}/"))


def _is_slot_of(device: Device, event: GuestAnswered) -> bool:
    if event.device:
        return event.device == device.id
    if isinstance(device, Dimm):
        return event.slot_type == "DIMM" and event.slot == str(device.slot)
    # QEMU counts CPU slots in the order of APIC ids. One core and one thread a socket: the slot is the socket.
    return event.slot_type == "CPU" and event.slot == str(device.socket)
