"""Lives of machines: made, booted, deleted, killed; nothing of them is left.

``FLEXLET_ROUNDS`` says how many rounds of making and deleting to run; a few are enough to see that they do not
add up to anything.
"""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from flexlet.adapters.qemu import processes
from flexlet.adapters.qemu.directory import place
from flexlet.apps import lab
from flexlet.core.lab.spec import MachineSpec

ROUNDS = int(os.environ.get("FLEXLET_ROUNDS", "2"))
pytestmark = [pytest.mark.vm, pytest.mark.timeout(300 * (ROUNDS + 1))]
SMALL = MachineSpec("small", cpus=1, max_cpus=2, memory=512 << 20, max_memory=1 << 30)


def flexlet(data: Path, verb: str, *words: str) -> str:
    line = [sys.executable, "-m", "flexlet", "lab", verb, "--data", str(data), *words]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout


def leftovers(data: Path) -> list[str]:
    """Everything below the data directory, and every process that mentions it."""
    mentioned = [
        path.parent.name
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if path.parent.name != str(os.getpid()) and os.fsencode(data) in _read(path)
    ]
    return [*map(str, data.rglob("*")), *mentioned]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_rounds_of_making_and_deleting_leave_nothing(tmp_path: Path) -> None:
    """No process, no socket, no disk; neither after a clean stop nor after a delete in full swing."""
    machines = str(tmp_path / "machines")
    size = ("--cpus", "1", "--max-cpus", "2", "--memory", "512Mi", "--max-memory", "1Gi")
    for number in range(ROUNDS):
        flexlet(tmp_path, "create", "n1", *size)
        assert flexlet(tmp_path, "exec", "n1", "--", "cat", "/proc/sys/kernel/hostname") == "n1\n"
        if number % 2:
            flexlet(tmp_path, "stop", "n1")
        flexlet(tmp_path, "delete", "n1")
        assert leftovers(tmp_path) == [machines]


OWNER = """
import asyncio, pathlib, sys
from flexlet.apps import lab
from flexlet.core.lab.devices import Dimm
from flexlet.core.lab.spec import MachineSpec

async def main():
    spec = MachineSpec("small", cpus=1, max_cpus=2, memory=512 << 20, max_memory=1 << 30)
    data = pathlib.Path(sys.argv[1])
    async with lab.running(spec, {"hello": b"world"}, {}, lambda text: None, data=data) as machine:
        await machine.hypervisor.plug((await machine.hypervisor.cpus())[1])
        await machine.hypervisor.plug(Dimm(0, 256 << 20))
        await machine.guest.write_file("/root/kept", await machine.guest.read_file("/etc/flexlet/hello"))
        await machine.guest.run(["sync"])
        print("up", flush=True)
        await asyncio.sleep(1000)

asyncio.run(main())
"""


async def test_a_killed_owner_takes_its_machine_along_and_the_next_one_finds_all_of_it(tmp_path: Path) -> None:
    """Its disk, and what was plugged into it; what the guest is told is new at every start."""
    owner = await asyncio.create_subprocess_exec(sys.executable, "-c", OWNER, tmp_path, stdout=subprocess.PIPE)
    assert owner.stdout is not None
    assert await owner.stdout.readline() == b"up\n"
    process = processes.find(place(tmp_path, "small").file("pid"))
    assert process is not None
    with process:
        owner.send_signal(signal.SIGKILL)
        await owner.wait()
        assert await process.ended(30.0)
    async with lab.running(SMALL, {}, {}, lambda _: None, data=tmp_path) as machine:
        assert await machine.guest.read_file("/root/kept") == b"world"
        assert (await machine.guest.run(["ls", "/etc/flexlet"])).stdout == b""
        assert (await machine.guest.run(["nproc"])).stdout == b"2\n"
        assert (await machine.hypervisor.memory()).present == 768 << 20
        ended = asyncio.create_task(machine.ended())
        await machine.guest.start(["poweroff"])
        async with asyncio.timeout(120):
            await ended
