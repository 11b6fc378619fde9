"""One client's WebSocket on one side, SPDY streams of a node on the other: exec and attach.

A WebSocket message begins with the number of its channel; with ``v5`` the number 255 closes the channel that
follows. On the node's side each channel is a stream of its own. The node's error stream tells how the command
ended; when it is done, so are we.
"""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Final

from aiohttp import WSMsgType, web

from flexlet.apiserver.proxy.spdy import frames
from flexlet.apiserver.proxy.spdy.frames import Control, Data
from flexlet.apiserver.proxy.spdy.headers import HeaderBlocks
from flexlet.apiserver.proxy.upgrade import Bytes

STDIN: Final = 0
STDOUT: Final = 1
STDERR: Final = 2
ERROR: Final = 3
RESIZE: Final = 4
_CLOSE: Final = 255
_NAMES: Final = {ERROR: "error", STDIN: "stdin", STDOUT: "stdout", STDERR: "stderr", RESIZE: "resize"}


def channels(query: Mapping[str, Sequence[str]]) -> tuple[int, ...]:
    """Which channels a request has, in the order in which clients of the node open them."""
    wants = {name for name in ("stdin", "stdout", "stderr", "tty") if _is_set(query, name)}
    found = [ERROR]
    found += [STDIN] if "stdin" in wants else []
    found += [STDOUT] if "stdout" in wants else []
    found += [STDERR] if "stderr" in wants and "tty" not in wants else []
    found += [RESIZE] if "tty" in wants else []
    return tuple(found)


def _is_set(query: Mapping[str, Sequence[str]], name: str) -> bool:
    return (query.get(name) or ("",))[0] in {"true", "1", "True", "TRUE", "t", "T"}


class Translation:
    """One session."""

    def __init__(self, client: web.WebSocketResponse, node: Bytes, opened: tuple[int, ...]) -> None:
        self._client = client
        self._node = node
        self._blocks = HeaderBlocks()
        self._streams = {channel: 2 * index + 1 for index, channel in enumerate(opened)}
        self._channels = {stream: channel for channel, stream in self._streams.items()}
        self._ending = {channel for channel in opened if channel in {STDOUT, STDERR, ERROR}}

    async def run(self) -> None:
        """Open the streams, then move bytes both ways until the node is done or either side has gone."""
        for channel, stream in self._streams.items():
            block = self._blocks.write({"streamType": _NAMES[channel]})
            self._node.writer.write(frames.syn_stream(stream, block))
        await self._node.writer.drain()
        first = min((c for c in self._streams if c in {STDOUT, STDERR}), default=ERROR)
        await self._client.send_bytes(bytes([first]))
        tasks = [asyncio.create_task(self._from_client()), asyncio.create_task(self._from_node())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
            await self._client.close()

    async def _from_client(self) -> None:
        async for message in self._client:
            if message.type is WSMsgType.BINARY and message.data:
                self._forward(message.data)
                await self._node.writer.drain()

    def _forward(self, message: bytes) -> None:
        channel, payload = message[0], message[1:]
        if channel == _CLOSE and payload and (stream := self._streams.get(payload[0])) is not None:
            self._node.writer.write(frames.data(stream, b"", last=True))
        elif payload and (stream := self._streams.get(channel)) is not None:
            self._node.writer.write(frames.data(stream, payload))

    async def _from_node(self) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while self._ending:
                await self._take(await frames.read(self._node.reader))

    async def _take(self, frame: Data | Control) -> None:
        if isinstance(frame, Data):
            channel = self._channels.get(frame.stream)
            if channel is not None and frame.payload:
                await self._client.send_bytes(bytes([channel]) + frame.payload)
            if frame.last:
                self._ending.discard(channel if channel is not None else -1)
        elif frame.kind == frames.PING:
            self._node.writer.write(frames.pong(frame.payload))
        elif frame.kind in {frames.SYN_REPLY, frames.HEADERS, frames.SYN_STREAM}:
            self._closed_by(frame)
        elif frame.kind == frames.RST_STREAM:
            self._ending.discard(self._channels.get(frame.stream, -1))
        elif frame.kind == frames.GOAWAY:
            self._ending.clear()

    def _closed_by(self, frame: Control) -> None:
        if frame.flags & frames.FIN:
            self._ending.discard(self._channels.get(frame.stream, -1))


async def tunnel(client: web.WebSocketResponse, node: Bytes) -> None:
    """Port forwarding: the client's messages are the bytes of a SPDY connection already."""

    async def outward() -> None:
        async for message in client:
            if message.type is WSMsgType.BINARY:
                node.writer.write(message.data)
                await node.writer.drain()

    async def inward() -> None:
        while data := await node.reader.read(64 * 1024):
            await client.send_bytes(data)

    tasks = [asyncio.create_task(outward()), asyncio.create_task(inward())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, OSError):
                await task
        await client.close()
