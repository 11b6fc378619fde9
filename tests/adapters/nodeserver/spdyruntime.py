"""A runtime's streaming server that speaks SPDY, as containerd's does: exec shouts, ports answer backwards."""

import asyncio
import struct

from flexlet.apiserver.proxy.spdy import frames
from flexlet.apiserver.proxy.spdy.headers import HeaderBlocks

SUCCESS = b'{"metadata":{},"status":"Success"}'
CHANNELS = "v4.channel.k8s.io"
FORWARD = "portforward.k8s.io"


class Session:
    """One connection: streams by their kind, answered as they are opened."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._blocks = HeaderBlocks()
        self.streams: dict[str, int] = {}

    async def next(self) -> frames.Data:
        """The next bytes of a stream; streams that are opened meanwhile are accepted."""
        while True:
            frame = await frames.read(self._reader)
            if isinstance(frame, frames.Data):
                return frame
            self._obey(frame)

    async def opened(self, count: int) -> None:
        """Wait until there are so many streams."""
        while len(self.streams) < count:
            frame = await frames.read(self._reader)
            assert isinstance(frame, frames.Control)
            self._obey(frame)

    def _obey(self, frame: frames.Control) -> None:
        if frame.kind == frames.SYN_STREAM:
            self.streams[self._blocks.read(frame.payload[10:])["streamtype"]] = frame.stream
            block = struct.pack(">I", frame.stream) + self._blocks.write({})
            self._writer.write(struct.pack(">HHI", 0x8003, frames.SYN_REPLY, len(block)) + block)
        elif frame.kind == frames.PING:
            self._writer.write(frames.pong(frame.payload))

    def say(self, kind: str, payload: bytes) -> None:
        """All there is to say on a stream."""
        if kind in self.streams:
            self._writer.write(frames.data(self.streams[kind], payload, last=True))


async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve one connection."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    assert "Upgrade: SPDY/3.1\r\n" in head
    protocol = FORWARD if f"X-Stream-Protocol-Version: {FORWARD}\r\n" in head else CHANNELS
    writer.write(
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
        + f"X-Stream-Protocol-Version: {protocol}\r\n\r\n".encode()
    )
    session = Session(reader, writer)
    await (_forward(session) if protocol == FORWARD else _exec(session))
    await writer.drain()
    await reader.read()  # the other side closes


async def _exec(session: Session) -> None:
    said = b""
    while not (frame := await session.next()).last or frame.stream != session.streams.get("stdin"):
        said += frame.payload if frame.stream == session.streams.get("stdin") else b""
    session.say("stdout", (said + frame.payload).upper())
    session.say("stderr", b"done\n")
    session.say("error", SUCCESS)


async def _forward(session: Session) -> None:
    """Until the client leaves; each piece is answered at once."""
    while True:
        frame = await session.next()
        if frame.stream == session.streams.get("data") and frame.payload:
            session.say("data", frame.payload[::-1])
            session.say("error", b"")
