"""The socket in the data directory through which commands on the same host reach a running server.

It is for what no client of the API may do: writing a backup, reading the data file while the server locks it.
Only the user that runs the server, and root, can connect. One line of JSON asks, one line answers.
"""

import asyncio
import os
import socket
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final, Literal

import msgspec

from flexlet.apiserver import backup, datacheck
from flexlet.apiserver.backup import Report
from flexlet.apiserver.store.encryption import Encryption
from flexlet.apiserver.store.store import Store
from flexlet.errors import ConfigError, FlexletError

SOCKET: Final = "control.sock"
PATIENCE_S: Final = 600.0


class Request(msgspec.Struct, frozen=True):
    """What a command asks for; `file` is where a backup goes, absolute."""

    command: Literal["backup", "check"]
    file: str = ""


class Response(msgspec.Struct, frozen=True):
    """A report, or what was in the way of it."""

    report: Report | None = None
    error: str = ""


@asynccontextmanager
async def listening(data: Path, store: Store, encryption: Encryption) -> AsyncIterator[None]:
    """Answer commands while the context is open; the data file's lock is ours, so is the socket."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            if _is_welcome(writer.get_extra_info("socket")):
                response = await _respond(await reader.readline(), data, store, encryption)
                writer.write(msgspec.json.encode(response) + b"\n")
                await writer.drain()
        writer.close()

    with _reachable(data) as address:
        (data / SOCKET).unlink(missing_ok=True)
        server = await asyncio.start_unix_server(answer, address)
        (data / SOCKET).chmod(0o600)
        try:
            yield
        finally:
            server.close()
            (data / SOCKET).unlink(missing_ok=True)


async def _respond(line: bytes, data: Path, store: Store, encryption: Encryption) -> Response:
    try:
        request = msgspec.json.decode(line, type=Request)
        if request.command == "check":
            return Response(await datacheck.check_running(store))
        target, snapshot = Path(request.file), store.snapshot()
        return Response(await asyncio.to_thread(backup.back_up, data, target, snapshot, encryption))
    except (FlexletError, msgspec.MsgspecError, OSError) as error:
        return Response(error=str(error))


def ask(data: Path, request: Request) -> Report | None:
    """What the server that uses a directory answers; None if there is none.

    Raises:
        ConfigError: it refuses.
    """
    with socket.socket(socket.AF_UNIX) as connection, _reachable(data) as address:
        connection.settimeout(PATIENCE_S)
        try:
            connection.connect(address)
        except (FileNotFoundError, ConnectionRefusedError):
            return None
        connection.sendall(msgspec.json.encode(request) + b"\n")
        with connection.makefile("rb") as file:
            line = file.readline()
    if not line:
        raise ConfigError(f"the server that uses {data} runs as another user; run this command as that user")
    response = msgspec.json.decode(line, type=Response)
    if response.report is None:
        raise ConfigError(response.error)
    return response.report


@contextmanager
def _reachable(data: Path) -> Iterator[str]:
    """The address of the socket, however long the directory's path: an address has room for 107 bytes."""
    descriptor = os.open(data, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)


def _is_welcome(connection: socket.socket) -> bool:
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, uid, _ = struct.unpack("3i", credentials)
    return uid in {0, os.geteuid()}
