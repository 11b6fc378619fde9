"""The control socket: several clients, each tells orders and is told reports, as lines of JSON."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from flexlet.adapters import unixsocket
from flexlet.adapters.launcher.board import Board
from flexlet.core.vm import control
from flexlet.core.vm.guest import Order
from flexlet.errors import InputError

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class ControlServer:
    """What a client of the control socket meets."""

    def __init__(self, board: Board, obey: Callable[[Order], None]) -> None:
        self._board = board
        self._obey = obey

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Talk with one client until it hangs up or the machine has ended."""
        hearing = asyncio.create_task(self._hear(reader))
        telling = asyncio.create_task(self._tell(writer))
        try:
            await asyncio.wait((hearing, telling), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (hearing, telling):
                task.cancel()
            await asyncio.gather(hearing, telling, return_exceptions=True)
            writer.close()

    async def _hear(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError, ValueError):
            while line := await reader.readline():
                try:
                    self._obey(control.order(line))
                except InputError as error:
                    self._board.update(message=str(error))

    async def _tell(self, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            async for report in self._board.reports():
                writer.write(control.line(report))
                await writer.drain()


@contextlib.asynccontextmanager
async def listening(path: Path, serve: Serve, patience_s: float = 2.0) -> AsyncIterator[None]:
    """Serve everybody at a socket; at the end clients have that long to read what was last said."""
    clients: set[asyncio.Task[None]] = set()

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            clients.add(task)
            task.add_done_callback(clients.discard)
        await serve(reader, writer)

    server = await asyncio.start_unix_server(client, sock=unixsocket.listening(path), limit=control.LINE_LIMIT)
    try:
        yield
    finally:
        server.close()
        _forget(path)
        if clients:
            _, late = await asyncio.wait(clients, timeout=patience_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


def _forget(path: Path) -> None:
    path.unlink(missing_ok=True)
