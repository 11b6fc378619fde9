"""Reading and following log files while a runtime writes, rotates and ends."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from flexlet.adapters.logfiles import follow
from flexlet.adapters.logfiles.reader import LogReader
from flexlet.core.logs.options import LogOptions
from flexlet.core.logs.selection import UnknownFormat
from flexlet.errors import HostError


def line(text: str) -> str:
    return f"2020-01-01T00:00:00Z stdout F {text}\n"


def write(path: Path, *texts: str) -> None:
    path.write_text("".join(line(text) for text in texts))


def rotate(path: Path, stamp: int) -> None:
    path.rename(path.with_name(f"{path.name}.{stamp}"))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "0.log"
    write(path, "line 0", "line 1", "line 2")
    return path


class Container:
    """Whether the container whose log is followed still runs."""

    def __init__(self) -> None:
        self.runs = True

    def is_running(self) -> bool:
        return self.runs


async def everything(path: Path, options: LogOptions, is_running: Callable[[], bool] = lambda: True) -> bytes:
    return b"".join([data async for data in follow.stream(path, options, is_running)])


async def test_a_log_is_read_to_its_end(log: Path) -> None:
    """A last line without a newline is shown, too."""
    with log.open("a") as file:
        file.write(line("cut").rstrip("\n"))
    assert await everything(log, LogOptions()) == b"line 0\nline 1\nline 2\ncut"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (LogOptions(tail_lines=1), b"line 2\n"),
        (LogOptions(tail_lines=0), b""),
        (LogOptions(tail_lines=9), b"line 0\nline 1\nline 2\n"),
        (LogOptions(limit_bytes=8), b"line 0\nl"),
    ],
)
async def test_parts_of_a_log(log: Path, options: LogOptions, expected: bytes) -> None:
    assert await everything(log, options) == expected


async def test_a_long_log_is_read_in_blocks(log: Path) -> None:
    write(log, *(f"number {number}" for number in range(20_000)))
    found = await everything(log, LogOptions())
    assert found == "".join(f"number {number}\n" for number in range(20_000)).encode()


async def test_a_link_is_no_log(log: Path, tmp_path: Path) -> None:
    """Nor is what lies behind one: a pod that mounts /var/log could show any file of the node by it."""
    pod = tmp_path / "pods" / "ns_web_uid"
    (pod / "c").mkdir(parents=True)
    (pod / "c" / "0.log").symlink_to(log)
    (pod / "d").symlink_to(log.parent)
    for path, reason in (
        (pod / "c" / "0.log", "too many levels of symbolic links"),
        (pod / "d" / log.name, "not a directory"),
    ):
        with pytest.raises(HostError) as raised:
            await everything(path, LogOptions())
        assert str(raised.value) == f'failed to open log file "{path}": {reason}'
    (tmp_path / "link").symlink_to(tmp_path / "pods")
    (pod / "c" / "0.log").unlink()
    write(pod / "c" / "0.log", "real")
    assert await everything(tmp_path / "link" / "ns_web_uid" / "c" / "0.log", LogOptions()) == b"real\n"


def test_a_log_that_becomes_a_link_is_read_no_further(log: Path, tmp_path: Path) -> None:
    """Its successor is opened like itself."""
    other = tmp_path / "other.log"
    write(other, "hidden")
    reader = LogReader.open(log, LogOptions())
    log.unlink()
    log.symlink_to(other)
    with contextlib.closing(reader):
        assert reader.read() == b"line 0\nline 1\nline 2\n"
        assert (reader.read(), reader.is_at_end) == (b"", True)


async def test_a_missing_log_is_told_as_the_kubelet_tells_it(tmp_path: Path) -> None:
    path = tmp_path / "none" / "0.log"
    with pytest.raises(HostError) as raised:
        await everything(path, LogOptions())
    assert str(raised.value) == (
        f'failed to try resolving symlinks in path "{path}": lstat {path.parent}: no such file or directory'
    )


async def test_a_file_that_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_text("hello\n")
    with pytest.raises(UnknownFormat):
        await everything(path, LogOptions())


@contextlib.asynccontextmanager
async def following(path: Path, container: Container, options: LogOptions) -> AsyncIterator[Callable[[], bytes]]:
    """A follower in the background; the call waits for nothing and says what came so far."""
    found: list[bytes] = []

    async def collect() -> None:
        log = follow.stream(path, options, container.is_running)
        while (data := await anext(log, None)) is not None:
            found.append(data)

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        task = group.create_task(collect())
        yield lambda: b"".join(found)
        task.cancel()


async def seen(read: Callable[[], bytes], expected: bytes) -> None:
    while read() != expected:  # noqa: ASYNC110 there is nothing to be told by but the bytes
        await asyncio.sleep(0.01)


async def test_a_follower_sees_lines_as_they_are_written(log: Path) -> None:
    """Half a line waits for its other half."""
    async with following(log, Container(), LogOptions(follow=True, tail_lines=1)) as read:
        await seen(read, b"line 2\n")
        with log.open("a") as file:
            text = line("line 3")
            file.write(text[:20])
            file.flush()
            await asyncio.sleep(0.05)
            file.write(text[20:])
            file.flush()
            await seen(read, b"line 2\nline 3\n")


async def test_a_follower_goes_on_in_the_file_that_rotation_made(log: Path) -> None:
    """What was written into the old file until the last moment comes first; nothing is lost or seen twice."""
    async with following(log, Container(), LogOptions(follow=True, tail_lines=0)) as read:
        await asyncio.sleep(0.05)
        expected = b""
        with contextlib.ExitStack() as stack:
            writer = stack.enter_context(log.open("a"))
            for number in range(6):
                if number % 2:
                    rotate(log, number)
                    writer.write(line(f"late {number}"))
                    writer.flush()
                    writer = stack.enter_context(log.open("a"))
                    expected += f"late {number}\n".encode()
                writer.write(line(f"new {number}"))
                writer.flush()
                expected += f"new {number}\n".encode()
                await seen(read, expected)


async def test_following_ends_with_the_container_and_after_its_last_words(log: Path) -> None:
    container = Container()
    async with asyncio.timeout(20):
        reader = follow.stream(log, LogOptions(follow=True, tail_lines=0), container.is_running)
        waiting = asyncio.ensure_future(anext(reader))
        await asyncio.sleep(0.05)
        container.runs = False
        with log.open("a") as file:
            file.write(line("last words"))
        assert await waiting == b"last words\n"
        with pytest.raises(StopAsyncIteration):
            await anext(reader)


async def test_following_works_when_inotify_is_exhausted(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(follow, "_noticing", exhausted)
    monkeypatch.setattr(follow, "CHECK_S", 0.02)
    async with following(log, Container(), LogOptions(follow=True, tail_lines=0)) as read:
        await asyncio.sleep(0.05)
        with log.open("a") as file:
            file.write(line("noticed"))
        await seen(read, b"noticed\n")
