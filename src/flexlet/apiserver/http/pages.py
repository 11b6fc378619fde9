"""Paths that are no resource: discovery, version, health, metrics, OpenAPI, the list of all of them."""

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec
from aiohttp import web

from flexlet.apiserver.http import accept, answers, version
from flexlet.apiserver.http.discovery import AGGREGATED_MEDIA, Discovery
from flexlet.apiserver.http.exchange import Exchange
from flexlet.apiserver.http.health import Health
from flexlet.apiserver.http.openapi import OpenApi
from flexlet.apiserver.http.refusals import not_allowed, unknown

Page = Callable[[Exchange], web.Response]


class Pages:
    """Serves everything that is not a resource."""

    def __init__(self, discovery: Discovery, health: Health, openapi: OpenApi) -> None:
        self._discovery = discovery
        self._health = health
        self._openapi = openapi
        self._pages: dict[str, Page] = {
            "": self._root,
            "api": self._api,
            "apis": self._apis,
            "version": lambda exchange: self._document(exchange, version.VERSION),
            "healthz": self._check,
            "livez": self._check,
            "readyz": self._check,
            "openapi": self._schema,
        }

    def add(self, first: str, page: Page) -> None:
        """Serve everything below a first path segment."""
        self._pages[first] = page

    def add_document(self, path: str, value: Any) -> None:
        """Serve a fixed document at one path of two segments or more."""
        parts = tuple(path.strip("/").split("/"))

        def page(exchange: Exchange) -> web.Response:
            if exchange.path.parts != parts:
                return answers.page_not_found()
            return self._document(exchange, value)

        self._pages[parts[0]] = page

    async def serve(self, exchange: Exchange) -> web.Response:
        """Answer, or the plain 404 of unknown paths."""
        parts = exchange.path.parts
        page = self._pages.get(parts[0] if parts else "")
        if page is None:
            return answers.page_not_found()
        if exchange.method not in {"GET", "HEAD"}:
            raise not_allowed()
        return page(exchange)

    def _check(self, exchange: Exchange) -> web.Response:
        return self._health.serve(exchange.path.parts, verbose="verbose" in exchange.query)

    def _root(self, exchange: Exchange) -> web.Response:
        groups = self._discovery.groups()
        below = [path for name in groups for path in self._group_paths(name)]
        own = sorted(f"/{first}" for first in self._pages if first)
        return self._document(exchange, {"paths": sorted({*own, *below, "/api/v1"})})

    def _group_paths(self, name: str) -> list[str]:
        group = self._discovery.group(name) or {"versions": []}
        return [f"/apis/{name}", *(f"/apis/{entry['groupVersion']}" for entry in group["versions"])]

    def _api(self, exchange: Exchange) -> web.Response:
        parts = exchange.path.parts
        if len(parts) == 1:
            return self._listed(exchange, "api")
        found = self._discovery.resources("", parts[1])
        if found is None:
            raise unknown()
        return self._document(exchange, found)

    def _apis(self, exchange: Exchange) -> web.Response:
        parts = exchange.path.parts
        if len(parts) == 1:
            return self._listed(exchange, "apis")
        group = self._discovery.group(parts[1])
        if group is None:
            return answers.page_not_found()
        if len(parts) == 2:
            return self._document(exchange, group)
        found = self._discovery.resources(parts[1], parts[2])
        if found is None and self._discovery.is_defined(parts[1]):
            return answers.page_not_found()
        if found is None:
            raise unknown()
        return self._document(exchange, found)

    def _schema(self, exchange: Exchange) -> web.Response:
        parts = exchange.path.parts
        if parts[1:2] != ("v3",):
            return answers.page_not_found()
        if len(parts) == 2:
            body = msgspec.json.encode(self._openapi.index())
            tag = hashlib.sha512(body).hexdigest().upper()
            return _tagged(exchange, body, f'"{tag}"', answers.TEXT)
        try:
            document = self._openapi.document("/".join(parts[2:]))
        except KeyError:
            return answers.page_not_found()
        return _tagged(exchange, document.body, f'"{document.hash}"', accept.JSON)

    def _listed(self, exchange: Exchange, root: str) -> web.Response:
        """``/api`` and ``/apis``: aggregated for those who ask, otherwise the plain list."""
        form = accept.choose(exchange.accept, discovery=True)
        if form.shape:
            return self._aggregated(exchange, root)
        server = exchange.request.headers.get("Host", "")
        plain = self._discovery.versions(server) if root == "api" else self._discovery.group_list()
        response = answers.document(plain, media=form.media)
        response.headers["Vary"] = "Accept"
        return response

    def _aggregated(self, exchange: Exchange, root: str) -> web.Response:
        found = self._discovery.aggregated(root)
        return _tagged(exchange, found.body, found.etag, AGGREGATED_MEDIA)

    def _document(self, exchange: Exchange, value: Any) -> web.Response:
        return answers.document(value, media=accept.choose(exchange.accept).media)


def _tagged(exchange: Exchange, body: bytes, etag: str, media: str) -> web.Response:
    """A document with its tag, or 304 for those who have it."""
    headers = answers.headers(media)
    headers["ETag"], headers["Vary"] = etag, "Accept"
    if etag in exchange.request.headers.get("If-None-Match", ""):
        del headers["Content-Type"]
        return web.Response(status=304, headers=headers)
    return web.Response(body=body, headers=headers)
