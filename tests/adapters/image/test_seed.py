"""The one boot of an image while it is built: kept if it went well, forgotten if not."""

from pathlib import Path

import pytest

from flexlet.adapters.image import guestdisk, program, seed
from flexlet.errors import HostError

SEEDED = 'echo "flexlet-guest: seeded" > "$console"'


@pytest.fixture
def image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An image's folder on a host whose qemu-img writes down how it was called."""
    monkeypatch.setattr(guestdisk, "fill", lambda tree, _image: tree.mkdir())
    monkeypatch.setattr(guestdisk, "make", lambda _tree, disk: disk.touch())
    monkeypatch.setattr(program, "find", lambda name: str(tmp_path / name))
    install(tmp_path / "qemu-img", f'echo "$1" >> {tmp_path}/calls')
    (tmp_path / "one,image").mkdir()
    return tmp_path / "one,image"


def install(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def qemu(image: Path, script: str) -> None:
    """A QEMU that finds its console as the real one does, and then does as told."""
    find = "while [ $# -gt 0 ]; do [ $1 = -serial ] && console=${2#file:}; shift; done; : > $console"
    install(image.parent / "qemu-system-x86_64", f'echo "$@" > {image.parent}/command; {find}; {script}')


@pytest.mark.parametrize(
    ("script", "calls"),
    [
        (SEEDED, ["create", "commit"]),
        ("exit 0", ["create"]),
        (f"{SEEDED}; exit 1", ["create"]),
        ("exec sleep 10", ["create"]),
    ],
    ids=["seeded", "switched off too early", "crashed", "too slow"],
)
def test_only_a_good_boot_is_kept(
    image: Path, monkeypatch: pytest.MonkeyPatch, script: str, calls: list[str]
) -> None:
    """A bad one leaves the image as it was, says so, and is no error; nothing is left behind by either."""
    monkeypatch.setattr(seed, "_PATIENCE_S", 0.5)
    qemu(image, script)
    said: list[str] = []
    seed.plant(image, said.append)
    assert (image.parent / "calls").read_text().split() == calls
    assert len(said) == 3 - len(calls)
    assert list(image.iterdir()) == []


def test_commas_in_paths_reach_qemu_whole(image: Path) -> None:
    qemu(image, SEEDED)
    seed.plant(image, print)
    words = (image.parent / "command").read_text().split()
    drives = [word for word in words if word.startswith("file=")]
    assert [drive.split("if=virtio")[0].count("one,,image/") for drive in drives] == [1, 1]


def test_more_images_stay_in_an_overlay_of_their_own(image: Path) -> None:
    """The third disk is an empty configuration, the fourth the archive; the image is not written to."""
    qemu(image, SEEDED)
    seed.grow(image, image.parent / "images.tar", image.parent / "rootfs.qcow2", print)
    words = (image.parent / "command").read_text().split()
    drives = [Path(word.split(",if=virtio")[0]).name for word in words if word.startswith("file=")]
    assert drives == ["rootfs.qcow2", "code.img", "config.tar", "images.tar"]
    assert (image.parent / "calls").read_text().split() == ["create"]


def test_images_that_cannot_be_imported_are_a_fault(image: Path) -> None:
    """With the end of the console: a machine could not do it either."""
    qemu(image, 'echo "ctr: no space left" > "$console"')
    with pytest.raises(HostError, match="could not be imported:\nctr: no space left"):
        seed.grow(image, image.parent / "images.tar", image.parent / "rootfs.qcow2", print)
