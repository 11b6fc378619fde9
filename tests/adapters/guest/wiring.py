"""A serial port without a machine: the real server, the real client, and between them what QEMU does.

The server's end stays open for good, as the guest's device file does; clients come and go at a unix socket, one
at a time, and bytes of one that has left may still reach the other end. That is what a virtio-serial port is
like when nobody notices the disconnect.
"""

import asyncio
import contextlib
import socket
import threading
from collections.abc import AsyncIterator
from pathlib import Path

from flexlet.adapters.guest.server import Loop, Port


class Wire:
    """The relay between client sockets and the server's end."""

    def __init__(self, host_end: socket.socket) -> None:
        self._host_end = host_end
        self._one_at_a_time = asyncio.Lock()
        self.clients: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with self._one_at_a_time:
            self.clients.append(writer)
            incoming = asyncio.create_task(self._to_client(writer))
            with contextlib.suppress(OSError):
                while data := await reader.read(65536):
                    await asyncio.get_running_loop().sock_sendall(self._host_end, data)
            incoming.cancel()
            await asyncio.gather(incoming, return_exceptions=True)
            self.clients.remove(writer)
            writer.close()

    async def idle(self) -> None:
        """Wait until the last client has gone."""
        async with self._one_at_a_time:
            pass

    async def inject(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self._host_end, data)

    async def _to_client(self, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await asyncio.get_running_loop().sock_recv(self._host_end, 65536):
                writer.write(data)
                await writer.drain()


@contextlib.asynccontextmanager
async def guest_server(path: Path) -> AsyncIterator[Wire]:
    """A server whose port is the unix socket at `path`."""
    host_end, guest_end = socket.socketpair()
    host_end.setblocking(False)
    stop = threading.Event()
    thread = threading.Thread(target=_serve, args=(guest_end, stop))
    thread.start()
    wire = Wire(host_end)
    server = await asyncio.start_unix_server(wire.serve, path)
    try:
        yield wire
    finally:
        server.close()
        for client in list(wire.clients):
            client.close()
        await wire.idle()
        stop.set()
        host_end.close()
        await asyncio.to_thread(thread.join)
        guest_end.close()


def _serve(guest_end: socket.socket, stop: threading.Event) -> None:
    loop = Loop()
    Port(guest_end.fileno(), loop)
    while not stop.is_set():
        loop.run_once(0.5)
    loop.close()
