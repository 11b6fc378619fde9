"""A connection to a node that has been upgraded and is plain bytes from then on."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from typing import Final

from flexlet.api import status
from flexlet.apiserver.proxy import trust
from flexlet.apiserver.proxy.hosts import IpAddress
from flexlet.apiserver.proxy.target import Target

SPDY: Final = "SPDY/3.1"
_CONNECT_S: Final = 10.0
_SWITCHING: Final = 101
_HEAD: Final = 64 * 1024


class Bytes:
    """Both ends of an upgraded connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, protocol: str) -> None:
        self.reader = reader
        self.writer = writer
        self.protocol = protocol
        """The stream protocol that the node chose."""


@contextlib.asynccontextmanager
async def spdy(
    where: Target, address: IpAddress, tls: ssl.SSLContext, protocols: tuple[str, ...]
) -> AsyncIterator[Bytes]:
    """Ask the node, at the address that was checked, to speak SPDY; an ApiError says why it does not."""
    try:
        async with asyncio.timeout(_CONNECT_S):
            reader, writer = await asyncio.open_connection(
                str(address), where.port, ssl=tls, server_hostname=where.name, limit=_HEAD
            )
    except (OSError, TimeoutError) as error:
        raise unreachable(where, error) from error
    try:
        writer.write(_request(where, protocols))
        head = await _head(reader, where)
        yield Bytes(reader, writer, head.get("x-stream-protocol-version", ""))
    finally:
        writer.close()
        with contextlib.suppress(OSError, ssl.SSLError):
            await writer.wait_closed()


def _request(where: Target, protocols: tuple[str, ...]) -> bytes:
    lines = [
        f"POST {where.path} HTTP/1.1",
        f"Host: {where.authority}",
        "Connection: Upgrade",
        f"Upgrade: {SPDY}",
        *(f"X-Stream-Protocol-Version: {protocol}" for protocol in protocols),
        "Content-Length: 0",
        "",
        "",
    ]
    return "\r\n".join(lines).encode()


async def _head(reader: asyncio.StreamReader, where: Target) -> dict[str, str]:
    try:
        raw = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError) as error:
        raise unreachable(where, error) from error
    code = _code(raw[0])
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in raw[1:])}
    if code == _SWITCHING:
        return fields
    text = (await _body(reader, fields.get("content-length", ""))).decode(errors="replace").strip()
    if code == 404:
        raise status.failure(404, "NotFound", text or "the node does not know this container")
    reason = "BadRequest" if code == 400 else "InternalError"
    raise status.failure(code if code >= 400 else 500, reason, f"unable to upgrade connection: {text}")


def _code(line: str) -> int:
    """The code of a status line; 500 for what is none, since a node may say anything."""
    word = [*line.split(" "), "", ""][1]
    return int(word) if word.isascii() and word.isdecimal() and len(word) == 3 else 500


async def _body(reader: asyncio.StreamReader, length: str) -> bytes:
    size = min(int(length), _HEAD) if length.isascii() and length.isdecimal() and len(length) < 10 else 0
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(_CONNECT_S):
            return await reader.read(size)
    return b""


def unreachable(where: Target, error: BaseException) -> status.ApiError:
    """What the caller is told when the node cannot be reached."""
    verb = where.path.split("/")[1]
    detail = f"error dialing node {where.authority} for {verb}: {trust.explained(error)}"
    return status.failure(500, "InternalError", f"Internal error occurred: {detail}")
