"""Servers that do what a test wants on the loopback interface."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(talk: Talk, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """A server whose connections are handled by `talk`; its port."""
    done = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await talk(reader, writer)
        except ConnectionError:
            pass
        finally:
            writer.transport.abort() if done.is_set() else writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        done.set()
        server.close()


def saying(text: str, *, asked: list[str] | None = None, hang: bool = False) -> Talk:
    """Answers every request with the same bytes; what was asked is noted, and it may never hang up."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if asked is not None:
            asked.append(head.decode())
        writer.write(text.encode())
        await writer.drain()
        if hang:
            await reader.read()

    return talk


def routed(answers: dict[str, str], asked: list[str] | None = None) -> Talk:
    """Answers by path."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        if asked is not None:
            asked.append(head)
        writer.write(answers[head.split(" ")[1]].encode())
        await writer.drain()

    return talk
