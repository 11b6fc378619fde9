"""A board where programs on the node read how large it is."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from flexlet.adapters import unixsocket
from flexlet.adapters.notices import FILE, SOCKET, NoticeBoard
from flexlet.errors import HostError


@contextlib.asynccontextmanager
async def serving(directory: Path) -> AsyncIterator[NoticeBoard]:
    board = NoticeBoard(directory)
    task = asyncio.create_task(board.serve())
    async with asyncio.timeout(10):
        while not (directory / SOCKET).exists():  # noqa: ASYNC110
            await asyncio.sleep(0)
    try:
        yield board
    finally:
        task.cancel()
        await asyncio.wait({task})


async def listening(directory: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_unix_connection(sock=unixsocket.connected(directory / SOCKET))


async def heard(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(10):
        return await reader.readline()


async def test_who_comes_late_hears_what_counts_and_then_all_that_follows(tmp_path: Path) -> None:
    async with serving(tmp_path / "deep") as board:
        early, one = await listening(tmp_path / "deep")
        await board.tell(b"1\n")
        await board.tell(b"2\n")
        late, two = await listening(tmp_path / "deep")
        assert [await heard(early), await heard(early), await heard(late)] == [b"1\n", b"2\n", b"2\n"]
        await board.tell(b"3\n")
        assert [await heard(early), await heard(late)] == [b"3\n", b"3\n"]
        assert (tmp_path / "deep" / FILE).read_bytes() == b"3\n"
        one.close()
        two.close()
    assert [path.name for path in (tmp_path / "deep").iterdir()] == [FILE], "nobody knocks at a dead socket"


async def test_only_root_may_listen(tmp_path: Path) -> None:
    async with serving(tmp_path):
        assert (tmp_path / SOCKET).stat().st_mode & 0o777 == 0o600


async def test_listeners_hang_up_and_are_let_go(tmp_path: Path) -> None:
    """When they leave, when they do not read what they asked for, and when the board is taken down."""
    async with serving(tmp_path) as board:
        _, leaving = await listening(tmp_path)
        leaving.close()
        with contextlib.closing(unixsocket.connected(tmp_path / SOCKET)) as deaf:
            await asyncio.sleep(0.05)
            for _ in range(20):
                await board.tell(b"x" * (1 << 18) + b"\n")
            deaf.setblocking(True)
            assert len(read_all(deaf)) < 20 << 18
        await board.tell(b"short\n")
        reader, writer = await listening(tmp_path)
        assert await heard(reader) == b"short\n"
    with contextlib.suppress(ConnectionError):
        assert await reader.read() == b""
    writer.close()


def read_all(client: socket.socket) -> bytes:
    found = b""
    with contextlib.suppress(ConnectionError):
        while part := client.recv(1 << 16):
            found += part
    return found


async def test_what_cannot_be_written_or_listened_on_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    board = NoticeBoard(tmp_path / "file")
    with pytest.raises(HostError, match="cannot write"):
        await board.tell(b"1\n")
    with pytest.raises(HostError, match=r"cannot listen on .*node_generation\.sock"):
        await board.serve()


def test_a_node_that_no_longer_follows_takes_its_notices_down(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("1\n")
    NoticeBoard(tmp_path).clear()
    assert list(tmp_path.iterdir()) == []
