"""Which QEMU there is, and whether KVM works: with pretended programs."""

from pathlib import Path

import pytest

from flexlet.adapters.qemu import acceleration, binary, overlay
from flexlet.adapters.qemu.binary import Qemu
from flexlet.errors import ConfigError, HostError


def program(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    "text", ["QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds)", "QEMU emulator version 11.1.0\nCopyright"]
)
def test_a_new_qemu_is_taken(text: str) -> None:
    assert binary.checked(text) in {"10.0.2", "11.1.0"}


def test_an_old_qemu_is_refused_with_a_way_out() -> None:
    with pytest.raises(ConfigError, match=r"is 7\.2\.19, and 10 or newer is needed .* bookworm-backports"):
        binary.checked("QEMU emulator version 7.2.19 (Debian 1:7.2+dfsg)")
    with pytest.raises(ConfigError, match="cannot read the version"):
        binary.checked("command not found")


async def test_a_missing_qemu_is_refused_with_a_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="qemu-system-x86_64 is not installed"):
        await binary.find()
    program(tmp_path, "qemu-system-x86_64", "echo QEMU emulator version 10.0.2")
    with pytest.raises(ConfigError, match="qemu-img is not installed"):
        await binary.find()
    program(tmp_path, "qemu-img", "")
    assert (await binary.find()).version == "10.0.2"


def pretended(folder: Path, kvm: str) -> Qemu:
    """A QEMU that boots under TCG and does this under KVM; it notes each start."""
    body = f'echo "$@" >> {folder}/starts\ncase "$*" in *"-accel kvm"*) {kvm};; *) exit 33;; esac'
    return Qemu(program(folder, "qemu", body), folder / "qemu-img", "10.0.2")


@pytest.mark.parametrize(
    ("kvm", "choice"),
    [("exit 33", "kvm"), ("exec sleep 100", "tcg"), ("exit 1", "tcg"), ("sleep 2.5; exit 33", "tcg")],
)
async def test_kvm_is_taken_if_it_boots_as_quickly_as_emulation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kvm: str, choice: str
) -> None:
    """One that hangs, fails or crawls is none. The answer is found once."""
    device = tmp_path / "kvm-device"
    device.touch()
    monkeypatch.setattr(acceleration, "KVM", device)
    qemu = pretended(tmp_path, kvm)
    assert await acceleration.choose(qemu, tmp_path / "cache") == choice
    starts = (tmp_path / "starts").read_text()
    assert await acceleration.choose(qemu, tmp_path / "cache") == choice
    assert (tmp_path / "starts").read_text() == starts


async def test_without_a_device_nothing_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceleration, "KVM", tmp_path / "nothing")
    assert await acceleration.choose(pretended(tmp_path, "exit 33"), tmp_path) == "tcg"
    assert not (tmp_path / "starts").exists()


async def test_an_answer_for_another_qemu_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = tmp_path / "kvm-device"
    device.touch()
    monkeypatch.setattr(acceleration, "KVM", device)
    (tmp_path / "kvm").write_text("another boot 9.9\nworks\n")
    assert await acceleration.choose(pretended(tmp_path, "exit 1"), tmp_path) == "tcg"


def test_the_boot_sector_is_one() -> None:
    assert (len(acceleration.SECTOR), acceleration.SECTOR[-2:]) == (512, b"\x55\xaa")


async def test_an_overlay_names_its_base(tmp_path: Path) -> None:
    body = 'case "$1" in info) echo "{\\"full-backing-filename\\": \\"/i/rootfs.img\\"}";; esac'
    qemu = Qemu(tmp_path, program(tmp_path, "qemu-img", body), "10")
    assert await overlay.base_of(qemu, tmp_path / "disk") == Path("/i/rootfs.img")


async def test_a_disk_that_cannot_be_read_has_no_base(tmp_path: Path) -> None:
    qemu = Qemu(tmp_path, program(tmp_path, "qemu-img", "echo no such file >&2; exit 1"), "10")
    assert await overlay.base_of(qemu, tmp_path / "disk") is None
    with pytest.raises(HostError, match=r"qemu-img create .*: no such file"):
        await overlay.create(qemu, tmp_path / "disk", tmp_path / "base")
