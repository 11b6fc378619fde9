"""The guest's serial console: read once from QEMU, handed to the pod's log and to everybody at the console socket.

What people type goes to the guest; who reads too slowly is cut off, because a terminal that is out of date is of
no use and the guest must not wait.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

from flexlet.adapters import unixsocket

_CHUNK: Final = 65536
_BACKLOG: Final = 1 << 20
_KEPT: Final = 16 * 1024
"""What a new reader sees first, so that a terminal does not begin empty."""


class SerialConsole:
    """One console, many readers."""

    def __init__(self, show: Callable[[bytes], None]) -> None:
        self._show = show
        self._readers: set[asyncio.StreamWriter] = set()
        self._guest: asyncio.StreamWriter | None = None
        self._shown: deque[bytes] = deque()

    async def follow(self, path: Path) -> None:
        """Read what the guest writes until QEMU closes its end."""
        reader, self._guest = await asyncio.open_unix_connection(sock=unixsocket.connected(path))
        try:
            while data := await reader.read(_CHUNK):
                self._keep(data)
                await asyncio.to_thread(self._show, data)
                self._hand_out(data)
        except OSError:
            pass  # QEMU was killed
        finally:
            self._guest.close()
            self._guest = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Be the console of one reader until it hangs up."""
        writer.write(b"".join(self._shown))
        self._readers.add(writer)
        try:
            while data := await reader.read(_CHUNK):
                if self._guest is not None:
                    self._guest.write(data)
        except OSError:
            pass
        finally:
            self._readers.discard(writer)
            writer.close()

    def close(self) -> None:
        """Let all readers go."""
        for writer in list(self._readers):
            writer.close()

    def _hand_out(self, data: bytes) -> None:
        for writer in list(self._readers):
            if writer.transport.get_write_buffer_size() > _BACKLOG:
                self._readers.discard(writer)
                writer.transport.abort()
            else:
                writer.write(data)

    def _keep(self, data: bytes) -> None:
        self._shown.append(data)
        while sum(map(len, self._shown)) - len(self._shown[0]) > _KEPT:
            self._shown.popleft()
