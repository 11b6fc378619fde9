"""A pod's directories, without mounts; everything here is done as anybody."""

import asyncio
import os
import socket
import stat
from pathlib import Path

import pytest
from tests.engine.fakes import FakeClock

from flexlet.adapters.podfiles import PodDirectories, containerlogs, hostpath, subpaths
from flexlet.adapters.podfiles.mounting import Mounter
from flexlet.core.agent.containers.contents import EmptyDirectory, File, FileSet, HostDirectory, VolumeContent
from flexlet.errors import HostError

GROUP = os.getgid()


@pytest.fixture
def files(tmp_path: Path) -> PodDirectories:
    return PodDirectories(tmp_path / "root", tmp_path / "links", FakeClock(), mounts=False)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names(directory: Path) -> list[str]:
    return sorted(each.name for each in directory.iterdir())


def text(path: str) -> tuple[str, int]:
    return Path(path).read_text(), mode(Path(path))


async def test_volumes_are_made_once_and_kept_current(files: PodDirectories, tmp_path: Path) -> None:
    config = FileSet(
        name="cm", plugin="configmap", files={"a": File(b"1", 0o644)}, in_memory=False, nested=("n/m",)
    )
    contents: list[VolumeContent] = [
        EmptyDirectory(name="e"),
        EmptyDirectory(name="m", in_memory=True, size_bytes=1 << 20, mode=0o1777),
        config,
        HostDirectory(name="h", path=str(tmp_path / "made"), type="DirectoryOrCreate"),
    ]
    await files.prepare("u", contents)
    root = tmp_path / "root/pods/u"
    empty, memory = (root / "volumes/kubernetes.io~empty-dir" / name for name in ("e", "m"))
    held = root / "volumes/kubernetes.io~configmap/cm"
    found = [mode(each) for each in (root, root / "volumes", root / "plugins", empty, memory, tmp_path / "made")]
    assert found == [0o750, 0o750, 0o750, 0o777, 0o1777, 0o755]
    assert ((held / "a").read_text(), (held / "n/m").is_dir()) == ("1", True)

    (empty / "kept").write_text("x")
    empty.chmod(0o700)
    changed = FileSet(name="cm", plugin="configmap", files={"a": File(b"2", 0o644)}, in_memory=False)
    await files.prepare("u", [EmptyDirectory(name="e"), changed], GROUP)
    assert ((empty / "kept").read_text(), mode(empty), (held / "a").read_text()) == ("x", 0o700, "2")
    assert await files.known() == ("u",)


async def test_a_volume_half_made_by_a_crash_is_made_again(files: PodDirectories, tmp_path: Path) -> None:
    place = tmp_path / "root/pods/u/volumes/kubernetes.io~empty-dir"
    (place / ".e").mkdir(parents=True, mode=0o700)
    (place / ".e").chmod(0o700)
    await files.prepare("u", [EmptyDirectory(name="e")], GROUP)
    assert ([each.name for each in place.iterdir()], mode(place / "e") & stat.S_ISGID) == (["e"], stat.S_ISGID)


async def test_the_group_may_read_files_and_write_empty_directories(files: PodDirectories, tmp_path: Path) -> None:
    secret = FileSet(name="s", plugin="secret", files={"d/k": File(b"", 0o400), "t": File(b"", 0o600)})
    await files.prepare("u", [EmptyDirectory(name="e"), secret], GROUP)
    volumes = tmp_path / "root/pods/u/volumes"
    held = volumes / "kubernetes.io~secret/s"
    found = [volumes / "kubernetes.io~empty-dir/e", held, held / "d", held / "d/k", held / "t"]
    assert [oct(mode(each)) for each in found] == ["0o2777", "0o2777", "0o2755", "0o440", "0o640"]
    assert {each.stat().st_gid for each in found} == {GROUP}


async def test_removal_takes_the_volumes_or_everything(files: PodDirectories, tmp_path: Path) -> None:
    await files.prepare("u", [EmptyDirectory(name="e")])
    await files.write_hosts("u", "text")
    for _ in range(2):
        await files.remove_volumes("u")
        assert names(tmp_path / "root/pods/u") == ["etc-hosts", "plugins"]
    for _ in range(2):
        await files.remove_pod("u")
        assert await files.known() == ()


async def test_small_files(files: PodDirectories, tmp_path: Path) -> None:
    hosts, words = await files.write_hosts("u", "a\n"), await files.new_termination_log("u", "c")
    assert [text(each) for each in (hosts, words)] == [("a\n", 0o644), ("", 0o666)]
    assert Path(words).parent == tmp_path / "root/pods/u/containers/c"
    assert len(Path(words).name) == 8
    await asyncio.to_thread(Path(words).write_bytes, b"0123456789\xff")
    assert [await files.read_end(words, 4), await files.read_end(words, 99), await files.read_end("/none", 4)] == [
        "789\ufffd",
        "0123456789\ufffd",
        "",
    ]
    assert await files.read_end(str(tmp_path), 4) == f"Error on reading termination log {tmp_path}: Is a directory"


async def test_what_the_host_refuses_is_a_host_error_that_names_the_path(
    files: PodDirectories, tmp_path: Path
) -> None:
    (tmp_path / "root").write_text("in the way")
    with pytest.raises(HostError, match=rf"(Not a directory|File exists): {tmp_path}/root"):
        await files.prepare("u", [])
    bad = FileSet(name="s", plugin="secret", files={"../x": File(b"", 0o644)})
    elsewhere = PodDirectories(tmp_path / "r2", tmp_path, FakeClock(), mounts=False)
    with pytest.raises(HostError, match="must not contain"):
        await elsewhere.prepare("u", [bad])


async def test_logs_are_counted_linked_and_removed(files: PodDirectories, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    assert await files.highest_log(str(logs), "c") is None
    await files.make_log_directory(str(logs), "c")
    assert await files.highest_log(str(logs), "c") is None
    for name in ("0.log", "2.log", "2.log.20260101-000000", "10.log.gz", "x.log", "11.txt"):
        (logs / "c" / name).write_text("")
    (logs / "c/99.log").mkdir()
    assert await files.highest_log(str(logs), "c") == 10
    (logs / "c/99.log").rmdir()

    await files.link_log(str(logs / "c/2.log"), "link.log")
    await files.link_log(str(logs / "c/none.log"), "none.log")
    assert names(tmp_path / "links") == ["link.log"]
    await files.remove_logs(str(logs / "c/2.log"), "link.log")
    assert (names(tmp_path / "links"), names(logs / "c")) == (
        [],
        ["0.log", "10.log.gz", "11.txt", "x.log"],
    )


def test_the_end_of_a_log_is_what_was_said(tmp_path: Path) -> None:
    log = tmp_path / "0.log"
    assert containerlogs.tail(log, 80, 2048) == ""
    stamp = "2016-10-06T00:17:09.669794202Z"
    log.write_text(f"{stamp} stdout F one\n{stamp} stderr P two \n{stamp} stdout F three\nodd\n")
    assert [containerlogs.tail(log, lines, limit) for lines, limit in ((80, 2048), (2, 2048), (80, 5))] == [
        "one\ntwo three\nodd\n",
        "three\nodd\n",
        "\nodd\n",
    ]


def test_paths_of_the_host_are_what_their_type_says(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        good = [("", "none"), ("Directory", "."), ("File", "file"), ("Socket", "socket"), ("FileOrCreate", "new")]
        good += [("DirectoryOrCreate", "a/b"), ("DirectoryOrCreate", "a/b"), ("FileOrCreate", "new")]
        for kind, name in good:
            hostpath.ensure(str(tmp_path / name), kind)
    assert (mode(tmp_path / "a/b"), mode(tmp_path / "new"), (tmp_path / "none").exists()) == (0o755, 0o644, False)
    hostpath.ensure("/dev/null", "CharDevice")


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("Directory", "file", "hostPath type check failed: {} is not a directory"),
        ("DirectoryOrCreate", "file", "hostPath type check failed: {} is not a directory"),
        ("File", ".", "hostPath type check failed: {} is not a file"),
        ("FileOrCreate", "dir", "hostPath type check failed: {} is not a file"),
        ("Socket", "file", "hostPath type check failed: {} is not a socket file"),
        ("CharDevice", "none", "hostPath type check failed: {} is not a character device"),
        ("BlockDevice", "none", "hostPath type check failed: {} is not a block device"),
        ("Odd", "file", "Odd is an invalid volume type"),
        ("Directory", "a/../b", "invalid HostPath `{}`: must not contain '..'"),
    ],
)
def test_paths_of_the_host_that_are_something_else(kind: str, name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "dir").mkdir()
    path = f"{tmp_path}/{name}"
    with pytest.raises(HostError) as caught:
        hostpath.ensure(path, kind)
    assert str(caught.value) == message.format(path)


def held(volume: Path, sub_path: str) -> Path:
    return subpaths.held(volume, sub_path, volume.parent / "unused", Mounter(enabled=False))


def test_a_sub_path_that_is_missing_is_made_with_the_volumes_mode(tmp_path: Path) -> None:
    volume = tmp_path / "v"
    volume.mkdir()
    volume.chmod(0o2770)
    assert held(volume, "a/b") == volume / "a/b"
    assert [oct(mode(each)) for each in (volume / "a", volume / "a/b")] == ["0o2770", "0o2770"]
    (volume / "file").touch()
    assert [held(volume, each) for each in ("file", ".", "./a//b/")] == [volume / "file", volume, volume / "a/b"]


def test_links_inside_a_volume_are_followed_and_links_out_of_it_are_not(tmp_path: Path) -> None:
    volume, outside = tmp_path / "v", tmp_path / "secret"
    for each in (volume / "real", outside):
        each.mkdir(parents=True)
    (volume / "in").symlink_to("real")
    (volume / "out").symlink_to(outside)
    (volume / "up").symlink_to("..")
    assert held(volume, "in/x") == volume / "real/x"
    for bad in ("out", "out/x", "up/secret", "../secret", "/etc"):
        with pytest.raises(HostError):
            held(volume, bad)
    assert list(outside.iterdir()) == []


def test_a_directory_exchanged_for_a_link_meanwhile_is_not_entered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The race that every checked path has: it was a directory when it was checked."""
    volume, outside = tmp_path / "v", tmp_path / "secret"
    for each in (volume / "d", outside):
        each.mkdir(parents=True)
    for wanted in ("d/x", "d"):

        def checked(root: Path, sub_path: str) -> tuple[str, ...]:
            del root
            return tuple(sub_path.split("/"))

        monkeypatch.setattr(subpaths, "_inside", checked)
        if (volume / "d").is_dir() and not (volume / "d").is_symlink():
            (volume / "d").rmdir()
            (volume / "d").symlink_to(outside)
        with pytest.raises((HostError, OSError)):
            held(volume, wanted)
    assert list(outside.iterdir()) == []


async def test_a_file_of_a_volume_is_read_and_never_one_from_elsewhere(
    files: PodDirectories, tmp_path: Path
) -> None:
    volume = tmp_path / "v"
    (volume / "d").mkdir(parents=True)
    (volume / "d/f").write_bytes(b"12345")
    (volume / "link").symlink_to("d/f")
    (tmp_path / "secret").write_text("no")
    (volume / "out").symlink_to("../secret")
    (volume / "far").symlink_to(tmp_path / "secret")
    os.mkfifo(volume / "pipe")
    asked = ("d/f", "./d//f", "link", "none", "d", "d/f/g", "out", "far", "../secret", "pipe")
    found = {each: await files.read_inside(str(volume), each, 5) for each in asked}
    assert found == dict.fromkeys(asked) | dict.fromkeys(("d/f", "./d//f", "link"), b"12345")
    assert await files.read_inside(str(volume), "d/f", 4) is None
