"""A machine's directory: whole or not there, for one user, for one worker at a time."""

import fcntl
import os
from pathlib import Path

import pytest
from tests.adapters.qemu.fakes import new_machine

from flexlet.adapters.qemu import directory
from flexlet.adapters.qemu.directory import MachineDirectory, machines, making, place, remove, sweep
from flexlet.core.lab.spec import MachineSpec, Record, factory
from flexlet.errors import ConfigError, HostBusy


def names(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir())


def test_a_machine_appears_whole(tmp_path: Path) -> None:
    root = tmp_path / "machines"
    with making(root, "n1") as fresh:
        assert machines(root) == []
        fresh.save(Record(MachineSpec("n1"), factory(MachineSpec("n1"))))
        assert machines(root) == []
    assert machines(root) == [MachineDirectory(root / "n1")]
    assert machines(root)[0].load() == Record(MachineSpec("n1"), factory(MachineSpec("n1")))
    assert (root / "n1").stat().st_mode & 0o777 == 0o700


def test_a_machine_that_could_not_be_made_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), making(tmp_path, "n1"):
        raise RuntimeError
    assert names(tmp_path) == []


def test_there_is_one_machine_of_a_name(tmp_path: Path) -> None:
    new_machine(tmp_path)
    with pytest.raises(ConfigError, match="there is a machine n1 already"):
        new_machine(tmp_path)
    assert names(tmp_path / "machines") == ["n1"]


def test_of_two_makers_one_wins(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="somebody else has just made it"), making(tmp_path, "n1"):
        (tmp_path / "n1" / "made by another").mkdir(parents=True)
    assert names(tmp_path) == ["n1"]


def test_what_killed_makers_left_is_swept(tmp_path: Path) -> None:
    """But not what a living one is working on."""
    (tmp_path / ".making-dead-1").mkdir()
    (tmp_path / ".gone-dead-1").mkdir()
    (tmp_path / ".making-alive-2").mkdir()
    descriptor = os.open(tmp_path / ".making-alive-2", os.O_DIRECTORY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    sweep(tmp_path)
    assert names(tmp_path) == [".making-alive-2"]
    os.close(descriptor)
    sweep(tmp_path)
    assert names(tmp_path) == []


def test_a_removed_machine_is_gone_with_all_it_has(tmp_path: Path) -> None:
    machine = new_machine(tmp_path)
    machine.file("overlay.qcow2").write_bytes(b"x")
    remove(machine)
    assert names(tmp_path / "machines") == []


def test_a_record_that_cannot_be_read_says_what_to_do(tmp_path: Path) -> None:
    machine = new_machine(tmp_path)
    machine.file("spec.json").write_text("{")
    with pytest.raises(ConfigError, match="remove it with `flexlet lab delete n1`"):
        machine.load()
    with pytest.raises(ConfigError, match="there is no machine n2"):
        place(tmp_path, "n2").load()


def test_a_path_has_one_spelling(tmp_path: Path) -> None:
    """QEMU is found by it."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert place(tmp_path / "link", "n1") == place(tmp_path / "real", "n1")


async def test_one_works_on_a_machine_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "LOCK_PATIENCE_S", 0.2)
    machine = new_machine(tmp_path)
    async with machine.locked():
        with pytest.raises(HostBusy, match="another flexlet is working on machine n1"):
            async with machine.locked():
                pass
    async with machine.locked():
        pass


async def test_a_machine_that_is_not_there_cannot_be_worked_on(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no machine n1"):
        async with place(tmp_path, "n1").locked():
            pass
