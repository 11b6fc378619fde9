"""Every request comes in here: who is it, may they, what do they mean, and no error without a Status.

Order: authentication, path, authorization, then existence; so an unknown object is a 403 for those who may not
look. An exception nobody expected is logged and answered as an InternalError; a traceback never leaves.
"""

import logging
import time
from collections.abc import Mapping
from typing import Final

import msgspec
from aiohttp import web

from flexlet.api import status
from flexlet.api.status import ApiError
from flexlet.apiserver.audit.auditor import Auditor
from flexlet.apiserver.audit.trail import Trail
from flexlet.apiserver.auth import impersonate
from flexlet.apiserver.auth.authenticate import Authenticator
from flexlet.apiserver.auth.authorize import Authorizer, forbidden
from flexlet.apiserver.contract.kind import Kind
from flexlet.apiserver.contract.request import ANONYMOUS, Attributes, User
from flexlet.apiserver.http import accept, answers, paths
from flexlet.apiserver.http.connections import identify, stand_still
from flexlet.apiserver.http.exchange import Exchange
from flexlet.apiserver.http.heavy import is_heavy
from flexlet.apiserver.http.metrics import Labels, Metrics
from flexlet.apiserver.http.pages import Pages
from flexlet.apiserver.http.paths import Path
from flexlet.apiserver.http.refusals import unknown
from flexlet.apiserver.http.resources import Resources
from flexlet.apiserver.http.turns import Turns
from flexlet.apiserver.rest.listoptions import flag
from flexlet.apiserver.store.errors import StoreBusy, StoreFault

MASTERS: Final = "system:masters"
STANDING: Final = frozenset({"attach", "exec", "log", "portforward", "proxy"})
"""Streams that people look at: they may stop reading for as long as they like."""

log: Final = logging.getLogger(__name__)

_STREAMS: Final = frozenset({"exec", "attach", "portforward"})


class Front:
    """The server's one request handler."""

    def __init__(
        self,
        resources: Resources,
        pages: Pages,
        metrics: Metrics,
        authenticator: Authenticator,
        authorizer: Authorizer,
        turns: Turns | None = None,
        auditor: Auditor | None = None,
    ) -> None:
        self._resources = resources
        self._pages = pages
        self._metrics = metrics
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._auditor = auditor
        self._registry = resources.rest.registry
        self._turns = turns or Turns()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request, and count it."""
        began = time.perf_counter()
        text, query = paths.split_target(request.raw_path)
        path = paths.read(text)
        verb = paths.verb(request.method, path, watch=bool(flag(query, "watch")))
        trail = None if self._auditor is None else self._auditor.open(request)
        try:
            response = await self._guarded(request, verb, path, query, trail)
        except BaseException:
            if trail is not None:
                trail.cut_off()
            raise
        if trail is not None:
            response.headers["Audit-Id"] = trail.audit_id
            trail.complete(response.status)
        if "Upgrade" in request.headers:
            response.force_close()  # what follows a declined upgrade, aiohttp does not read as HTTP again
        self._metrics.observe(self._labels(verb, path), response.status, time.perf_counter() - began)
        return response

    def _labels(self, verb: str, path: Path) -> Labels:
        """What metrics call the request; only what is served has a name, or strangers could fill the memory."""
        kind = self._registry.lookup(path.group, path.version, path.resource)
        if kind is None or (path.subresource and kind.subresource(path.subresource) is None):
            return (verb.upper(), "", "", "", "")
        return (verb.upper(), path.group, path.version, path.resource, path.subresource)

    async def _guarded(
        self, request: web.BaseRequest, verb: str, path: Path, query: Mapping[str, str], trail: Trail | None
    ) -> web.StreamResponse:
        warnings: list[str] = []
        try:
            return await self._answer(request, verb, path, query, warnings, trail)
        except ApiError as error:
            if trail is not None:
                trail.answered(status.encode(error.status))
            return answers.failed(error.status, accept.plain_media(request.headers.get("Accept")), warnings)
        except StoreBusy as error:
            details = status.StatusDetails(retry_after_seconds=1)
            return answers.failed(status.failure(429, "TooManyRequests", str(error), details).status)
        except StoreFault as error:
            return answers.failed(internal(str(error)).status)
        except ConnectionError:
            raise
        except Exception as error:
            if trail is not None:
                trail.panicked(type(error).__name__)
            log.exception("request failed", extra={"method": request.method, "path": request.raw_path})
            return answers.failed(internal(f"{type(error).__name__}; the server's log says more").status)

    async def _answer(
        self,
        request: web.BaseRequest,
        verb: str,
        path: Path,
        query: Mapping[str, str],
        warnings: list[str],
        trail: Trail | None,
    ) -> web.StreamResponse:
        user = self._admitted(request, verb, path, query, trail)
        exchange = Exchange(
            request=request,
            method=request.method,
            path=path,
            query=query,
            user=user,
            verb=verb,
            warnings=warnings,
            trail=trail,
        )
        if not path.resource:
            return await self._pages.serve(exchange)
        return await self._resource(exchange)

    def _admitted(
        self, request: web.BaseRequest, verb: str, path: Path, query: Mapping[str, str], trail: Trail | None
    ) -> User:
        """The caller, or whom the caller may act as, once authorization has let the request through."""
        try:
            user = self._authenticator.authenticate(_certificate(request), request.headers)
        except ApiError:
            if trail is not None:
                trail.refused(_attributes(ANONYMOUS, verb, path, query))
            raise
        if user is not ANONYMOUS and not identify(request, user.name, bounded=MASTERS not in user.groups):
            raise too_many_connections(user.name)
        attributes = _attributes(user, verb, path, query)
        if trail is not None:
            trail.identified(attributes)
        wanted = impersonate.wanted_user(request.headers)
        if wanted is not None:
            user = impersonate.impersonated(wanted, attributes, self._authorizer)
            attributes = msgspec.structs.replace(attributes, user=user)
            if trail is not None:
                trail.impersonating(user)
        self._authorize(attributes, trail)
        return user

    def _authorize(self, attributes: Attributes, trail: Trail | None) -> None:
        decision = self._authorizer.decide(attributes)
        if trail is not None:
            trail.decided(decision)
        if not decision.allowed:
            raise forbidden(attributes, decision.reason)
        if _opens_a_stream(attributes):
            self._require_create(attributes)

    def _require_create(self, attributes: Attributes) -> None:
        """A stream into a pod is no reading, whatever the method: as upstream, a WebSocket's GET needs create too.

        The refusal has upstream's words, which are only the reason.
        """
        decision = self._authorizer.decide(msgspec.structs.replace(attributes, verb="create"))
        if not decision.allowed:
            raise status.forbidden(attributes.resource, attributes.group, attributes.name, decision.reason)

    async def _resource(self, exchange: Exchange) -> web.StreamResponse:
        path = exchange.path
        kind = self._registry.lookup(path.group, path.version, path.resource)
        if kind is None or not _is_placed(kind, exchange):
            if path.group and not self._is_built_in(path):
                return answers.page_not_found()
            raise unknown()
        if path.subresource in STANDING:
            stand_still(exchange.request)
        if MASTERS in exchange.user.groups or not is_heavy(exchange, kind, self._resources.rest.backend.store):
            return await self._resources.serve(exchange, kind)
        async with self._turns.turn(exchange.user.name):
            return await self._resources.serve(exchange, kind)

    def _is_built_in(self, path: Path) -> bool:
        """Whether the group version is the server's own; those of definitions are unknown in other words."""
        found = (kind for kind in self._registry.kinds() if not kind.custom)
        return any((kind.group, kind.version) == (path.group, path.version) for kind in found)


def _is_placed(kind: Kind, exchange: Exchange) -> bool:
    """Whether the path has a namespace exactly if the kind needs one."""
    path = exchange.path
    if not kind.namespaced:
        own_namespace = kind.storage_bucket == "namespaces" and not path.group
        return not path.namespace or own_namespace
    if path.namespace:
        return True
    return not path.name and (not kind.custom or exchange.verb in {"list", "watch"})


def _attributes(user: User, verb: str, path: Path, query: Mapping[str, str]) -> Attributes:
    if not path.resource:
        return Attributes(user=user, verb=verb, path=path.text)
    return Attributes(
        user=user,
        verb=verb,
        group=path.group,
        version=path.version,
        resource=path.resource,
        subresource=path.subresource,
        namespace=path.namespace,
        name=path.name or _selected_name(verb, query),
        path=path.text,
        field_selector=query.get("fieldSelector", ""),
        label_selector=query.get("labelSelector", ""),
    )


def _opens_a_stream(attributes: Attributes) -> bool:
    """Whether it is the GET of a WebSocket on exec, attach or portforward of a pod."""
    place = (attributes.group, attributes.resource)
    return place == ("", "pods") and attributes.subresource in _STREAMS and attributes.verb == "get"


def _certificate(request: web.BaseRequest) -> bytes | None:
    """The client's certificate, if it showed one; TLS has verified it."""
    transport = request.transport
    connection = transport.get_extra_info("ssl_object") if transport is not None else None
    return connection.getpeercert(True) if connection is not None else None


def _selected_name(verb: str, query: Mapping[str, str]) -> str:
    """A list or watch of one name is, for authorization, about that name."""
    selector = query.get("fieldSelector", "")
    if verb not in {"list", "watch", "deletecollection"} or "metadata.name=" not in selector:
        return ""
    for term in selector.split(","):
        field, _, value = term.replace("==", "=").partition("=")
        if field == "metadata.name":
            return value
    return ""


def too_many_connections(user: str) -> ApiError:
    """429: the user has as many connections as one may have."""
    details = status.StatusDetails(retry_after_seconds=1)
    return status.failure(429, "TooManyRequests", f"{user} has too many connections; close some of them", details)


def internal(detail: str) -> ApiError:
    """500: our own fault."""
    cause = status.StatusCause(message=detail)
    details = status.StatusDetails(causes=(cause,))
    return status.failure(500, "InternalError", f"Internal error occurred: {detail}", details)
