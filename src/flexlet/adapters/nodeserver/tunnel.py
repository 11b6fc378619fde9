"""A connection passed through to the container runtime's streaming server, byte by byte.

The request's head goes on as it came, the answer's head comes back as it came, and after a 101 nothing is looked
at any more: SPDY and WebSockets alike. That works for whatever the runtime speaks. What it does not speak the API
server translates, as long as the node does not declare the feature ExtendWebSocketsToKubelet.
"""

import asyncio
import contextlib
import ssl
from typing import Final
from urllib.parse import urlsplit

from flexlet.adapters.nodeserver import wire
from flexlet.adapters.nodeserver.peer import Peer
from flexlet.adapters.nodeserver.wire import BadHead, Request

CONNECT_S: Final = 30.0
RELAY_S: Final = 10.0
_BLOCK: Final = 1 << 16

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def run(url: str, request: Request, peer: Peer, client: Ends) -> None:
    """Join a client to the stream at `url`, which can be used once."""
    try:
        runtime = await _connected(url, request, peer)
    except (OSError, TimeoutError) as error:
        await _refuse(client, f"error dialing backend: {str(error) or 'timed out'}")
        return
    try:
        await _upgrade(runtime, client)
    finally:
        runtime[1].close()
        with contextlib.suppress(OSError):
            await runtime[1].wait_closed()


async def _connected(url: str, request: Request, peer: Peer) -> Ends:
    where = urlsplit(url)
    secure = where.scheme == "https"
    async with asyncio.timeout(CONNECT_S):
        reader, writer = await asyncio.open_connection(
            where.hostname or "127.0.0.1",
            where.port or (443 if secure else 80),
            ssl=ssl.create_default_context() if secure else None,
            limit=wire.MAX_HEAD_BYTES,
        )
    writer.write(_head(where.path, where.query, request, peer))
    return reader, writer


def _head(path: str, query: str, request: Request, peer: Peer) -> bytes:
    target = f"{path or '/'}?{query}" if query else path or "/"
    head = f"{request.method} {target} HTTP/1.1\r\n".encode()
    return head + request.raw_headers + f"X-Forwarded-For: {peer.address}\r\n\r\n".encode()


async def _upgrade(runtime: Ends, client: Ends) -> None:
    try:
        async with asyncio.timeout(CONNECT_S):
            head = await runtime[0].readuntil(b"\r\n\r\n")
        code, headers = wire.parse_response(head)
    except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, BadHead) as error:
        await _refuse(client, f"error reading the runtime's answer: {str(error) or type(error).__name__}")
        return
    if code == 101:
        client[1].write(head)
        await _join(runtime, client)
    elif code >= 400:
        client[1].write(head)
        await _relay(runtime[0], client[1], headers)
    else:
        await _refuse(client, f"invalid upgrade response: status code {code}")


async def _join(runtime: Ends, client: Ends) -> None:
    """Both ways until one side ends."""
    pumps = {
        asyncio.create_task(_pump(runtime[0], client[1])),
        asyncio.create_task(_pump(client[0], runtime[1])),
    }
    try:
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(_BLOCK):
            sink.write(data)
            await sink.drain()


async def _relay(source: asyncio.StreamReader, sink: asyncio.StreamWriter, headers: dict[str, str]) -> None:
    """The body of a refusal, to its end; the connection closes after it."""
    length = headers.get("content-length", "")
    with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
        async with asyncio.timeout(RELAY_S):
            if length.isdecimal():
                sink.write(await source.readexactly(int(length)))
            elif "chunked" in headers.get("transfer-encoding", "").lower():
                await _relay_chunks(source, sink)
            else:
                await _pump(source, sink)
            await sink.drain()


async def _relay_chunks(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while True:
        size = await source.readuntil(b"\r\n")
        body = await source.readexactly(int(size.split(b";")[0], 16) + 2)
        sink.write(size + body)
        if body == b"\r\n":
            return


async def _refuse(client: Ends, message: str) -> None:
    answer = wire.error(500, message)
    client[1].write(wire.response_head(answer, length=len(answer.body), closes=True) + answer.body)
    await client[1].drain()
