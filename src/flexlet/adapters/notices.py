"""The Notices port: a file that always holds the last line, and a socket that sends it and every later one.

The file is for those who look now and then, the socket for those who must not be late. Only root may connect, as
with the runtime's own socket. A listener that does not read is let go: it can come back and gets what counts then.
"""

import asyncio
import contextlib
from pathlib import Path
from typing import Final

from flexlet.adapters import unixsocket
from flexlet.adapters.checkpoints import CheckpointFiles
from flexlet.errors import HostError

FILE: Final = "node_generation.json"
SOCKET: Final = "node_generation.sock"
_MOST_UNREAD: Final = 1 << 20


class NoticeBoard:
    """Obeys `flexlet.ports.notices.Notices`."""

    def __init__(self, directory: Path) -> None:
        self._files = CheckpointFiles(directory)
        self._file = directory / FILE
        self._socket = directory / SOCKET
        self._line = b""
        self._listeners: set[asyncio.StreamWriter] = set()

    async def tell(self, line: bytes) -> None:
        """Those who listen hear it even if the file cannot be written."""
        self._line = line
        for listener in tuple(self._listeners):
            if listener.transport.get_write_buffer_size() > _MOST_UNREAD:
                self._drop(listener)
            else:
                listener.write(line)
        await self._files.save(FILE, line)

    async def serve(self) -> None:
        """Until cancelled."""
        try:
            self._socket.parent.mkdir(parents=True, exist_ok=True)
            door = unixsocket.listening(self._socket)
        except OSError as error:
            raise HostError(f"cannot listen on {self._socket}: {error.strerror}") from error
        try:
            with door:
                server = await asyncio.start_unix_server(self._hear_out, sock=door)
                await server.serve_forever()
        finally:
            for listener in tuple(self._listeners):
                self._drop(listener)
            self._socket.unlink(missing_ok=True)

    def clear(self) -> None:
        """A node that does not follow its machine says nothing about it; an old file would be believed."""
        for path in (self._file, self._socket):
            path.unlink(missing_ok=True)

    async def _hear_out(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One listener, until it hangs up; what it says is of no interest."""
        self._listeners.add(writer)
        if self._line:
            writer.write(self._line)
        with contextlib.suppress(OSError):
            while await reader.read(1024):
                pass
        self._drop(writer)

    def _drop(self, listener: asyncio.StreamWriter) -> None:
        self._listeners.discard(listener)
        listener.transport.abort()
