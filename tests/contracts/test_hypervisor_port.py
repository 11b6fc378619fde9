"""The Hypervisor port's contract: the simulated one, QEMU as recorded, and a real machine answer alike.

``tests/vm/test_hypervisor_port.py`` runs the same tests on a real one.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.adapters.qemu.qmpserver import QmpMachine, serving
from tests.core.lab.recorded import scenario

from flexlet.adapters.qemu.hypervisor import QemuHypervisor
from flexlet.adapters.qemu.monitor import Monitor
from flexlet.adapters.sim.hypervisor import SimHypervisor
from flexlet.api.units import GIB, MIB
from flexlet.core.lab import devices, plans
from flexlet.core.lab.devices import CpuSlot, Dimm
from flexlet.core.lab.events import EJECT_REQUESTS, Event, GuestAnswered, ShutDown
from flexlet.core.lab.plans import Refused
from flexlet.core.lab.spec import MachineSpec
from flexlet.core.lab.unplugging import Unplugged
from flexlet.errors import HypervisorError, HypervisorGone
from flexlet.ports.hypervisor import Hypervisor

PATIENCE_S = 120.0


@contextlib.asynccontextmanager
async def recorded(machine: QmpMachine, folder: Path) -> AsyncIterator[Hypervisor]:
    path = folder / "qmp.sock"
    async with serving(machine, path), QemuHypervisor(Monitor(path)) as running:
        yield running


@pytest_asyncio.fixture(params=["sim", "qmp"])
async def hypervisor(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Hypervisor]:
    """A machine with 2 of 8 CPUs and 2 of 16 GiB; the real one is in ``tests/vm``."""
    if request.param == "sim":
        yield SimHypervisor(MachineSpec("sim"))
        return
    async with recorded(QmpMachine(), tmp_path) as running:
        yield running


async def free_slot(hypervisor: Hypervisor) -> CpuSlot:
    plan = plans.cpus_to_plug(await hypervisor.cpus(), 1)
    assert isinstance(plan, tuple)
    return plan[0]


async def sockets(hypervisor: Hypervisor) -> list[int]:
    return [slot.socket for slot in devices.present(await hypervisor.cpus())]


@contextlib.asynccontextmanager
async def listening(hypervisor: Hypervisor, count: int) -> AsyncIterator[list[Event]]:
    """The next events of an unplug; the block causes it, and its end waits for them.

    The guest may still be talking about what was plugged before.
    """
    heard: list[Event] = []

    async def listen() -> None:
        async for event in hypervisor.events():
            if not isinstance(event, GuestAnswered) or event.source in EJECT_REQUESTS:
                heard.append(event)
            if len(heard) == count:
                return

    task = asyncio.create_task(listen())
    await asyncio.sleep(0.1)
    yield heard
    async with asyncio.timeout(PATIENCE_S):
        await task


async def test_all_slots_are_there_and_the_first_ones_are_full(hypervisor: Hypervisor) -> None:
    slots = await hypervisor.cpus()
    assert [slot.socket for slot in slots] == list(range(8))
    assert await sockets(hypervisor) == [0, 1]


async def test_memory_is_what_the_machine_was_made_with(hypervisor: Hypervisor) -> None:
    memory = await hypervisor.memory()
    assert (memory.base, memory.dimms, memory.present, memory.limit) == (2 * GIB, (), 2 * GIB, 16 * GIB)


async def test_a_cpu_goes_in_and_out_and_in_again(hypervisor: Hypervisor) -> None:
    for _ in range(2):
        slot = await free_slot(hypervisor)
        await hypervisor.plug(slot)
        assert await sockets(hypervisor) == [0, 1, 2]
        plugged = devices.present(await hypervisor.cpus())[-1]
        assert await hypervisor.unplug(plugged, PATIENCE_S) == Unplugged()
        assert await sockets(hypervisor) == [0, 1]


async def test_a_cpu_of_the_start_goes_out_like_any_other(hypervisor: Hypervisor) -> None:
    first = devices.present(await hypervisor.cpus())[1]
    assert await hypervisor.unplug(first, PATIENCE_S) == Unplugged()
    assert await sockets(hypervisor) == [0]
    await hypervisor.plug(await free_slot(hypervisor))
    assert await sockets(hypervisor) == [0, 1]


async def test_the_boot_cpu_stays(hypervisor: Hypervisor) -> None:
    boot = devices.present(await hypervisor.cpus())[0]
    assert await hypervisor.unplug(boot, PATIENCE_S) == Refused(
        "HypervisorRefused", "QEMU keeps vcpu-0-0-0: Boot CPU is unpluggable"
    )


async def test_nothing_is_plugged_twice(hypervisor: Hypervisor) -> None:
    """Ids follow from places: what is repeated after a broken connection fails instead of doubling."""
    slot = await free_slot(hypervisor)
    await hypervisor.plug(slot)
    with pytest.raises(HypervisorError, match="Duplicate device ID 'vcpu-2-0-0'"):
        await hypervisor.plug(slot)
    await hypervisor.plug(Dimm(0, 128 * MIB))
    with pytest.raises(HypervisorError):
        await hypervisor.plug(Dimm(0, 128 * MIB))
    assert await sockets(hypervisor) == [0, 1, 2]
    assert (await hypervisor.memory()).dimms == (Dimm(0, 128 * MIB),)


async def test_what_is_gone_already_is_gone(hypervisor: Hypervisor) -> None:
    slot = (await hypervisor.cpus())[7]
    assert await hypervisor.unplug(slot, PATIENCE_S) == Unplugged()
    assert await hypervisor.unplug(Dimm(9, GIB), PATIENCE_S) == Unplugged()


async def test_modules_go_in_and_out(hypervisor: Hypervisor) -> None:
    await hypervisor.plug(Dimm(3, 256 * MIB))
    await hypervisor.plug(Dimm(0, 128 * MIB))
    memory = await hypervisor.memory()
    assert memory.dimms == (Dimm(0, 128 * MIB), Dimm(3, 256 * MIB))
    assert memory.present == 2 * GIB + 384 * MIB
    assert await hypervisor.unplug(Dimm(3, 256 * MIB), PATIENCE_S) == Unplugged()
    await hypervisor.plug(Dimm(3, 128 * MIB))
    assert (await hypervisor.memory()).dimms == (Dimm(0, 128 * MIB), Dimm(3, 128 * MIB))


async def test_a_module_that_does_not_fit_leaves_nothing(hypervisor: Hypervisor) -> None:
    with pytest.raises(HypervisorError, match="QEMU refuses"):
        await hypervisor.plug(Dimm(0, 15 * GIB))
    await hypervisor.plug(Dimm(0, 128 * MIB))
    assert (await hypervisor.memory()).dimms == (Dimm(0, 128 * MIB),)


async def test_elastic_memory_takes_whole_blocks_up_to_its_size(hypervisor: Hypervisor) -> None:
    with pytest.raises(HypervisorError, match="has to be multiples"):
        await hypervisor.ask_elastic(MIB)
    with pytest.raises(HypervisorError, match="cannot exceed"):
        await hypervisor.ask_elastic(15 * GIB)
    await hypervisor.ask_elastic(256 * MIB)
    elastic = (await hypervisor.memory()).elastic
    assert elastic is not None
    assert (elastic.requested, elastic.max_size, elastic.block_size) == (256 * MIB, 14 * GIB, 2 * MIB)
    await hypervisor.ask_elastic(0)


async def test_an_unplug_is_told_as_it_was_recorded(hypervisor: Hypervisor) -> None:
    """A CPU says _OST in progress, half a deletion, _OST done; a module its whole deletion in between."""
    for number in (2, 3):
        await hypervisor.plug((await hypervisor.cpus())[number])
    async with listening(hypervisor, 3) as heard:
        await hypervisor.unplug((await hypervisor.cpus())[3], PATIENCE_S)
    assert heard == scenario("cpu-goes")
    await hypervisor.plug(Dimm(0, 128 * MIB))
    async with listening(hypervisor, 3) as heard:
        await hypervisor.unplug(Dimm(0, 128 * MIB), PATIENCE_S)
    assert heard == scenario("dimm-goes")


@pytest_asyncio.fixture(params=["sim", "qmp"])
async def stubborn(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Hypervisor]:
    """A machine whose guest keeps CPU 1, a module and its elastic memory, and does not answer about module 1."""
    keeps, ignores = {"vcpu-1-0-0", "dimm0", "vmem0"}, {"dimm1"}
    if request.param == "sim":
        yield SimHypervisor(MachineSpec("sim"), keeps, ignores)
        return
    machine = QmpMachine()
    machine.keeps, machine.ignores = keeps, ignores
    async with recorded(machine, tmp_path) as running:
        yield running


async def test_a_refusal_is_a_value_and_changes_nothing(stubborn: Hypervisor) -> None:
    slot = (await stubborn.cpus())[1]
    assert await stubborn.unplug(slot, PATIENCE_S) == Refused(
        "GuestRefused", "the guest keeps vcpu-1-0-0: the device is busy (ACPI status 130)"
    )
    await stubborn.plug(Dimm(0, GIB))
    assert await stubborn.unplug(Dimm(0, GIB), PATIENCE_S) == Refused(
        "GuestRefused", "the guest keeps dimm0: the device is busy (ACPI status 130)"
    )
    assert await sockets(stubborn) == [0, 1]
    assert (await stubborn.memory()).dimms == (Dimm(0, GIB),)


async def test_silence_is_a_refusal_too(stubborn: Hypervisor) -> None:
    """However often it is asked."""
    await stubborn.plug(Dimm(1, GIB))
    for _ in range(2):
        assert await stubborn.unplug(Dimm(1, GIB), 0.2) == Refused(
            "TimedOut", "the guest has not let dimm1 go within 0.2 s; it was asked and may still do so later"
        )
    assert (await stubborn.memory()).dimms == (Dimm(1, GIB),)


async def test_elastic_memory_that_is_kept_shows_as_such(stubborn: Hypervisor) -> None:
    await stubborn.ask_elastic(GIB)
    await stubborn.ask_elastic(0)
    elastic = (await stubborn.memory()).elastic
    assert elastic is not None
    assert (elastic.requested, elastic.size) == (0, GIB)


@pytest.mark.parametrize("deed", ["quit", "power_down"])
async def test_events_end_with_the_machine(stubborn: Hypervisor, deed: str) -> None:
    heard: list[Event] = []

    async def listen() -> None:
        heard.extend([event async for event in stubborn.events()])

    task = asyncio.create_task(listen())
    await asyncio.sleep(0.1)
    await getattr(stubborn, deed)()
    async with asyncio.timeout(10):
        await task
    pulled = [ShutDown(guest=False, reason="host-qmp-quit")]
    assert heard == (scenario("ends") if deed == "power_down" else pulled)


async def test_a_machine_that_has_ended_is_gone() -> None:
    hypervisor = SimHypervisor(MachineSpec("sim"))
    await hypervisor.quit()
    with pytest.raises(HypervisorGone):
        await hypervisor.cpus()
    await hypervisor.quit()
