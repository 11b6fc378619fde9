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
from flexlet.apiserver.auth import impersonate
from flexlet.apiserver.auth.authenticate import Authenticator
from flexlet.apiserver.auth.authorize import Authorizer
from flexlet.apiserver.contract.kind import Kind
from flexlet.apiserver.contract.request import Attributes, User
from flexlet.apiserver.http import accept, answers, paths
from flexlet.apiserver.http.exchange import Exchange
from flexlet.apiserver.http.metrics import Labels, Metrics
from flexlet.apiserver.http.pages import Pages
from flexlet.apiserver.http.paths import Path
from flexlet.apiserver.http.refusals import unknown
from flexlet.apiserver.http.resources import Resources
from flexlet.apiserver.rest.listoptions import flag
from flexlet.apiserver.store.errors import StoreBusy, StoreFault

log: Final = logging.getLogger(__name__)


class Front:
    """The server's one request handler."""

    def __init__(
        self,
        resources: Resources,
        pages: Pages,
        metrics: Metrics,
        authenticator: Authenticator,
        authorizer: Authorizer,
    ) -> None:
        self._resources = resources
        self._pages = pages
        self._metrics = metrics
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._registry = resources.rest.registry

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request, and count it."""
        began = time.perf_counter()
        text, query = paths.split_target(request.raw_path)
        path = paths.read(text)
        verb = paths.verb(request.method, path, watch=bool(flag(query, "watch")))
        response = await self._guarded(request, verb, path, query)
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
        self, request: web.BaseRequest, verb: str, path: Path, query: Mapping[str, str]
    ) -> web.StreamResponse:
        warnings: list[str] = []
        try:
            return await self._answer(request, verb, path, query, warnings)
        except ApiError as error:
            return answers.failed(error.status, accept.plain_media(request.headers.get("Accept")), warnings)
        except StoreBusy as error:
            details = status.StatusDetails(retry_after_seconds=1)
            return answers.failed(status.failure(429, "TooManyRequests", str(error), details).status)
        except StoreFault as error:
            return answers.failed(internal(str(error)).status)
        except ConnectionError:
            raise
        except Exception as error:
            log.exception("request failed", extra={"method": request.method, "path": request.raw_path})
            return answers.failed(internal(f"{type(error).__name__}; the server's log says more").status)

    async def _answer(
        self,
        request: web.BaseRequest,
        verb: str,
        path: Path,
        query: Mapping[str, str],
        warnings: list[str],
    ) -> web.StreamResponse:
        user = self._admitted(request, verb, path, query)
        exchange = Exchange(
            request=request,
            method=request.method,
            path=path,
            query=query,
            user=user,
            verb=verb,
            warnings=warnings,
        )
        if not path.resource:
            return await self._pages.serve(exchange)
        return await self._resource(exchange)

    def _admitted(self, request: web.BaseRequest, verb: str, path: Path, query: Mapping[str, str]) -> User:
        """The caller, or whom the caller may act as, once authorization has let the request through."""
        user = self._authenticator.authenticate(_certificate(request), request.headers)
        attributes = _attributes(user, verb, path, query)
        wanted = impersonate.wanted_user(request.headers)
        if wanted is not None:
            user = impersonate.impersonated(wanted, attributes, self._authorizer)
            attributes = msgspec.structs.replace(attributes, user=user)
        self._authorizer.require(attributes)
        return user

    async def _resource(self, exchange: Exchange) -> web.StreamResponse:
        path = exchange.path
        kind = self._registry.lookup(path.group, path.version, path.resource)
        if kind is None or not _is_placed(kind, exchange):
            if path.group and not self._is_built_in(path):
                return answers.page_not_found()
            raise unknown()
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


def internal(detail: str) -> ApiError:
    """500: our own fault."""
    cause = status.StatusCause(message=detail)
    details = status.StatusDetails(causes=(cause,))
    return status.failure(500, "InternalError", f"Internal error occurred: {detail}", details)
