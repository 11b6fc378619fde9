"""One D-Bus connection over a unix socket: who we are, calls and their answers, signals as they come.

A peer is systemd itself (its private socket, for root) or the system bus; a bus wants to be greeted first.
"""

import asyncio
import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from flexlet.adapters.units import wire
from flexlet.adapters.units.wire import Malformed, Message

BUS: Final = "org.freedesktop.DBus"
BUS_PATH: Final = "/org/freedesktop/DBus"
_LONGEST_LINE: Final = 4096

Result = TypeVar("Result")


class Refused(Exception):
    """The peer's answer to a call is an error; `name` is D-Bus's word for it."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(text or name)
        self.name = name


class Connection:
    """An open connection; `call` raises ConnectionError once it is broken, and it stays so."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        heard: Callable[[Message], None],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._heard = heard
        self._serials = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._listener = asyncio.get_running_loop().create_task(self._listen())

    @property
    def is_open(self) -> bool:
        """Whether answers can still come."""
        return not self._listener.done()

    async def call(
        self, destination: str, path: str, interface: str, member: str, signature: str = "", *body: Any
    ) -> tuple[Any, ...]:
        """Ask, and wait for the answer; Refused if it is an error."""
        if not self.is_open:
            raise ConnectionResetError("the peer has closed the connection")
        serial = next(self._serials)
        fields = {wire.DESTINATION: destination, wire.PATH: path, wire.INTERFACE: interface, wire.MEMBER: member}
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[serial] = answer
        try:
            self._writer.write(wire.encode(Message(wire.CALL, serial, fields, signature, body)))
            await self._writer.drain()
            reply = await answer
        finally:
            del self._waiting[serial]
        if reply.kind == wire.ERROR:
            text = reply.body[0] if reply.signature.startswith("s") else ""
            raise Refused(str(reply.fields.get(wire.ERROR_NAME, "")), str(text))
        return reply.body

    async def until(self, signalled: "asyncio.Future[Result]") -> Result:
        """Wait for what a signal brings; ConnectionError if none can come any more."""
        both: set[asyncio.Future[Any]] = {signalled, self._listener}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if not signalled.done():
            raise ConnectionResetError("the connection broke before the signal came")
        return signalled.result()

    def close(self) -> None:
        """Whoever waits is told that the connection is broken."""
        self._listener.cancel()
        self._writer.close()

    async def _listen(self) -> None:
        reason: Exception = ConnectionResetError("the connection was closed")
        try:
            while True:
                self._sort(await _message(self._reader))
        except (OSError, EOFError, Malformed) as error:
            reason = error
        finally:
            self._writer.close()
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(ConnectionResetError(f"the connection broke: {reason}"))

    def _sort(self, message: Message) -> None:
        if message.kind in {wire.REPLY, wire.ERROR}:
            answer = self._waiting.get(message.fields.get(wire.REPLY_SERIAL, 0))
            if answer is not None and not answer.done():
                answer.set_result(message)
        elif message.kind == wire.SIGNAL:
            self._heard(message)


async def connect(path: Path, heard: Callable[[Message], None], *, is_bus: bool) -> Connection:
    """Connect to the peer at `path` as the user we are; OSError if it does not let us in."""
    reader, writer = await asyncio.open_unix_connection(str(path))
    try:
        await _introduce(reader, writer)
        connection = Connection(reader, writer, heard)
    except BaseException:
        writer.close()
        raise
    if is_bus:
        try:
            await connection.call(BUS, BUS_PATH, BUS, "Hello")
        except BaseException:
            connection.close()
            raise
    return connection


async def _introduce(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """SASL EXTERNAL: the kernel vouches for the user id that we name."""
    name = str(os.geteuid()).encode().hex()
    writer.write(f"\0AUTH EXTERNAL {name}\r\n".encode())
    try:
        line = await reader.readuntil(b"\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise ConnectionRefusedError("the peer hung up instead of letting us in") from error
    if not line.startswith(b"OK "):
        raise ConnectionRefusedError(f"the peer answers {line[:_LONGEST_LINE]!r} instead of letting us in")
    writer.write(b"BEGIN\r\n")


async def _message(reader: asyncio.StreamReader) -> Message:
    head = await reader.readexactly(wire.HEAD)
    return wire.decode(head + await reader.readexactly(wire.length(head) - len(head)))
