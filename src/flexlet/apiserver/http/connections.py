"""Connections and how long they may keep us waiting.

aiohttp bounds the time between requests and nothing else. Here each connection knows since when something is owed
by its client: the end of its headers, the end of a body, reading what it is sent. One look a second at all of them
closes those that owe it for too long; a timer for each would cost every request. Connections are counted, too: by
address until their client has shown who it is, by user from then on.
"""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Final

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from flexlet.apiserver.http.wire import Wire

log: Final = logging.getLogger(__name__)

LOOK_S: Final = 1.0

Handle = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Connection(RequestHandler):
    """One client's connection."""

    __slots__ = (
        "_connections",
        "address",
        "body_since",
        "headers_since",
        "may_stand_still",
        "unread_since",
        "user",
    )

    def __init__(self, connections: "Connections", **options: Any) -> None:
        super().__init__(connections, **options)
        self._connections = connections
        self.address = ""
        self.user = ""
        self.headers_since: float | None = None
        self.body_since: float | None = None
        self.unread_since: float | None = None
        self.may_stand_still = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The handshake is done; the first request is due."""
        super().connection_made(transport)
        self.headers_since = self._connections.now()
        peer = transport.get_extra_info("peername")
        self.address = peer[0] if isinstance(peer, tuple) else str(peer)
        if isinstance(transport, asyncio.Transport) or hasattr(transport, "set_write_buffer_limits"):
            transport.set_write_buffer_limits(high=self._connections.wire.buffer_bytes)
        self._connections.come(self)

    def connection_lost(self, exc: BaseException | None) -> None:
        """The client is gone, or was closed."""
        self._connections.gone(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes of a request; until its headers are whole, time runs."""
        super().data_received(data)
        if self._current_request is not None or self._messages or self._request_in_progress:
            self.headers_since = None
        elif data and self.headers_since is None:
            self.headers_since = self._connections.now()

    def pause_writing(self) -> None:
        """The client does not read."""
        super().pause_writing()
        self.unread_since = self._connections.now()

    def resume_writing(self) -> None:
        """It does again."""
        super().resume_writing()
        self.unread_since = None

    def overdue(self, now: float) -> str:
        """What the client has owed for too long, if anything."""
        wire = self._connections.wire
        if self.headers_since is not None and now - self.headers_since > wire.header_s:
            return "headers"
        if self.unread_since is not None and not self.may_stand_still and now - self.unread_since > wire.write_s:
            return "reading"
        return ""

    def body_overdue(self, now: float) -> bool:
        """Whether a body has been under way for too long."""
        request = self._current_request
        if request is None or self.body_since is None or now - self.body_since <= self._connections.wire.body_s:
            return False
        return not request.content.is_eof()


class Connections(web.Server):
    """All connections of a listener."""

    def __init__(self, handle: Handle, wire: Wire, **options: Any) -> None:
        super().__init__(self._timed)
        self.wire = wire
        self.closed: Counter[str] = Counter()
        """Connections that were closed because of what their clients owed."""
        self._handle = handle
        self._options = options
        self._strangers: dict[str, dict[Connection, None]] = {}
        self._by_user: Counter[str] = Counter()
        self._looking: asyncio.Task[None] | None = None

    def __call__(self) -> Connection:
        """A connection was accepted."""
        if self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look(), name="connections")
        return Connection(self, loop=self._loop, **self._options)

    @staticmethod
    def now() -> float:
        """The loop's clock."""
        return asyncio.get_running_loop().time()

    def come(self, connection: Connection) -> None:
        """Count a stranger; of one address there may be so many, and the one that has been silent longest goes."""
        strangers = self._strangers.setdefault(connection.address, {})
        strangers[connection] = None
        if len(strangers) > self.wire.strangers:
            self._close(next(iter(strangers)), "strangers")

    def gone(self, connection: Connection) -> None:
        """Count a connection no more."""
        self._known(connection)
        if connection.user:
            self._by_user[connection.user] -= 1
            if not self._by_user[connection.user]:
                del self._by_user[connection.user]
            connection.user = ""

    def identified(self, connection: Connection, user: str, *, bounded: bool) -> bool:
        """Count a connection as its user's; False if that is one too many."""
        if connection.user == user:
            return True
        if bounded and self._by_user[user] >= self.wire.connections:
            self.closed["connections"] += 1
            return False
        self.gone(connection)
        connection.user = user
        self._by_user[user] += 1
        return True

    async def stop_looking(self) -> None:
        """End the look at what is owed."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    def _known(self, connection: Connection) -> None:
        strangers = self._strangers.get(connection.address)
        if strangers is not None:
            strangers.pop(connection, None)
            if not strangers:
                del self._strangers[connection.address]

    async def _timed(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = request.protocol
        if isinstance(connection, Connection):
            upgraded = "Upgrade" in request.headers
            connection.headers_since = None
            connection.may_stand_still = upgraded
            connection.body_since = None if upgraded or not request.body_exists else self.now()
        return await self._handle(request)

    async def _look(self) -> None:
        wire = self.wire
        pause = min(LOOK_S, wire.header_s / 4, wire.body_s / 4, wire.write_s / 4)
        while True:
            await asyncio.sleep(pause)
            now = self.now()
            for connection in self.connections:
                if isinstance(connection, Connection):
                    self._look_safely(connection, now)

    def _look_safely(self, connection: Connection, now: float) -> None:
        """One connection that cannot be looked at or closed must not keep the others from their bounds."""
        try:
            self._look_at(connection, now)
        except Exception:
            log.exception("cannot look at a connection of %s", connection.address)

    def _look_at(self, connection: Connection, now: float) -> None:
        request = connection._current_request  # noqa: SLF001  aiohttp has no other name for it
        if why := connection.overdue(now):
            self._close(connection, why)
        elif request is not None and connection.body_overdue(now):
            self.closed["body"] += 1
            fault = web.RequestPayloadError(f"the body did not arrive within {self.wire.body_s:g} s")
            request.content.set_exception(fault)

    def _close(self, connection: Connection, why: str) -> None:
        self.closed[why] += 1
        log.info("a connection of %s is closed: it owes %s", connection.address, why)
        self._known(connection)
        transport = connection.transport
        connection.force_close()
        abort(transport)


def abort(transport: asyncio.WriteTransport | None) -> None:
    """Drop a connection with what is still to be sent; Python before 3.11.4 raises where TLS has ended already."""
    if transport is not None:
        with contextlib.suppress(AttributeError):
            transport.abort()


def identify(request: web.BaseRequest, user: str, *, bounded: bool) -> bool:
    """Count the request's connection as a user's; False if the user has too many."""
    connection = request.protocol
    if not isinstance(connection, Connection):
        return True
    return connection._connections.identified(connection, user, bounded=bounded)  # noqa: SLF001  the same file


def stand_still(request: web.BaseRequest) -> None:
    """Let the client of this request stop reading for as long as it likes, as people do with logs."""
    if isinstance(request.protocol, Connection):
        request.protocol.may_stand_still = True
