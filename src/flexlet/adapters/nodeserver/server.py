"""The endpoint on its ports: HTTPS for everything, and plain health on loopback.

The plain page is for supervisors of the process; it only says that the process answers.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

from flexlet.adapters.nodeserver import pages, wire
from flexlet.adapters.nodeserver.connection import Reply
from flexlet.adapters.nodeserver.endpoint import Endpoint
from flexlet.adapters.nodeserver.listener import Listener
from flexlet.adapters.nodeserver.peer import Peer
from flexlet.adapters.nodeserver.settings import Settings
from flexlet.adapters.nodeserver.wire import Request


class NodeServer:
    """Made by `open`, which binds the ports; `serve` answers until it is cancelled."""

    def __init__(self, listener: Listener, health: Listener | None) -> None:
        self._listener = listener
        self._health = health

    @classmethod
    def open(cls, settings: Settings, endpoint: Endpoint, context: ssl.SSLContext | None) -> Self:
        """Bind; ConfigError if a port is taken. Without a context handshakes fail until `reload`."""
        listener = Listener.open(settings.address, settings.port, endpoint.handle, context, tls=True)
        if not settings.health_port:
            return cls(listener, None)
        where = (settings.health_address, settings.health_port)
        return cls(listener, Listener.open(*where, _health, None, tls=False))

    @property
    def port(self) -> int:
        """The endpoint's real port."""
        return self._listener.port

    def reload(self, context: ssl.SSLContext) -> None:
        """Serve new connections with another certificate or client CA."""
        self._listener.context = context

    def close(self) -> None:
        """Let the ports go, served or not."""
        self._listener.close()
        if self._health is not None:
            self._health.close()

    async def serve(self) -> None:
        """Answer until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._listener.serve())
            if self._health is not None:
                group.create_task(self._health.serve())


@asynccontextmanager
async def _health(request: Request, peer: Peer) -> AsyncIterator[Reply]:
    del peer
    if request.segments in {("healthz",), ("healthz", "ping")}:
        yield pages.health(request.segments[1:], request, ("ping",), {})
    else:
        yield wire.error(404, "404 page not found")
