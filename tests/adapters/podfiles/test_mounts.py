"""What only root can do: real mounts, and removal that never empties what is mounted."""

import os
from pathlib import Path

import pytest
from tests.engine.fakes import FakeClock

from flexlet.adapters.podfiles import PodDirectories, mounting
from flexlet.adapters.podfiles.mounting import Mounter
from flexlet.core.agent.containers.contents import EmptyDirectory, File, FileSet
from flexlet.errors import HostError


def can_mount() -> bool:
    """Root alone does not suffice inside some containers."""
    probe = Path(f"/tmp/flexlet-mount-{os.getpid()}")  # noqa: S108 gone in a moment
    probe.mkdir()
    try:
        Mounter().tmpfs(probe, 1 << 16)
        Mounter().unmount(probe)
    except HostError:
        return False
    finally:
        probe.rmdir()
    return True


pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not can_mount(), reason="needs root and the right to mount")


@pytest.fixture
def files(tmp_path: Path) -> PodDirectories:
    return PodDirectories(tmp_path / "root", tmp_path / "links", FakeClock())


def text(path: str) -> str:
    """Empty if it is not there."""
    return Path(path).read_text() if Path(path).exists() else ""


def options(path: Path) -> str:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return next(line.rpartition(" ")[2] for line in lines if line.split(" ")[4] == str(path))


async def test_directories_in_memory_have_their_size_and_survive_a_second_look(
    files: PodDirectories, tmp_path: Path
) -> None:
    secret = FileSet(name="s", plugin="secret", files={"k": File(b"x", 0o400)}, size_bytes=1 << 20)
    memory = EmptyDirectory(name="m", in_memory=True, size_bytes=1 << 21, mode=0o1777)
    volumes = tmp_path / "root/pods/u/volumes"
    held, made = volumes / "kubernetes.io~secret/s", volumes / "kubernetes.io~empty-dir/m"
    try:
        await files.prepare("u", [secret, memory])
        (made / "kept").write_text("x")
        await files.prepare("u", [secret, memory])
        assert ("size=1024k" in options(held), "size=2048k" in options(made)) == (True, True)
        assert (len(mounting.mounted(volumes)), (made / "kept").read_text()) == (2, "x")
    finally:
        await files.remove_pod("u")
    assert (await files.known(), mounting.mounted(tmp_path)) == ((), [])


async def test_a_held_sub_path_stays_what_was_found_and_removal_spares_it(
    files: PodDirectories, tmp_path: Path
) -> None:
    """The volume is the host's: taking the pod away must not empty it."""
    host = tmp_path / "host"
    (host / "data").mkdir(parents=True)
    (host / "data/precious").write_text("x")
    (host / "file").write_text("f")
    try:
        place = await files.subpath("u", str(host), "data", "c", 0)
        single = await files.subpath("u", str(host), "file", "c", 1)
        (host / "data").rename(host / "moved")
        (host / "data").symlink_to("/etc")
        assert (text(f"{place}/precious"), text(single)) == ("x", "f")
        again = await files.subpath("u", str(host), "moved", "c", 1)
        assert (text(f"{again}/precious"), again) == ("x", single)
        await files.remove_volumes("u")
        assert text(f"{place}/precious") == ""
    finally:
        await files.remove_pod("u")
    assert ((host / "moved/precious").read_text(), mounting.mounted(tmp_path)) == ("x", [])


def test_mounts_with_odd_names_are_found_and_taken_away(tmp_path: Path) -> None:
    inner = tmp_path / "a b\tc\\d"
    inner.mkdir()
    mounter = Mounter()
    mounter.tmpfs(inner, 1 << 16)
    (inner / "deeper").mkdir()
    mounter.bind(str(tmp_path), inner / "deeper")
    assert mounting.mounted(tmp_path) == [inner, inner / "deeper"]
    mounter.unmount_below(tmp_path)
    assert mounting.mounted(tmp_path) == []
    mounter.unmount(inner)
    with pytest.raises(HostError, match="cannot mount a bind of"):
        mounter.bind(str(tmp_path / "none"), inner)


async def test_a_directory_in_huge_pages_is_mounted_once_and_goes_with_its_pod(
    files: PodDirectories, tmp_path: Path
) -> None:
    """With pages of every size that this kernel has."""
    sizes = _page_sizes()
    wanted = [EmptyDirectory(name=name, page_size=size, mode=0o755) for name, size in sizes.items()]
    volumes = tmp_path / "root/pods/u/volumes/kubernetes.io~empty-dir"
    try:
        await files.prepare("u", wanted)
        await files.prepare("u", wanted)
        assert sorted(mounting.mounted(tmp_path)) == sorted(volumes / name for name in sizes)
        found = {name: options(volumes / name) for name in sizes}
        assert found == {name: f"rw,pagesize={_short(size)}" for name, size in sizes.items()}
    finally:
        await files.remove_pod("u")
    assert mounting.mounted(tmp_path) == []


def _page_sizes() -> dict[str, int]:
    """In bytes, by the kernel's name for them."""
    kinds = Path("/sys/kernel/mm/hugepages").glob("hugepages-*kB")
    return {each.name: int(each.name.removeprefix("hugepages-")[:-2]) << 10 for each in kinds}


def _short(size: int) -> str:
    """As the kernel lists it."""
    return f"{size >> 20}M" if size >= 1 << 20 else f"{size >> 10}K"
