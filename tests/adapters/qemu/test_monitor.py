"""What a broken or busy connection means."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.adapters.qemu.qmpserver import QmpMachine, serving

from flexlet.adapters.qemu import monitor as monitors
from flexlet.adapters.qemu.hypervisor import QemuHypervisor
from flexlet.adapters.qemu.monitor import Monitor, Refusal
from flexlet.core.lab import devices
from flexlet.core.lab.devices import Dimm
from flexlet.core.lab.unplugging import Unplugged
from flexlet.errors import HypervisorError, HypervisorGone


@pytest_asyncio.fixture
async def machine(tmp_path: Path) -> AsyncIterator[QmpMachine]:
    pretended = QmpMachine()
    async with serving(pretended, tmp_path / "qmp.sock"):
        yield pretended


@pytest_asyncio.fixture
async def hypervisor(machine: QmpMachine, tmp_path: Path) -> AsyncIterator[QemuHypervisor]:
    del machine  # it only has to be there
    async with QemuHypervisor(Monitor(tmp_path / "qmp.sock")) as running:
        yield running


@pytest.mark.parametrize("carried_out", [True, False])
async def test_after_a_broken_connection_a_look_tells(
    hypervisor: QemuHypervisor, machine: QmpMachine, carried_out: bool
) -> None:
    """The outcome is unknown; the next command connects again and shows it."""
    machine.hang_up_on, machine.hang_up_after = "device_add", carried_out
    slot = (await hypervisor.cpus())[2]
    with pytest.raises(HypervisorGone, match="the connection broke during device_add: query before retrying"):
        await hypervisor.plug(slot)
    assert len(devices.present(await hypervisor.cpus())) == (3 if carried_out else 2)


async def test_a_module_that_came_half_way_can_be_plugged_again(
    hypervisor: QemuHypervisor, machine: QmpMachine
) -> None:
    """Its backend was made, the connection broke, and the backend is in nobody's use."""
    machine.hang_up_on, machine.hang_up_after = "object-add", True
    with pytest.raises(HypervisorGone):
        await hypervisor.plug(Dimm(0, 1 << 30))
    await hypervisor.plug(Dimm(0, 1 << 28))
    assert (await hypervisor.memory()).dimms == (Dimm(0, 1 << 28),)


async def test_no_backend_is_left_of_a_module_that_has_gone(
    hypervisor: QemuHypervisor, machine: QmpMachine
) -> None:
    await hypervisor.plug(Dimm(0, 1 << 30))
    assert await hypervisor.unplug(Dimm(0, 1 << 30), 5.0) == Unplugged()
    assert machine.backends == {}


async def test_an_emulator_keeps_the_memory_of_a_module_for_the_next(
    hypervisor: QemuHypervisor, machine: QmpMachine
) -> None:
    """In other memory at the same place it would run the code that was there before."""
    machine.kvm = False
    dimm = Dimm(0, 1 << 30)
    for _ in range(2):
        await hypervisor.plug(dimm)
        assert await hypervisor.unplug(dimm, 5.0) == Unplugged()
        assert machine.backends == {dimm.backend: dimm.size}
    await hypervisor.plug(Dimm(0, 1 << 28))
    assert (await hypervisor.memory()).dimms == (Dimm(0, 1 << 28),)


async def test_a_connection_that_breaks_during_an_unplug_leaves_it_open(
    hypervisor: QemuHypervisor, machine: QmpMachine
) -> None:
    machine.ignores = {"vcpu-1-0-0"}
    slot = (await hypervisor.cpus())[1]
    asyncio.get_running_loop().call_later(0.2, machine._clients[0].close)
    with pytest.raises(HypervisorGone, match="while vcpu-1-0-0 was on its way out: query before retrying"):
        await hypervisor.unplug(slot, 30.0)
    assert len(devices.present(await hypervisor.cpus())) == 2


async def test_a_refusal_of_qemu_carries_its_words(machine: QmpMachine, tmp_path: Path) -> None:
    del machine
    monitor = Monitor(tmp_path / "qmp.sock")
    with pytest.raises(Refusal, match="QEMU refuses device_del: Device 'x' not found") as caught:
        await monitor.execute("device_del", {"id": "x"})
    assert caught.value.kind == "DeviceNotFound"
    await monitor.close()


async def test_a_monitor_that_somebody_else_holds_is_named(
    machine: QmpMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del machine
    monkeypatch.setattr(monitors, "ANSWER_S", 0.2)
    first, second = Monitor(tmp_path / "qmp.sock"), Monitor(tmp_path / "qmp.sock")
    await first.execute("query-status")
    with pytest.raises(HypervisorError, match="or somebody else holds it"):
        await second.execute("query-status")
    await first.close()
    await second.execute("query-status")
    await second.close()


async def test_no_machine_is_gone(tmp_path: Path) -> None:
    with pytest.raises(HypervisorGone, match="cannot reach the machine"):
        await Monitor(tmp_path / "nothing.sock").execute("query-status")


async def test_an_answer_that_does_not_come_is_an_unknown_outcome(
    machine: QmpMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitor = Monitor(tmp_path / "qmp.sock")
    await monitor.execute("query-status")
    monkeypatch.setattr(monitors, "ANSWER_S", 0.2)
    monkeypatch.setattr("tests.adapters.qemu.qmpserver._send", lambda *_: None)
    with pytest.raises(HypervisorGone, match=r"no answer to query-status within 0\.2 s"):
        await monitor.execute("query-status")
    assert machine.commands[-1] == "query-status"
