import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import pytest

from flexlet.adapters.sim.hardware import BLOCK
from flexlet.adapters.sim.hypervisor import SimHypervisor
from flexlet.adapters.sim.machine import Machine as Cgroups
from flexlet.adapters.sim.plugging import SimHardware
from flexlet.api.cpuset import CpuSet
from flexlet.api.units import GIB, MIB
from flexlet.core.lab.devices import Dimm
from flexlet.core.lab.spec import MachineSpec
from flexlet.core.machine import discovery, sources, udev
from flexlet.core.machine.machine import HalfPlugged, Machine
from flexlet.core.machine.parts import Kind, Part
from flexlet.errors import InputError
from flexlet.ports.uevents import Overrun, Uevent


async def look(hardware: SimHardware) -> Machine:
    return discovery.machine(await hardware.read(sources.EVERYTHING, ["/"]), "/")


async def said(hardware: SimHardware, story: Callable[[], object]) -> list[str]:
    """What the kernel says while something happens: ``add cpu4``."""
    heard: list[str] = []

    async def listen(events: AsyncIterator[Uevent | Overrun]) -> None:
        async for event in events:
            name = event.devpath.rpartition("/")[2] if isinstance(event, Uevent) else ""
            heard.append(f"{event.action} {name}" if isinstance(event, Uevent) else "overrun")

    task = asyncio.create_task(listen(hardware.events()))
    await asyncio.sleep(0)
    story()
    for _ in range(3):
        await asyncio.sleep(0)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    return heard


async def test_it_looks_like_a_host() -> None:
    hardware = SimHardware("0-3", 2 * GIB, numa=("0-1", "2-3"), swap=GIB, cores=2)
    found = await look(hardware)
    assert [(cpu.id, cpu.core, cpu.numa) for cpu in found.cpus] == [(0, 0, 0), (1, 1, 0), (2, 2, 1), (3, 3, 1)]
    assert [(node.id, node.memory, node.distances) for node in found.numa] == [
        (0, GIB, {0: 10, 1: 20}),
        (1, GIB, {0: 20, 1: 10}),
    ]
    assert (found.memory, found.swap, found.blocks, found.block_size) == (2 * GIB, GIB, tuple(range(16)), BLOCK)
    assert udev.onlines(await hardware.read(udev.RULES)) == {"cpu"}


@pytest.mark.parametrize(
    ("auto_online", "rules", "events", "half"),
    [
        ("online", ("cpu",), ["add cpu2", "online cpu2", "add memory8", "online memory8"], HalfPlugged()),
        (
            "offline",
            ("memory",),
            ["add cpu2", "add memory8", "online memory8"],
            HalfPlugged(offline_cpus=CpuSet((2,))),
        ),
        ("offline", (), ["add cpu2", "add memory8"], HalfPlugged(offline_cpus=CpuSet((2,)), offline_blocks=(8,))),
    ],
)
async def test_plugging_says_what_a_kernel_says(
    auto_online: str, rules: tuple[Kind, ...], events: list[str], half: HalfPlugged
) -> None:
    hardware = SimHardware("0-1", GIB, auto_online=auto_online, udev=rules)
    assert await said(hardware, lambda: (hardware.plug_cpus(1), hardware.plug_memory(BLOCK))) == events
    found = await look(hardware)
    assert found.half_plugged == half
    assert found.memory == GIB + (BLOCK if not half.offline_blocks else 0)


async def test_unplugging_says_what_a_kernel_says() -> None:
    hardware = SimHardware("0-1", GIB)
    assert await said(hardware, lambda: (hardware.unplug_cpus(2), hardware.unplug_memory(BLOCK))) == [
        "offline cpu1",
        "remove cpu1",
        "offline memory7",
        "remove memory7",
    ]
    assert (hardware.cpus, hardware.memory) == ("0", GIB - BLOCK)


async def test_some_changes_are_silent() -> None:
    """Elastic memory, balloons, huge pages and swap send no events."""
    hardware = SimHardware("0-1", GIB)

    def story() -> None:
        hardware.set_memory(GIB + MIB)
        hardware.set_hugepages(2 * MIB, 3, in_use=5)
        hardware.swapon(GIB)

    assert await said(hardware, story) == []
    found = await look(hardware)
    assert (found.memory, found.hugepages, found.swap) == (GIB + MIB, {2 * MIB: 3, GIB: 0}, GIB)


async def test_movable_blocks_are_counted() -> None:
    hardware = SimHardware("0-1", GIB, auto_online="offline")
    (block,) = hardware.plug_memory(BLOCK)
    assert await hardware.online(Part("memory", block), "online_movable") is None
    assert (await look(hardware)).movable == BLOCK


async def test_cgroups_follow() -> None:
    hardware = SimHardware("0-1", GIB)
    hardware.machine = Cgroups(memory_total=GIB)
    hardware.plug_cpus(2)
    hardware.plug_node(1, GIB)
    assert (hardware.machine.cpus, hardware.machine.mems, hardware.machine.memory_total) == ("0-3", "0-1", 2 * GIB)


async def test_bad_stories_are_refused() -> None:
    hardware = SimHardware("0-1", GIB)
    with pytest.raises(InputError, match="blocks have 134217728"):
        hardware.plug_memory(MIB)
    with pytest.raises(InputError, match="cannot plug CPU 1: it is there already"):
        hardware.plug_cpus([1])


async def test_a_hypervisor_plugs_the_machine_inside() -> None:
    hardware = SimHardware("0-1", 2 * GIB)
    hypervisor = SimHypervisor(MachineSpec("m"), hardware=hardware)
    slot, dimm = (await hypervisor.cpus())[2], Dimm(0, GIB)
    await hypervisor.plug(slot)
    await hypervisor.plug(dimm)
    await hypervisor.ask_elastic(512 * MIB)
    assert (hardware.cpus, hardware.memory) == ("0-2", 3 * GIB + 512 * MIB)
    await hypervisor.unplug(slot, 1)
    await hypervisor.unplug(dimm, 1)
    assert (hardware.cpus, hardware.memory) == ("0-1", 2 * GIB + 512 * MIB)
