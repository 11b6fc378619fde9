"""Recorded lives of devices: what proves an unplug, and what refuses it."""

from typing import Any

import pytest
from tests.core.lab.recorded import scenario

from flexlet.core.lab import events
from flexlet.core.lab.devices import CpuSlot, Dimm
from flexlet.core.lab.events import (
    DeviceDeleted,
    GuestAnswered,
    Happened,
    MemoryResized,
    ShutDown,
    UnplugRefused,
)
from flexlet.core.lab.plans import Refused
from flexlet.core.lab.unplugging import Device, Unplugged, overdue, sign


def cpu(socket: int) -> CpuSlot:
    return CpuSlot("cpu", {"socket-id": socket}, f"/machine/peripheral/vcpu-{socket}-0-0")


def test_a_cpu_that_goes_says_so_only_by_half() -> None:
    """Its interrupt controller is deleted and the guest is content; only a look into the slot proves it."""
    assert [sign(cpu(3), event) for event in scenario("cpu-goes")] == ["wait", "look", "look"]


def test_a_module_that_goes_is_proven_by_its_deletion() -> None:
    assert [sign(Dimm(0, 1), event) for event in scenario("dimm-goes")] == ["wait", Unplugged(), "look"]


@pytest.mark.parametrize(("name", "device"), [("cpu-stays", cpu(1)), ("dimm-stays", Dimm(1, 1))])
def test_a_busy_device_is_a_refusal(name: str, device: Device) -> None:
    refused = Refused("GuestRefused", f"the guest keeps {device.id}: the device is busy (ACPI status 130)")
    assert [sign(device, event) for event in scenario(name)] == ["wait", refused]


@pytest.mark.parametrize("name", ["cpu-goes", "cpu-stays", "dimm-goes", "dimm-stays", "elastic-shrinks", "ends"])
@pytest.mark.parametrize("device", [cpu(7), Dimm(7, 1)])
def test_what_happens_to_others_means_nothing(name: str, device: Device) -> None:
    assert {sign(device, event) for event in scenario(name)} == {"wait"}


@pytest.mark.parametrize(("name", "device"), [("cpu-comes", cpu(2)), ("dimm-comes", Dimm(0, 1))])
def test_the_answer_to_a_plug_is_none_to_an_unplug(name: str, device: Device) -> None:
    assert [sign(device, event) for event in scenario(name)] == ["wait"]


def test_a_guest_error_is_a_refusal() -> None:
    """As QEMU says it for devices that have no ACPI slot."""
    refused = Refused("GuestRefused", "the guest refuses to let dimm0 go")
    assert sign(Dimm(0, 1), UnplugRefused("/machine/peripheral/dimm0", "dimm0")) == refused
    assert sign(cpu(3), UnplugRefused("/machine/peripheral/vcpu-3-0-0")) == Refused(
        "GuestRefused", "the guest refuses to let vcpu-3-0-0 go"
    )


@pytest.mark.parametrize(("status", "text"), [(0x81, "in use"), (0x83, "depends"), (77, "no reason")])
def test_every_other_status_is_a_refusal(status: int, text: str) -> None:
    answer = sign(Dimm(0, 1), GuestAnswered("DIMM", "0", 3, status))
    assert isinstance(answer, Refused)
    assert text in answer.message


def test_a_cpu_of_the_boot_is_known_by_its_path() -> None:
    """CPU 10 is not CPU 1, though its path begins alike."""
    boot = CpuSlot("cpu", {"socket-id": 1}, "/machine/unattached/device[2]")
    assert sign(boot, DeviceDeleted("/machine/unattached/device[2]/lapic")) == "look"
    assert sign(boot, DeviceDeleted("/machine/unattached/device[20]/lapic")) == "wait"


def test_silence_is_no_success() -> None:
    assert overdue(Dimm(0, 1), 30.0) == Refused(
        "TimedOut", "the guest has not let dimm0 go within 30 s; it was asked and may still do so later"
    )


def test_events_become_values() -> None:
    assert scenario("elastic-shrinks")[-1] == MemoryResized("/machine/peripheral/vmem0", 0, "vmem0")
    assert scenario("ends") == [Happened("POWERDOWN"), ShutDown(guest=True, reason="guest-shutdown")]


@pytest.mark.parametrize("message", [{}, {"event": "ACPI_DEVICE_OST"}, {"event": "DEVICE_DELETED", "data": None}])
def test_an_event_without_its_data_is_still_a_value(message: dict[str, Any]) -> None:
    assert sign(Dimm(0, 1), events.parse(message)) == "wait"
