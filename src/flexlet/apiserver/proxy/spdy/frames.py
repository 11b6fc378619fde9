"""Frames as bytes: the ones we send, and a reader for the ones we get."""

import asyncio
import struct
from typing import Final

import msgspec

VERSION: Final = 3
FIN: Final = 0x01
SYN_STREAM: Final = 1
SYN_REPLY: Final = 2
RST_STREAM: Final = 3
PING: Final = 6
GOAWAY: Final = 7
HEADERS: Final = 8

_CONTROL: Final = 0x8000
_LARGEST: Final = 0xFFFFFF


class Data(msgspec.Struct, frozen=True):
    """Bytes of a stream; `last` if none will follow."""

    stream: int
    payload: bytes
    last: bool


class Control(msgspec.Struct, frozen=True):
    """Anything else."""

    kind: int
    flags: int
    payload: bytes

    @property
    def stream(self) -> int:
        """Which stream it is about, for kinds that name one first."""
        return int.from_bytes(self.payload[:4], "big") & 0x7FFFFFFF


def data(stream: int, payload: bytes, *, last: bool = False) -> bytes:
    """Bytes for a stream, in as many frames as they need."""
    pieces = [payload[at : at + _LARGEST] for at in range(0, len(payload), _LARGEST)] or [b""]
    frames = [
        struct.pack(">II", stream, ((FIN if last and piece is pieces[-1] else 0) << 24) | len(piece)) + piece
        for piece in pieces
    ]
    return b"".join(frames)


def syn_stream(stream: int, block: bytes) -> bytes:
    """Open a stream."""
    return _control(SYN_STREAM, 0, struct.pack(">IIH", stream, 0, 0) + block)


def pong(payload: bytes) -> bytes:
    """The answer to a ping is the same ping."""
    return _control(PING, 0, payload)


def _control(kind: int, flags: int, payload: bytes) -> bytes:
    return struct.pack(">HHI", _CONTROL | VERSION, kind, (flags << 24) | len(payload)) + payload


async def read(reader: asyncio.StreamReader) -> Data | Control:
    """The next frame; IncompleteReadError when the other side has closed."""
    first, second = struct.unpack(">II", await reader.readexactly(8))
    flags, size = second >> 24, second & _LARGEST
    payload = await reader.readexactly(size)
    if first & 0x80000000:
        return Control(first & 0xFFFF, flags, payload)
    return Data(first & 0x7FFFFFFF, payload, bool(flags & FIN))
