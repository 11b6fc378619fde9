"""One connection: requests are read, answered one after the other, and sometimes the connection is taken over.

The task that serves a connection ends with it: when the peer goes away, whatever the task waits for (a log to
grow, the runtime to answer) is cancelled.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

import msgspec

from flexlet.adapters.nodeserver import wire
from flexlet.adapters.nodeserver.peer import Peer, peer_of
from flexlet.adapters.nodeserver.wire import Answer, BadHead, Request

IDLE_S: Final = 90.0
"""How long a connection may wait for its next request."""
MAX_DRAINED_BYTES: Final = 1 << 20
"""No request needs a body; a larger one is not read and ends the connection."""

_log: Final = logging.getLogger(__name__)


class Streamed(msgspec.Struct, frozen=True):
    """A body that comes piece by piece; each is sent at once."""

    body: AsyncGenerator[bytes, None]
    content_type: str = wire.PLAIN


class Takeover(msgspec.Struct, frozen=True):
    """From here on the connection belongs to `run`, which also answers."""

    run: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


Reply = Answer | Streamed | Takeover
Handle = Callable[[Request, Peer], AbstractAsyncContextManager[Reply]]
"""Entered with a request; left when the reply has been sent."""


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handle: Handle) -> None:
    """Answer requests until the connection ends; raises nothing but cancellation."""
    try:
        refusal = await _serve_all(reader, writer, peer_of(writer), handle)
        if refusal is not None:
            await _send(writer, refusal, closes=True)
    except (ConnectionError, TimeoutError, asyncio.IncompleteReadError):
        return
    except Exception:  # noqa: BLE001 a bug in one answer must not end the endpoint
        _log.exception("a connection ends early")


async def _serve_all(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: Peer, handle: Handle
) -> Answer | None:
    """Answer requests until the last one, or until something comes that is none; how to refuse that."""
    try:
        while await _serve_one(reader, writer, peer, handle):
            pass
    except BadHead as error:
        return wire.error(400, f"400 Bad Request: {error}")
    except asyncio.LimitOverrunError:
        return wire.error(431, "431 Request Header Fields Too Large")
    return None


async def _serve_one(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: Peer, handle: Handle
) -> bool:
    """Answer one request; whether another may follow."""
    async with asyncio.timeout(IDLE_S):
        request = wire.parse_request(await reader.readuntil(b"\r\n\r\n"))
    length = wire.body_length(request)
    closes = not request.keeps_alive or length is None or length > MAX_DRAINED_BYTES
    if length and not closes:
        await reader.readexactly(length)
    async with handle(request, peer) as reply:
        match reply:
            case Takeover(run):
                await run(reader, writer)
                return False
            case Streamed():
                await _stream(writer, reply, closes=closes)
            case Answer():
                await _send(writer, reply, closes=closes, is_head=request.method == "HEAD")
    return not closes


async def _send(writer: asyncio.StreamWriter, answer: Answer, *, closes: bool, is_head: bool = False) -> None:
    writer.write(wire.response_head(answer, length=len(answer.body), closes=closes))
    if not is_head:
        writer.write(answer.body)
    await writer.drain()


async def _stream(writer: asyncio.StreamWriter, reply: Streamed, *, closes: bool) -> None:
    writer.write(wire.response_head(Answer(content_type=reply.content_type), length=None, closes=closes))
    await writer.drain()
    async with contextlib.aclosing(reply.body) as pieces:
        async for data in pieces:
            if data:
                writer.write(data if closes else wire.chunk(data))
                await writer.drain()
    if not closes:
        writer.write(wire.chunk(b""))
        await writer.drain()
