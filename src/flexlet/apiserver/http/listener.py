"""The listening socket: aiohttp's low-level server under TLS, no application, no router.

Like Go's server, it takes long URLs and headers (label selectors are some), leaves bodies as they were sent, and
answers what is not HTTP with a plain 400.
"""

import asyncio
import logging
import socket
import ssl
from typing import Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from flexlet.apiserver.http.connections import Connections, Handle
from flexlet.apiserver.http.wire import DEFAULT, Wire
from flexlet.errors import ConfigError, InvariantBroken

SHUTDOWN_S: Final = 1.0
MAX_HEADER_BYTES: Final = 1 << 20


class Listener:
    """A running HTTPS server; `port` is the real one."""

    def __init__(self, runner: web.ServerRunner, connections: Connections, port: int) -> None:
        self._runner = runner
        self.connections = connections
        self.port = port

    @classmethod
    async def open(
        cls, handle: Handle, host: str, port: int, tls: ssl.SSLContext | None, wire: Wire = DEFAULT
    ) -> "Listener":
        """Bind and serve; port 0 picks a free one."""
        server = Connections(
            handle,
            wire,
            access_log=None,
            logger=_connections_log(),
            keepalive_timeout=wire.idle_s,
            auto_decompress=False,
            max_line_size=MAX_HEADER_BYTES,
            max_field_size=MAX_HEADER_BYTES,
        )
        runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=SHUTDOWN_S)
        await runner.setup()
        try:
            sock = _bound(host, port, wire.socket_bytes)
        except OSError as error:
            await runner.cleanup()
            raise ConfigError(
                f"cannot listen on {host}:{port}: {error.strerror}; stop what uses it or name another port"
            ) from error
        await _Site(runner, sock, tls, wire.handshake_s).start()
        return cls(runner, server, sock.getsockname()[1])

    async def close(self) -> None:
        """Stop accepting, end what runs."""
        await self.connections.stop_looking()
        await self._runner.cleanup()


class _Site(web.SockSite):
    """A site whose clients have so long for the TLS handshake."""

    def __init__(
        self, runner: web.ServerRunner, sock: socket.socket, tls: ssl.SSLContext | None, handshake_s: float
    ) -> None:
        super().__init__(runner, sock, ssl_context=tls)
        self._handshake_s = handshake_s if tls is not None else None

    async def start(self) -> None:
        """Serve."""
        await web.BaseSite.start(self)
        connections = self._runner.server
        if connections is None:
            raise InvariantBroken("the runner was not set up")
        self._server = await asyncio.get_running_loop().create_server(
            connections,
            sock=self._sock,
            ssl=self._ssl_context,
            backlog=self._backlog,
            ssl_handshake_timeout=self._handshake_s,
        )


def _connections_log() -> logging.Logger:
    """Where aiohttp reports what goes wrong; a client that speaks no HTTP or hangs up is not our trouble."""
    log = logging.getLogger(__name__)
    log.addFilter(_is_ours)
    return log


def _is_ours(record: logging.LogRecord) -> bool:
    return record.exc_info is None or not isinstance(record.exc_info[1], HttpProcessingError | ConnectionError)


def _bound(host: str, port: int, send_bytes: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Accepted sockets inherit it: else the kernel takes megabytes for each client that does not read.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_bytes)
        sock.bind((host, port))
        sock.listen(1024)
    except OSError:
        sock.close()
        raise
    sock.setblocking(False)
    return sock
