"""One connection of the host to the exec server in the guest, and the commands that run through it.

Owned by one event loop. The session's listener task is the only reader; it hands each message to the command it is
about. A connection that breaks, or a server that starts anew, ends all commands with HypervisorGone: nobody knows
how far they got.
"""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator
from typing import Any, Literal

from flexlet.adapters.guest import wire
from flexlet.errors import HypervisorGone

Stream = Literal["out", "err"]
_AGAIN_S = 5.0
_LOST = "the connection to the guest was lost while a command ran; its outcome is unknown"


class Running:
    """A command under way in the guest."""

    def __init__(self, number: int, session: "Session") -> None:
        self._number = number
        self._session = session
        self._heard: asyncio.Queue[tuple[Stream, bytes] | int | None] = asyncio.Queue()
        self._room = wire.WINDOW
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._exit: int | None = None
        self._over = False
        self._lost = False

    async def write(self, data: bytes) -> None:
        """Hand it input; waits while the command does not read, and drops what comes after its end."""
        for start in range(0, len(data), wire.CHUNK):
            chunk = data[start : start + wire.CHUNK]
            while self._room <= 0 and not self._over:
                self._has_room.clear()
                await self._has_room.wait()
            if self._lost:
                raise HypervisorGone(_LOST)
            if self._over:
                return
            self._room -= len(chunk)
            await self._session.send({"id": self._number, "in": wire.pack(chunk)})

    async def finish_input(self) -> None:
        """Say that there is no more input."""
        await self._session.send({"id": self._number, "eof": 1})

    async def kill(self, number: int) -> None:
        """Send a signal to it and all it has started."""
        await self._session.send({"id": self._number, "kill": number})

    async def resize(self, rows: int, columns: int) -> None:
        """Tell its terminal about the size of the window."""
        await self._session.send({"id": self._number, "tty": [rows, columns]})

    async def output(self) -> AsyncIterator[tuple[Stream, bytes]]:
        """What it prints, as it comes; ends with the command."""
        while self._exit is None:
            heard = await self._heard.get()
            if heard is None:
                raise HypervisorGone(
                    "the connection to the guest was lost while a command ran; its outcome is unknown"
                )
            if isinstance(heard, int):
                self._exit = heard
                return
            yield heard
            await self._session.send({"id": self._number, "took": len(heard[1])})

    async def wait(self) -> int:
        """Its exit code, 128 and the signal if it was killed; output that nobody has read is dropped."""
        async for _ in self.output():
            pass
        if self._exit is None:
            raise HypervisorGone(
                "the connection to the guest was lost while a command ran; its outcome is unknown"
            )
        return self._exit

    def hear(self, message: dict[str, Any]) -> None:
        """Take a message of the guest about this command."""
        if "took" in message:
            self._room += int(message["took"])
            self._has_room.set()
        elif "exit" in message:
            self._heard.put_nowait(int(message["exit"]))
            self._over = True
            self._has_room.set()
        for stream in ("out", "err"):
            if stream in message:
                self._heard.put_nowait((stream, wire.unpack(message[stream])))

    def lose(self) -> None:
        """The connection is gone."""
        self._lost = self._over = True
        self._heard.put_nowait(None)
        self._has_room.set()


class Session:
    """One connection to the server, from its hello to its end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.lost = False
        self._reader = reader
        self._writer = writer
        self._running: dict[int, Running] = {}
        self._numbers = 0
        self._greeted = asyncio.Event()
        self._nonce = secrets.token_hex(8)
        self._listener = asyncio.create_task(self._listen(), name="guest exec")

    async def greet(self) -> None:
        """Wait until the server has answered, which is as soon as the guest runs it.

        A port that was hung up a moment ago may swallow what comes first, so it is said again; no command is
        under way yet that this could end.
        """
        while not self._greeted.is_set():
            await self._hello()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_AGAIN_S):
                    await self._greeted.wait()
        if self.lost:
            raise HypervisorGone("the machine has closed the port to its guest: it is ending, or has ended")

    async def start(self, message: dict[str, Any]) -> Running:
        """Run a command."""
        self._numbers += 1
        running = self._running[self._numbers] = Running(self._numbers, self)
        await self.send({"id": self._numbers, **message})
        return running

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message, or say that the connection is gone."""
        if self.lost:
            raise HypervisorGone("the connection to the guest was lost; its commands have ended with it")
        with contextlib.suppress(OSError):  # the listener learns of it too, and tells
            self._writer.write(wire.encode(message))
            await self._writer.drain()

    async def close(self) -> None:
        """Hang up; the guest ends what was running."""
        self._listener.cancel()
        await asyncio.gather(self._listener, return_exceptions=True)
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def _hello(self) -> None:
        self._writer.write(b"\n")  # ends a line that somebody else may have left unfinished
        await self.send({"hello": self._nonce})

    async def _listen(self) -> None:
        lines = wire.Lines()
        try:
            while data := await self._reader.read(wire.CHUNK):
                for message in lines.feed(data):
                    with contextlib.suppress(TypeError, ValueError, KeyError):
                        await self._hear(message)
        except OSError:
            pass
        finally:
            self._lose()
            self.lost = True
            self._greeted.set()

    async def _hear(self, message: dict[str, Any]) -> None:
        if "started" in message:
            self._lose()
            await self._hello()
        elif message.get("hello") == self._nonce:
            self._greeted.set()
        elif self._greeted.is_set() and "id" in message and message["id"] in self._running:
            self._running[message["id"]].hear(message)
            if "exit" in message:
                del self._running[message["id"]]

    def _lose(self) -> None:
        for running in self._running.values():
            running.lose()
        self._running.clear()
