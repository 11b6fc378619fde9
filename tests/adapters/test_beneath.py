"""Files below a directory are opened without leaving it, whoever exchanges what while we look."""

import asyncio
import contextlib
import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from flexlet.adapters import beneath
from flexlet.adapters.nodeserver import varlog
from flexlet.adapters.nodeserver.connection import Reply, Streamed

SECRET = b"secret"
PUBLIC = b"public"
RACE_S = 1.5


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory with links that stay in it and links that do not; a secret beside it."""
    made = tmp_path / "log"
    (made / "sub" / "deep").mkdir(parents=True)
    (made / "file").write_bytes(PUBLIC)
    (made / "sub" / "deep" / "file").write_bytes(PUBLIC)
    (tmp_path / "secret").write_bytes(SECRET)
    (tmp_path / "log-too").mkdir()
    (tmp_path / "log-too" / "file").write_bytes(SECRET)
    links = {
        "near": "file",
        "down": "sub/deep",
        "sub/up": "../file",
        "absolute": str(made / "sub"),
        "chain": "absolute/up",
        "out": "../secret",
        "outside": str(tmp_path),
        "beside": f"{made}-too",
        "tricky": f"{made}/../secret",
        "loop": "loop",
    }
    for name, target in links.items():
        (made / name).symlink_to(target)
    os.mkfifo(made / "pipe")
    return made


def content(root: Path, *parts: str) -> bytes:
    handle = beneath.open_within(root, parts)
    with os.fdopen(handle, "rb") as file:
        return file.read()


@pytest.mark.parametrize(
    "path",
    ["file", "near", "down/file", "sub/up", "absolute/deep/file", "chain", "sub/../file", "./file/", "sub//up"],
)
def test_what_stays_below(root: Path, path: str) -> None:
    assert content(root, *path.split("/")) == PUBLIC


def test_a_root_that_is_a_link(root: Path, tmp_path: Path) -> None:
    """Links to its real place and to its name lead into it."""
    (tmp_path / "var").symlink_to(root)
    (root / "named").symlink_to(tmp_path / "var" / "file")
    assert content(tmp_path / "var", "absolute", "up") == content(tmp_path / "var", "named") == PUBLIC


@pytest.mark.parametrize(
    "parts",
    [
        ("out",),
        ("outside", "secret"),
        ("beside", "file"),
        ("tricky",),
        ("loop",),
        ("..", "secret"),
        ("sub", "..", "..", "secret"),
        ("../secret",),
        ("/etc/passwd",),
        ("sub/deep",),
        ("a\0b",),
        ("none",),
        ("pipe",),
        ("file", "more"),
        ("x" * 300,),
    ],
)
def test_what_does_not(root: Path, parts: tuple[str, ...]) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    with pytest.raises(OSError, match=r"^\[Errno"):
        beneath.open_within(root, parts)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_a_directory_is_a_directory(root: Path) -> None:
    for parts in ((), ("sub",), ("down",), ("sub", "")):
        handle = beneath.open_within(root, parts)
        assert stat.S_ISDIR(os.fstat(handle).st_mode)
        os.close(handle)


def test_a_plain_file_has_no_link_in_its_last_parts(root: Path) -> None:
    with os.fdopen(beneath.open_plain(root / "sub" / "deep" / "file"), "rb") as file:
        assert file.read() == PUBLIC
    for path in (root / "near", root / "down" / "file", root / "absolute" / "deep" / "file", root / "pipe", root):
        with pytest.raises(OSError, match=r"^\[Errno"):
            beneath.open_plain(path)
    with os.fdopen(beneath.open_plain(root / "down" / "file", depth=1), "rb") as file:
        assert file.read() == PUBLIC


# In a process of its own: threads of one Python take turns, and leave hardly a gap between look and opening.
_SWAPS = """
import os, sys
root, secret, outside = sys.argv[1:]
os.chdir(root)
print("swaps", flush=True)
while True:
    for target, name, place in ((secret, "l", "file"), (outside, "m", "dir")):
        os.symlink(target, name)
        if name == "l":
            os.rename(name, place)
            with open("f", "wb") as file:
                file.write(b"public")
            os.rename("f", place)
        else:
            os.rename(place, "aside")
            os.rename(name, place)
            os.unlink(place)
            os.rename("aside", place)
"""


@contextlib.contextmanager
def _swapped(tmp_path: Path) -> Iterator[Path]:
    """A directory in which a file and a directory turn into links that lead out, and back, all the time."""
    root, outside = tmp_path / "log", tmp_path / "outside"
    (root / "dir").mkdir(parents=True)
    outside.mkdir()
    (tmp_path / "secret").write_bytes(SECRET)
    (outside / "file").write_bytes(SECRET)
    for path in (root / "file", root / "dir" / "file"):
        path.write_bytes(PUBLIC)
    command = [sys.executable, "-c", _SWAPS, str(root), str(tmp_path / "secret"), str(outside)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield root
        finally:
            process.kill()


async def _shown(reply: Reply) -> bytes:
    return b"".join([data async for data in reply.body]) if isinstance(reply, Streamed) else b""


def _tries(root: Path) -> Iterator[tuple[str, ...]]:
    ends = time.monotonic() + RACE_S
    while time.monotonic() < ends:
        yield ("file",)
        yield ("dir", "file")
    del root


def test_a_race_for_var_log_is_always_won(tmp_path: Path) -> None:
    """``/logs/`` shows the public file or nothing, in thousands of tries."""

    async def race() -> list[bytes]:
        with _swapped(tmp_path) as root:
            return [await _shown(varlog.answer(root, parts)) for parts in _tries(root)]

    shown = asyncio.run(race())
    assert (set(shown) - {b"", PUBLIC}, PUBLIC in shown) == (set(), True)


def test_a_race_for_a_containers_log_is_always_won(tmp_path: Path) -> None:
    shown = []
    with _swapped(tmp_path) as root:
        for parts in _tries(root):
            try:
                with os.fdopen(beneath.open_plain(root.joinpath(*parts)), "rb") as file:
                    shown.append(file.read())
            except OSError:
                continue
    assert set(shown) == {PUBLIC}
