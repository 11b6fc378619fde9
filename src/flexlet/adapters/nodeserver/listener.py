"""A listening socket whose TLS context can be exchanged while it listens.

Each accepted connection takes the context of that moment, so a renewed certificate serves the next handshake and
no connection is cut. Without a context (the certificate was not issued yet) handshakes fail by closing.
"""

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Callable
from typing import Final, Self

from flexlet.adapters.nodeserver import connection
from flexlet.adapters.nodeserver.connection import Handle
from flexlet.adapters.nodeserver.wire import MAX_HEAD_BYTES
from flexlet.errors import ConfigError

HANDSHAKE_S: Final = 10.0
CLOSE_S: Final = 5.0
EXHAUSTED_S: Final = 1.0
"""How long to wait when there are no file descriptors left."""

_log: Final = logging.getLogger(__name__)


class Listener:
    """Made by `open`, which binds; `serve` accepts until it is cancelled."""

    def __init__(self, sock: socket.socket, handle: Handle, context: ssl.SSLContext | None, *, tls: bool) -> None:
        self._socket = sock
        self._handle = handle
        self._tls = tls
        self.context = context

    @classmethod
    def open(cls, host: str, port: int, handle: Handle, context: ssl.SSLContext | None, *, tls: bool) -> Self:
        """Bind, or ConfigError that says what to do; port 0 picks a free one."""
        try:
            return cls(_bound(host, port), handle, context, tls=tls)
        except OSError as error:
            raise ConfigError(
                f"cannot listen on {host}:{port}: {error.strerror}; stop what uses it or name another port"
            ) from error

    @property
    def port(self) -> int:
        """The real port."""
        number: int = self._socket.getsockname()[1]
        return number

    def close(self) -> None:
        """Let the port go; one that serves does so itself."""
        self._socket.close()

    async def serve(self) -> None:
        """Accept connections; every one is a task that ends before this does."""
        loop = asyncio.get_running_loop()
        with contextlib.closing(self._socket):
            async with asyncio.TaskGroup() as connections:
                while True:
                    try:
                        sock, _ = await loop.sock_accept(self._socket)
                    except OSError as error:
                        _log.warning("cannot accept connections: %s", error)
                        await asyncio.sleep(EXHAUSTED_S)
                        continue
                    connections.create_task(self._connection(sock))

    async def _connection(self, sock: socket.socket) -> None:
        if self._tls and self.context is None:
            sock.close()
            return
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        reader = asyncio.StreamReader(limit=MAX_HEAD_BYTES, loop=loop)
        protocol = _Protocol(reader, task.cancel if task else lambda: None)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            transport, _ = await loop.connect_accepted_socket(
                lambda: protocol,
                sock,
                ssl=self.context if self._tls else None,
                ssl_handshake_timeout=HANDSHAKE_S if self._tls else None,
                ssl_shutdown_timeout=CLOSE_S if self._tls else None,
            )
        except OSError:  # no TLS, no common version, a foreign certificate: the client was told by an alert
            sock.close()
            return
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        try:
            await connection.serve(reader, writer, self._handle)
        finally:
            protocol.is_ours_to_close()
            writer.close()
            with contextlib.suppress(OSError, TimeoutError):
                await asyncio.wait_for(writer.wait_closed(), CLOSE_S)


class _Protocol(asyncio.StreamReaderProtocol):
    """Tells the task that serves the connection when the peer is gone."""

    def __init__(self, reader: asyncio.StreamReader, on_lost: Callable[[], object]) -> None:
        super().__init__(reader)
        self._on_lost: Callable[[], object] | None = on_lost

    def is_ours_to_close(self) -> None:
        """From now on the end of the connection is no surprise."""
        self._on_lost = None

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._on_lost is not None:
            self._on_lost()


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6 and host == "::":
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.bind((host, port))
        sock.listen(128)
    except OSError:
        sock.close()
        raise
    sock.setblocking(False)
    return sock
