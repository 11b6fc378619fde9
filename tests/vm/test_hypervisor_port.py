"""The Hypervisor port's contract on a real machine; the tests themselves are in ``tests/contracts``."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.contracts.test_hypervisor_port import (
    PATIENCE_S,
    test_a_cpu_goes_in_and_out_and_in_again,
    test_a_cpu_of_the_start_goes_out_like_any_other,
    test_a_module_that_does_not_fit_leaves_nothing,
    test_all_slots_are_there_and_the_first_ones_are_full,
    test_an_unplug_is_told_as_it_was_recorded,
    test_elastic_memory_takes_whole_blocks_up_to_its_size,
    test_memory_is_what_the_machine_was_made_with,
    test_modules_go_in_and_out,
    test_nothing_is_plugged_twice,
    test_the_boot_cpu_stays,
    test_what_is_gone_already_is_gone,
)
from tests.vm.machine import Vm

from flexlet.core.lab import devices
from flexlet.core.lab.unplugging import Unplugged
from flexlet.ports.hypervisor import Hypervisor

__all__ = [
    "test_a_cpu_goes_in_and_out_and_in_again",
    "test_a_cpu_of_the_start_goes_out_like_any_other",
    "test_a_module_that_does_not_fit_leaves_nothing",
    "test_all_slots_are_there_and_the_first_ones_are_full",
    "test_an_unplug_is_told_as_it_was_recorded",
    "test_elastic_memory_takes_whole_blocks_up_to_its_size",
    "test_memory_is_what_the_machine_was_made_with",
    "test_modules_go_in_and_out",
    "test_nothing_is_plugged_twice",
    "test_the_boot_cpu_stays",
    "test_what_is_gone_already_is_gone",
]
pytestmark = [pytest.mark.vm, pytest.mark.timeout(600)]


@pytest_asyncio.fixture
async def hypervisor(vm: Vm) -> AsyncIterator[Hypervisor]:
    """The shared machine, left as it was."""
    async with vm.hypervisor() as running:
        yield running
        for slot in devices.present(await running.cpus())[2:]:
            assert await running.unplug(slot, PATIENCE_S) == Unplugged()
        for dimm in (await running.memory()).dimms:
            assert await running.unplug(dimm, PATIENCE_S) == Unplugged()
        await _elastic_memory_gone(running)
    async with vm.guest() as guest:
        await guest.run(["sh", "-c", "for cpu in /sys/devices/system/cpu/cpu*/online; do echo 1 > $cpu; done"])


async def _elastic_memory_gone(running: Hypervisor) -> None:
    """The guest takes its time with it."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            elastic = (await running.memory()).elastic
            if elastic is None or elastic.size == 0:
                return
            await asyncio.sleep(0.5)


async def test_a_cpu_can_go_in_and_out_more_often_than_there_are_slots(hypervisor: Hypervisor) -> None:
    """QEMU's emulator aborts when it has started as many CPUs as it has slots; the machine has slots to spare."""
    for _ in range(9):
        await hypervisor.plug((await hypervisor.cpus())[2])
        assert await hypervisor.unplug((await hypervisor.cpus())[2], PATIENCE_S) == Unplugged()
    assert len(devices.present(await hypervisor.cpus())) == 2
