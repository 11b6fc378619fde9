"""Checkpoint files are replaced whole or not at all."""

import asyncio
import errno
import os
import threading
from pathlib import Path

import pytest

from flexlet.adapters.checkpoints import CheckpointFiles
from flexlet.errors import HostError


def names(directory: Path) -> list[str]:
    return [each.name for each in directory.iterdir()]


async def test_what_was_saved_is_loaded_and_nothing_else_is_there(tmp_path: Path) -> None:
    files = CheckpointFiles(tmp_path / "new")
    assert await files.load("a") is None
    await files.save("a", b"1")
    await files.save("a", b"22")
    assert (await files.load("a"), files.path("a")) == (b"22", f"{tmp_path}/new/a")
    assert [each.name for each in (tmp_path / "new").iterdir()] == ["a"]


async def test_a_write_that_fails_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = CheckpointFiles(tmp_path)
    await files.save("a", b"1")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(HostError, match=rf"cannot write {tmp_path}/a: No space left on device; the old content"):
        await files.save("a", b"2")
    assert await files.load("a") == b"1"
    assert names(tmp_path) == ["a"]


async def test_many_writers_of_one_file_leave_the_newest_and_never_a_mixture(tmp_path: Path) -> None:
    """On one fixed temporary name they tore each other's files, and an older write came out on top."""
    files = CheckpointFiles(tmp_path)
    for round_ in range(20):
        contents = [f"{round_}-{number}-".encode() * 2000 for number in range(16)]
        await asyncio.gather(*(files.save("a", each) for each in contents))
        assert await files.load("a") == contents[-1]
    assert names(tmp_path) == ["a"]


async def test_a_write_whose_caller_was_cancelled_does_not_come_back_over_a_later_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = CheckpointFiles(tmp_path)
    gate = threading.Event()
    real = os.fsync

    def slow(descriptor: int) -> None:
        gate.wait(10)
        real(descriptor)

    monkeypatch.setattr("os.fsync", slow)
    first = asyncio.create_task(files.save("a", b"old"))
    await asyncio.sleep(0.05)
    first.cancel()
    second = asyncio.create_task(files.save("a", b"new"))
    await asyncio.sleep(0.05)
    gate.set()
    await second
    assert await files.load("a") == b"new"


async def test_what_a_crash_left_of_a_write_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".a.half").write_bytes(b"{")
    assert await CheckpointFiles(tmp_path).load("a") is None
    assert names(tmp_path) == []


async def test_what_cannot_be_used_is_set_aside(tmp_path: Path) -> None:
    files = CheckpointFiles(tmp_path)
    (tmp_path / "a").mkdir()
    assert await files.set_aside("a") == f"{tmp_path}/a.bad"
    assert await files.load("a") is None
    with pytest.raises(HostError, match=rf"cannot rename {tmp_path}/a to {tmp_path}/a.bad: No such file"):
        await files.set_aside("a")


async def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(HostError, match=rf"cannot read {tmp_path}/a: Is a directory"):
        await CheckpointFiles(tmp_path).load("a")
