"""Starting and ending machines, with a pretended QEMU: processes, sockets and files are real."""

import asyncio
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.adapters.qemu.fakes import IMAGES, ROOT, fake_qemu, new_machine

from flexlet.adapters.qemu import machine as machines
from flexlet.adapters.qemu import processes
from flexlet.adapters.qemu.binary import Qemu
from flexlet.adapters.qemu.directory import MachineDirectory
from flexlet.adapters.qemu.processes import Seen
from flexlet.core.lab import devices
from flexlet.core.lab.devices import Dimm
from flexlet.core.lab.spec import Inventory
from flexlet.errors import HypervisorError

SOCKETS = ["cli.sock", "exec-1.sock", "exec-2.sock", "exec-3.sock", "exec.sock", "qmp.sock"]


@pytest.fixture
def qemu(tmp_path: Path) -> Qemu:
    return fake_qemu(tmp_path)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[MachineDirectory]:
    made = new_machine(tmp_path)
    yield made
    process = processes.find(made.file("pid"))
    if process:
        with process:
            process.kill()


def files(machine: MachineDirectory) -> list[str]:
    return sorted(path.name for path in machine.path.iterdir())


async def start(qemu: Qemu, machine: MachineDirectory, *, owned: bool = False) -> "subprocess.Popen[bytes] | None":
    return await machines.start(qemu, machine, IMAGES, "tcg", owned=owned)


async def test_a_started_machine_is_found_by_its_directory(qemu: Qemu, machine: MachineDirectory) -> None:
    """The process table is the truth, not a file that says so."""
    await start(qemu, machine)
    seen = processes.running([machine.file("pid"), Path("/elsewhere/pid")])
    assert seen == {machine.file("pid"): Seen(int(machine.file("pid").read_text()), "tcg")}
    machine.file("pid").unlink()
    assert processes.running([machine.file("pid")]) == seen


async def test_its_sockets_are_for_its_owner_only(qemu: Qemu, machine: MachineDirectory) -> None:
    await start(qemu, machine)
    found = sorted(machine.path.glob("*.sock"))
    assert [path.name for path in found] == SOCKETS
    assert {stat.S_IMODE(path.stat().st_mode) for path in found} == {0o600}
    assert stat.S_IMODE(machine.path.stat().st_mode) == 0o700


async def test_it_ends_by_its_power_button_and_leaves_nothing(qemu: Qemu, machine: MachineDirectory) -> None:
    await start(qemu, machine)
    async with machines.hypervisor(machine) as hypervisor:
        assert await machines.stop(machine, hypervisor, 20.0) is True
    assert processes.find(machine.file("pid")) is None
    assert files(machine) == ["qemu.log", "spec.json"]


@pytest.mark.parametrize("manner", ["deaf", "hung"])
async def test_one_that_does_not_listen_is_forced(
    qemu: Qemu, machine: MachineDirectory, manner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_QEMU", manner)
    monkeypatch.setattr(machines, "QUIT_S", 1.0)
    await start(qemu, machine)
    async with machines.hypervisor(machine) as hypervisor:
        assert await machines.stop(machine, hypervisor, 0.2) is False
    assert processes.find(machine.file("pid")) is None
    assert files(machine) == ["qemu.log", "spec.json"]


async def test_it_can_be_cut_off(qemu: Qemu, machine: MachineDirectory) -> None:
    await start(qemu, machine)
    async with machines.hypervisor(machine, monitor=1) as hypervisor:
        await machines.cut(machine, hypervisor)
    assert processes.find(machine.file("pid")) is None
    assert files(machine) == ["qemu.log", "spec.json"]


async def test_stopping_what_does_not_run_is_no_fault(machine: MachineDirectory) -> None:
    async with machines.hypervisor(machine) as hypervisor:
        assert await machines.stop(machine, hypervisor, 1.0) is True


@pytest.mark.parametrize("owned", [True, False])
async def test_a_qemu_that_does_not_start_says_why(
    qemu: Qemu, machine: MachineDirectory, owned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_QEMU", "broken")
    with pytest.raises(
        HypervisorError, match="machine n1 does not start: fakeqemu: -machine q35: no such machine"
    ):
        await start(qemu, machine, owned=owned)
    assert files(machine) == ["qemu.log", "spec.json"]


async def test_what_is_plugged_is_remembered(qemu: Qemu, machine: MachineDirectory) -> None:
    await start(qemu, machine)
    async with machines.hypervisor(machine) as hypervisor:
        await hypervisor.plug((await hypervisor.cpus())[4])
        await hypervisor.plug(Dimm(2, 1 << 30))
        await hypervisor.ask_elastic(4 << 20)
        assert machine.load().inventory == Inventory((0, 1, 4), {2: 1 << 30}, 4 << 20)
        await hypervisor.unplug(Dimm(2, 1 << 30), 5.0)
        assert machine.load().inventory == Inventory((0, 1, 4), {}, 4 << 20)


async def test_the_cpu_that_would_end_an_emulator_is_refused(qemu: Qemu, machine: MachineDirectory) -> None:
    """It would take the guest with it; the count begins anew with the next start."""
    await start(qemu, machine)
    async with machines.hypervisor(machine) as hypervisor:
        await hypervisor.plug((await hypervisor.cpus())[2])
        assert machine.file("cpu-starts").read_bytes() == b"..."
        machine.file("cpu-starts").write_bytes(b"." * 255)
        with pytest.raises(HypervisorError, match="cannot start more: stop the machine and start it again"):
            await hypervisor.plug((await hypervisor.cpus())[3])
        assert len(devices.present(await hypervisor.cpus())) == 3
        await machines.stop(machine, hypervisor, 20.0)
    await start(qemu, machine)
    assert machine.file("cpu-starts").read_bytes() == b"..."


async def test_kvm_has_no_such_limit(qemu: Qemu, machine: MachineDirectory) -> None:
    await machines.start(qemu, machine, IMAGES, "kvm", owned=False)
    async with machines.hypervisor(machine) as hypervisor:
        await hypervisor.plug((await hypervisor.cpus())[2])
    assert not machine.file("cpu-starts").exists()


async def test_a_machine_uses_only_the_slots_that_are_meant_for_it(qemu: Qemu, machine: MachineDirectory) -> None:
    record = machine.load()
    machine.save(msgspec.structs.replace(record, spec=msgspec.structs.replace(record.spec, max_cpus=4)))
    await start(qemu, machine)
    async with machines.hypervisor(machine) as hypervisor:
        assert [slot.socket for slot in await hypervisor.cpus()] == [0, 1, 2, 3]


async def test_two_can_talk_to_it_at_once(qemu: Qemu, machine: MachineDirectory) -> None:
    """Whoever runs the machine keeps the first monitor; commands of a moment take the second."""
    await start(qemu, machine)
    async with machines.hypervisor(machine) as owner, machines.hypervisor(machine, monitor=1) as visitor:
        assert len(await owner.cpus()) == len(await visitor.cpus()) == 8


OWNER = """
import asyncio, pathlib, sys
from flexlet.adapters.qemu import machine
from flexlet.adapters.qemu.directory import MachineDirectory
from tests.adapters.qemu.fakes import IMAGES, fake_qemu

async def main():
    directory = MachineDirectory(pathlib.Path(sys.argv[1]))
    child = await machine.start(fake_qemu(directory.path.parent.parent), directory, IMAGES, "tcg", owned=True)
    print("started", flush=True)
    await asyncio.sleep(1000)

asyncio.run(main())
"""


def run_owner(machine: MachineDirectory, script: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", script, machine.path], cwd=ROOT, stdout=subprocess.PIPE)


async def test_an_owned_machine_ends_with_its_owner(machine: MachineDirectory) -> None:
    """However the owner ends: the kernel sees to it."""
    owner = run_owner(machine, OWNER)
    assert owner.stdout is not None
    with owner, owner.stdout:
        assert await asyncio.to_thread(owner.stdout.readline) == b"started\n"
        process = processes.find(machine.file("pid"))
        assert process is not None
        with process:
            os.kill(owner.pid, signal.SIGKILL)
            assert await process.ended(20.0)


async def test_a_machine_on_its_own_outlives_its_starter(machine: MachineDirectory) -> None:
    script = OWNER.replace("owned=True", "owned=False").replace("await asyncio.sleep(1000)", "")
    with run_owner(machine, script) as owner:
        assert await asyncio.to_thread(owner.wait) == 0
    async with machines.hypervisor(machine) as hypervisor:
        assert len(await hypervisor.cpus()) == 8
        assert await machines.stop(machine, hypervisor, 20.0) is True


async def test_an_owned_machine_is_waited_for(qemu: Qemu, machine: MachineDirectory) -> None:
    """No zombie is left."""
    child = await start(qemu, machine, owned=True)
    assert child is not None
    async with machines.hypervisor(machine) as hypervisor:
        await machines.stop(machine, hypervisor, 20.0)
    assert child.wait() == 0
