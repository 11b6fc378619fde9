"""One request to the node: who asks, may they, what do they want, who answers.

Everything passes authentication and authorization, health and unknown pages too. Requests are counted from their
head to the end of their stream.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Protocol

from flexlet.adapters.meters import Ledger
from flexlet.adapters.nodeserver import routes, varlog, wire
from flexlet.adapters.nodeserver.authentication import Authenticator
from flexlet.adapters.nodeserver.authorization import Authorizer
from flexlet.adapters.nodeserver.connection import Reply
from flexlet.adapters.nodeserver.logs import LogPages
from flexlet.adapters.nodeserver.pages import Pages
from flexlet.adapters.nodeserver.peer import Peer
from flexlet.adapters.nodeserver.reviews import Reviews
from flexlet.adapters.nodeserver.routes import NoRoute, Route
from flexlet.adapters.nodeserver.settings import Settings
from flexlet.adapters.nodeserver.streams import StreamPages, StreamRuntime
from flexlet.adapters.nodeserver.usage import Usage
from flexlet.adapters.nodeserver.wire import Request
from flexlet.ports.cgroups import CgroupTree
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Cluster
from flexlet.ports.nodeviews import NodeViews
from flexlet.ports.runtime import Images

__all__ = ["Endpoint", "NodeRuntime", "Settings"]

_DEBUGGING: Final = {"run", "exec", "attach", "portForward", "containerLogs", "runningpods", "logs"}
_TALKING: Final = {"run", "exec", "attach", "portForward"}

_log: Final = logging.getLogger(__name__)


class NodeRuntime(StreamRuntime, Images, Protocol):
    """What of the runtime the endpoint uses."""


class Endpoint:
    """Answers requests; knows nothing of sockets."""

    def __init__(
        self,
        settings: Settings,
        views: NodeViews,
        runtime: NodeRuntime,
        cgroups: CgroupTree,
        cluster: Cluster,
        ledger: Ledger,
        clock: Clock,
    ) -> None:
        reviews = Reviews(cluster, clock)
        self._settings = settings
        self._meters = ledger
        self._clock = clock
        self._authenticator = Authenticator(
            reviews if settings.reviews_tokens else None,
            clock,
            allows_anonymous=settings.allows_anonymous,
            token_s=settings.token_s,
        )
        self._authorizer = Authorizer(
            reviews, clock, settings.node_name, allowed_s=settings.allowed_s, denied_s=settings.denied_s
        )
        self._pages = Pages(views, Usage(cgroups, runtime, clock), ledger)
        self._logs = LogPages(views, clock)
        self._streams = StreamPages(views, runtime)
        self._inflight: dict[tuple[str, ...], int] = {}

    @asynccontextmanager
    async def handle(self, request: Request, peer: Peer) -> AsyncIterator[Reply]:
        """The reply to one request, counted until it has been sent."""
        labels, started = routes.labels(request.method, request.segments), self._clock.monotonic()
        self._meters.count("kubelet_http_requests_total", labels)
        self._flies(labels, +1)
        try:
            yield await self._reply(request, peer)
        finally:
            self._flies(labels, -1)
            elapsed = self._clock.monotonic() - started
            self._meters.observe("kubelet_http_requests_duration_seconds", labels, elapsed)

    def _flies(self, labels: dict[str, str], by: int) -> None:
        key = tuple(labels.values())
        self._inflight[key] = self._inflight.get(key, 0) + by
        self._meters.set("kubelet_http_inflight_requests", labels, self._inflight[key])

    async def _reply(self, request: Request, peer: Peer) -> Reply:
        try:
            return await self._allowed(request, peer)
        except Exception:  # noqa: BLE001 the caller gets an answer and the log a trace
            _log.exception("%s %s failed", request.method, request.path)
            return wire.error(500, "Internal Server Error")

    async def _allowed(self, request: Request, peer: Peer) -> Reply:
        caller = await self._authenticator.identify(request, peer)
        if caller is None:
            return wire.text(401, "Unauthorized")
        if self._settings.authorizes:
            denied = await self._authorizer.check(caller, request)
            if denied is not None:
                return denied.answer
        route = routes.find(request.method, request.segments)
        if isinstance(route, NoRoute):
            return wire.text(route.code, route.message)
        return await self._answer(route, request, peer)

    async def _answer(self, route: Route, request: Request, peer: Peer) -> Reply:
        settings = self._settings
        if route.page in _DEBUGGING and not settings.debugging_handlers:
            return wire.error(405, "Debug endpoints are disabled.")
        if route.page == "logs":
            if not settings.system_log_handler:
                return wire.error(405, "logs endpoint is disabled.")
            return await asyncio.to_thread(varlog.answer, Path(settings.log_root), route.rest)
        if route.page == "containerLogs":
            return self._logs.answer(route, request)
        if route.page in _TALKING:
            return await self._streams.answer(route, request, peer)
        return await self._pages.answer(route, request)
