"""The lab's wiring, with a pretended QEMU and no images."""

import asyncio
import tarfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.adapters.qemu.fakes import IMAGES, fake_qemu

from flexlet.adapters.qemu import processes
from flexlet.adapters.qemu.binary import Qemu
from flexlet.adapters.qemu.directory import MachineDirectory, place
from flexlet.apps import lab
from flexlet.apps.lab import booting, machines, parts
from flexlet.apps.lab.parts import Parts
from flexlet.core.lab.devices import Dimm
from flexlet.core.lab.spec import Inventory, MachineSpec
from flexlet.errors import ConfigError, HypervisorError

SPEC = MachineSpec("n1")
READY = "flexlet-guest: ready\n"


def silent(text: str) -> None:
    del text


@pytest.fixture
def qemu(tmp_path: Path) -> Qemu:
    """A QEMU whose guest is up at once, and a qemu-img that remembers the base of a disk."""
    made = fake_qemu(tmp_path)
    text = made.system.read_text().replace(
        "PYTHONPATH",
        'for d in "$@"; do case "$d" in file,id=console*) '
        'p="${d#*path=}"; echo "flexlet-guest: ready" > "${p%%,*}";; esac; done\nPYTHONPATH',
    )
    made.system.write_text(text)
    made.image.write_text(
        '#!/bin/sh\nfor last; do :; done\ncase "$1" in\n'
        'create) echo "{\\"full-backing-filename\\": \\"$8\\"}" > "$last";;\ninfo) cat "$last";;\nesac\n'
    )
    made.image.chmod(0o755)
    return made


@pytest.fixture(autouse=True)
def shared(qemu: Qemu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Parts]:
    """No image is built; everything else is real."""
    made = Parts(qemu, "tcg", IMAGES, tmp_path / "rootfs.img")

    async def gather(cache: Path, progress: parts.Progress, *, has_vms: bool) -> Parts:
        del cache, progress, has_vms
        return made

    monkeypatch.setattr(parts, "gather", gather)
    yield made
    process = processes.find(place(tmp_path, "n1").file("pid"))
    if process:
        with process:
            process.kill()


def files(machine: MachineDirectory) -> list[str]:
    return sorted(path.name for path in machine.path.iterdir())


async def test_a_machine_runs_as_long_as_its_block(tmp_path: Path) -> None:
    """Then it is off, its data is kept, and nothing of the run is left."""
    said: list[str] = []
    async with lab.running(
        SPEC, {"node.env": b"NODE_NAME=n1\n"}, {8080: 80}, said.append, data=tmp_path
    ) as machine:
        assert (machine.name, machine.accelerator) == ("n1", "tcg")
        assert len(await machine.hypervisor.cpus()) == 8
        assert machine.console.read_text() == READY
    assert said == [
        "starting machine n1, emulated by TCG, for KVM does not work here",
        "machine n1 is up after 0 s",
    ]
    assert files(machine.directory) == ["config.tar", "console.log", "overlay.qcow2", "qemu.log", "spec.json"]
    with tarfile.open(machine.directory.file("config.tar")) as archive:
        assert [(entry.name, entry.mode, entry.size) for entry in archive] == [("node.env", 0o600, 13)]


async def test_what_was_plugged_is_there_at_the_next_start(tmp_path: Path) -> None:
    async with lab.running(SPEC, {}, {}, silent, data=tmp_path) as machine:
        await machine.hypervisor.plug(Dimm(0, 1 << 30))
    kept = Inventory((0, 1), {0: 1 << 30})
    assert machine.directory.load().inventory == kept
    async with lab.running(SPEC, {}, {9090: 90}, silent, data=tmp_path) as machine:
        record = machine.directory.load()
    assert (record.inventory, record.forwards) == (kept, {9090: 90})


async def test_another_size_is_another_machine(tmp_path: Path) -> None:
    async with lab.running(SPEC, {}, {}, silent, data=tmp_path) as machine:
        await machine.hypervisor.plug(Dimm(0, 1 << 30))
    bigger = msgspec.structs.replace(SPEC, max_cpus=4)
    async with lab.running(bigger, {}, {}, silent, data=tmp_path) as machine:
        assert machine.directory.load().spec == bigger
        assert machine.directory.load().inventory == Inventory((0, 1))


async def test_another_image_means_another_disk(
    tmp_path: Path, shared: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with lab.running(SPEC, {}, {}, silent, data=tmp_path) as machine:
        before = machine.directory.file("overlay.qcow2").read_text()

    async def gather(cache: Path, progress: parts.Progress, *, has_vms: bool) -> Parts:
        del cache, progress, has_vms
        return msgspec.structs.replace(shared, rootfs=tmp_path / "new.img")

    monkeypatch.setattr(parts, "gather", gather)
    said: list[str] = []
    async with lab.running(SPEC, {}, {}, said.append, data=tmp_path) as machine:
        assert machine.directory.file("overlay.qcow2").read_text() != before
    assert said[0] == "machine n1 gets a new disk: the image has changed"


async def test_one_that_was_left_running_is_ended_first(tmp_path: Path) -> None:
    await machines.create(tmp_path, SPEC, {}, {}, silent)
    left = processes.running([place(tmp_path, "n1").file("pid")])
    said: list[str] = []
    async with lab.running(SPEC, {}, {}, said.append, data=tmp_path) as machine:
        assert processes.running([machine.directory.file("pid")]) != left
    assert said[0] == "ending machine n1, which was left running"


async def test_the_end_of_the_machine_is_noticed(tmp_path: Path) -> None:
    async with lab.running(SPEC, {}, {}, silent, data=tmp_path) as machine:
        ended = asyncio.create_task(machine.ended())
        await machine.hypervisor.quit()
        async with asyncio.timeout(20):
            await ended
        assert await machine.stop() is True
        await machine.ended()


async def test_a_block_that_fails_ends_the_machine_too(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        async with lab.running(SPEC, {}, {}, silent, data=tmp_path) as machine:
            raise RuntimeError
    assert processes.find(machine.directory.file("pid")) is None


async def test_a_guest_that_does_not_come_up_is_told_with_its_console(tmp_path: Path) -> None:
    async with lab.running(SPEC, {}, {}, silent, data=tmp_path) as machine:
        machine.console.write_text("one\nKernel panic - not syncing\n")
        with pytest.raises(
            HypervisorError, match=r"not booted within 0 s; its console ends:\n  one\n  Kernel panic"
        ):
            await booting.ready(machine.directory, 0)
    with pytest.raises(HypervisorError, match="machine n1 has ended while it booted:\n  one\n  Kernel panic"):
        await booting.ready(machine.directory)


async def test_a_machine_is_made_started_and_deleted_by_commands(tmp_path: Path) -> None:
    await machines.create(tmp_path, SPEC, {}, {}, silent)
    with pytest.raises(ConfigError, match="there is a machine n1 already"):
        await machines.create(tmp_path, SPEC, {}, {}, silent)
    with pytest.raises(ConfigError, match="machine n1 runs already"):
        await machines.start(tmp_path, "n1", silent)
    assert await machines.stop(tmp_path, "n1") is True
    await machines.start(tmp_path, "n1", silent)
    assert [machine.state for machine in machines.listed(tmp_path)] == ["Running"]
    await machines.delete(tmp_path, "n1")
    assert list((tmp_path / "machines").iterdir()) == []


async def test_a_machine_that_does_not_start_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_QEMU", "broken")
    with pytest.raises(HypervisorError, match="machine n1 does not start"):
        await machines.create(tmp_path, SPEC, {}, {}, silent)
    assert list((tmp_path / "machines").iterdir()) == []
