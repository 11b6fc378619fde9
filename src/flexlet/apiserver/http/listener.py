"""The listening socket: aiohttp's low-level server under TLS, no application, no router.

Like Go's server, it takes long URLs and headers (label selectors are some), leaves bodies as they were sent, and
answers what is not HTTP with a plain 400.
"""

import logging
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from flexlet.errors import ConfigError

SHUTDOWN_S: Final = 1.0
KEEPALIVE_S: Final = 75.0
MAX_HEADER_BYTES: Final = 1 << 20

Handle = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Listener:
    """A running HTTPS server; `port` is the real one."""

    def __init__(self, runner: web.ServerRunner, port: int) -> None:
        self._runner = runner
        self.port = port

    @classmethod
    async def open(cls, handle: Handle, host: str, port: int, tls: ssl.SSLContext | None) -> "Listener":
        """Bind and serve; port 0 picks a free one."""
        server = web.Server(
            handle,
            access_log=None,
            logger=_connections_log(),
            keepalive_timeout=KEEPALIVE_S,
            auto_decompress=False,
            max_line_size=MAX_HEADER_BYTES,
            max_field_size=MAX_HEADER_BYTES,
        )
        runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=SHUTDOWN_S)
        await runner.setup()
        try:
            sock = _bound(host, port)
        except OSError as error:
            await runner.cleanup()
            raise ConfigError(
                f"cannot listen on {host}:{port}: {error.strerror}; stop what uses it or name another port"
            ) from error
        site = web.SockSite(runner, sock, ssl_context=tls)
        await site.start()
        return cls(runner, sock.getsockname()[1])

    async def close(self) -> None:
        """Stop accepting, end what runs."""
        await self._runner.cleanup()


def _connections_log() -> logging.Logger:
    """Where aiohttp reports what goes wrong; that a client does not speak HTTP is not our trouble."""
    log = logging.getLogger(__name__)
    log.addFilter(_is_ours)
    return log


def _is_ours(record: logging.LogRecord) -> bool:
    return record.exc_info is None or not isinstance(record.exc_info[1], HttpProcessingError)


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(1024)
    except OSError:
        sock.close()
        raise
    sock.setblocking(False)
    return sock
