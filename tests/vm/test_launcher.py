"""A launcher with a real QEMU and a small Linux in it: what it reports is what the guest sees."""

import re
from pathlib import Path

import msgspec
import pytest

from flexlet.api.units import GIB, MIB
from flexlet.core.vm.guest import Answer, Listen, MigrateTo, PowerDown, SetSize
from flexlet.testing import smallguest
from flexlet.testing.launching import Launched, launched
from flexlet.testing.smallguest import SmallGuest

pytestmark = [pytest.mark.vm, pytest.mark.timeout(600)]

KERNELS_OWN = 128 * MIB
"""What the kernel keeps of memory before it counts it."""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> SmallGuest:
    return smallguest.build(tmp_path_factory.mktemp("guest"), print)


def seen(it: Launched) -> tuple[int, int]:
    """CPUs and bytes as the guest last counted them."""
    counts = re.findall(r"guest: cpus (\d+) memory (\d+)\r?\n", it.console) or [("0", "0")]
    return int(counts[-1][0]), int(counts[-1][1]) * 1024


async def guest_sees(it: Launched, cpus: int, memory: int) -> None:
    """Wait until the guest counts these CPUs, and this memory less what its kernel keeps."""

    def as_wanted(_: object) -> bool:
        found = seen(it)
        return found[0] == cpus and memory - KERNELS_OWN <= found[1] <= memory

    await it.says("guest: cpus")
    await it.until(as_wanted)


@pytest.mark.parametrize("agent", [(), ("agent=1",)], ids=["by itself", "by its agent"])
async def test_a_guest_grows_and_shrinks_back(small: SmallGuest, tmp_path: Path, agent: tuple[str, ...]) -> None:
    async with launched(tmp_path, small.machine("vm", *agent)) as it:
        await guest_sees(it, 1, 512 * MIB)
        if agent:
            await it.until(lambda report: report.vcpus_online == 1)
        await it.order(SetSize("grow", 3, 1536 * MIB))
        grown = await it.settled("grow")
        assert (grown.vcpus, grown.memory, grown.requested) == (3, 1536 * MIB, 1536 * MIB)
        assert (grown.cpu, grown.ram, grown.vcpus_online) == (Answer(), Answer(), 3 if agent else None)
        await guest_sees(it, 3, 1536 * MIB)
        await it.order(SetSize("shrink", 1, 512 * MIB, 60.0))
        shrunk = await it.settled("shrink")
        assert (shrunk.vcpus, shrunk.requested, shrunk.cpu) == (1, 512 * MIB, Answer())
        # A few blocks may stay where the kernel's own pages are; whatever stays is told.
        assert shrunk.memory <= 512 * MIB + 64 * MIB
        await guest_sees(it, 1, shrunk.memory)
        await it.order(PowerDown())
        assert await it.ended() == 0
        assert "guest: power button" in it.console
        assert (it.report.run_state, it.report.exit_code) == ("Ended", 0)


async def test_memory_that_the_guest_needs_stays_and_is_told(small: SmallGuest, tmp_path: Path) -> None:
    async with launched(tmp_path, small.machine("vm", "blocks=online_kernel")) as it:
        await guest_sees(it, 1, 512 * MIB)
        await it.order(SetSize("grow", 1, 1536 * MIB))
        await it.settled("grow")
        await guest_sees(it, 1, 1536 * MIB)
        await it.type("hold 200")
        await it.says("guest: held")
        await it.order(SetSize("shrink", 1, 512 * MIB, 20.0))
        partial = await it.settled("shrink")
        assert partial.ram.progress == "Partial"
        assert 512 * MIB + 150 * MIB < partial.memory < 1536 * MIB
        assert partial.requested == 512 * MIB
        assert partial.ram.message == f"{partial.memory // MIB}Mi instead of 512Mi: the guest goes on trying"
        await guest_sees(it, 1, partial.memory)
        await it.type("release")
        await it.until(lambda report: report.memory < 512 * MIB + 100 * MIB)


async def test_a_guest_that_starts_anew_has_its_size_again(small: SmallGuest, tmp_path: Path) -> None:
    async with launched(tmp_path, small.machine("vm")) as it:
        await guest_sees(it, 1, 512 * MIB)
        await it.order(SetSize("grow", 2, GIB))
        await it.settled("grow")
        await guest_sees(it, 2, GIB)
        written = len(it.console)
        await it.type("reboot")
        await it.until(lambda report: report.resets > 0)  # Linux tries several ways, and QEMU may tell of each
        await it.says("guest: cpus", written)
        await guest_sees(it, 2, GIB)
        again = await it.settled("grow")
        assert (again.vcpus, again.memory, again.requested) == (2, GIB, GIB)


async def test_a_machine_moves_and_grows_where_it_is_then(small: SmallGuest, tmp_path: Path) -> None:
    machine = small.machine("source")
    async with launched(tmp_path, machine) as source:
        await guest_sees(source, 1, 512 * MIB)
        await source.order(SetSize("grow", 2, GIB))
        await source.settled("grow")
        await guest_sees(source, 2, GIB)
        arriving = msgspec.structs.replace(machine, name="target", incoming=True, sockets=2, memory=GIB)
        async with launched(tmp_path, arriving) as target:
            await target.until(lambda report: report.run_state == "Incoming")
            address = f"unix:{tmp_path}/move.sock"
            await target.order(Listen(address))
            await target.until(lambda report: report.message)
            await source.order(MigrateTo(address))
            moved = await source.until(lambda report: report.move.state not in {"", "Active"})
            assert (moved.move.state, moved.move.message, moved.run_state) == ("Completed", "", "Migrated")
            assert moved.move.transferred > 10 * MIB
            await target.until(lambda report: report.run_state == "Running")
            await source.order(PowerDown())
            assert await source.ended() == 0
            await guest_sees(target, 2, GIB)
            await target.order(SetSize("more", 3, 1536 * MIB))
            more = await target.settled("more")
            assert (more.vcpus, more.memory, more.cpu, more.ram) == (3, 1536 * MIB, Answer(), Answer())
            await guest_sees(target, 3, 1536 * MIB)
