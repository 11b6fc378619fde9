"""Requests on resources: the verb finds its operation, the answer finds its form."""

import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

import msgspec
from aiohttp import web

from flexlet.api import schema, status
from flexlet.apiserver.audit import requests
from flexlet.apiserver.contract.kind import Kind, Object
from flexlet.apiserver.contract.request import WriteOptions
from flexlet.apiserver.http import accept, answers, bodies, shapes
from flexlet.apiserver.http.bodies import Wanted
from flexlet.apiserver.http.exchange import Exchange
from flexlet.apiserver.http.parameters import delete_query, patch_type, write_options
from flexlet.apiserver.http.refusals import not_allowed, not_supported, unknown
from flexlet.apiserver.http.streams import Streams
from flexlet.apiserver.rest import deleteoptions, finished, listoptions, naming, patching, typed
from flexlet.apiserver.rest.aside import aside
from flexlet.apiserver.rest.call import Answer, Call
from flexlet.apiserver.rest.deleteoptions import DeleteOptions
from flexlet.apiserver.rest.handlers import Handled
from flexlet.apiserver.rest.listing import Rows
from flexlet.apiserver.rest.patching import Patch
from flexlet.apiserver.rest.pipeline import Rest

COLLECTION_VERBS: Final = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
OBJECT_VERBS: Final = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
SUBRESOURCE_VERBS: Final = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch"}


Connect: TypeAlias = Callable[[web.BaseRequest, str, str, str], Awaitable[web.StreamResponse]]
"""Answers a request on namespace, name and subresource itself."""


class Resources:
    """Serves resource paths from the pipeline."""

    def __init__(self, rest: Rest, clock: Callable[[], float] = time.time, streams: Streams | None = None) -> None:
        self.rest = rest
        self.connections: dict[tuple[str, str, str], Connect] = {}
        """By group, plural and subresource: streams that are no answer of the pipeline (log, exec ...)."""
        self._clock = clock
        self._streams = streams or Streams()

    async def serve(self, exchange: Exchange, kind: Kind) -> web.StreamResponse:
        """Answer a request whose caller may make it."""
        path = exchange.path
        if kind.deprecation:
            exchange.warnings.append(kind.deprecation)
        if path.subresource:
            return await self._subresource(exchange, kind)
        if path.name and not path.old_watch:
            return await self._object(exchange, kind)
        return await self._collection(exchange, kind)

    async def _collection(self, exchange: Exchange, kind: Kind) -> web.StreamResponse:
        everywhere = kind.namespaced and not exchange.path.namespace
        verb = COLLECTION_VERBS.get(exchange.method, "")
        if verb not in kind.verbs or (everywhere and verb != "list"):
            raise not_allowed()
        if verb == "create":
            return await self._create(exchange, kind)
        if verb == "deletecollection":
            return await self._delete_collection(exchange, kind)
        options = listoptions.parse(exchange.query)
        if options.watch or exchange.path.old_watch:
            return await self._watch(exchange, kind, options)
        shape, media = self._shape(exchange)
        rows = await self.rest.list(kind, exchange.path.namespace, options)
        body = await shape.many(rows) if shape else _list(rows)
        if exchange.trail is not None:
            exchange.trail.answered(body)
        return await answers.large(exchange.request, body, media, exchange.warnings)

    async def _watch(self, exchange: Exchange, kind: Kind, options: listoptions.ListOptions) -> web.StreamResponse:
        form = accept.choose(exchange.accept, watch=True)
        shape = shapes.shape_for(form, exchange.query.get("includeObject", ""), self._clock())
        if exchange.path.old_watch and exchange.path.name:
            by_name = f"metadata.name={exchange.path.name}"
            options = msgspec.structs.replace(options, field_selector=by_name)
        stream = self.rest.watch(kind, exchange.path.namespace, options)
        return await self._streams.send(exchange.request, stream, kind, shape)

    async def _object(self, exchange: Exchange, kind: Kind) -> web.StreamResponse:
        verb = OBJECT_VERBS.get(exchange.method, "")
        if verb not in kind.verbs:
            raise not_allowed()
        if verb == "get":
            return await self._get(exchange, kind)
        if verb == "update":
            return await self._update(exchange, kind)
        if verb == "delete":
            return await self._delete(exchange, kind)
        return await self._patch(exchange, kind)

    async def _subresource(self, exchange: Exchange, kind: Kind) -> web.StreamResponse:
        sub = kind.subresource(exchange.path.subresource)
        if sub is None:
            raise status.not_found(kind.plural, kind.group, exchange.path.name) if kind.custom else unknown()
        verb = SUBRESOURCE_VERBS.get(exchange.method, "")
        if verb not in sub.verbs:
            raise not_supported(kind, exchange.verb) if kind.custom else not_allowed()
        connect = self.connections.get((kind.group, kind.plural, sub.name))
        if connect is not None:
            path = exchange.path
            return await connect(exchange.request, path.namespace, path.name, sub.name)
        if sub.update is None:
            return await self._handled(exchange, kind, verb)
        if verb == "get":
            return await self._get(exchange, kind)
        return await (self._update if verb == "update" else self._patch)(exchange, kind)

    async def _get(self, exchange: Exchange, kind: Kind) -> web.Response:
        shape, media = self._shape(exchange)
        if exchange.query:
            await self.rest.reach(exchange.query.get("resourceVersion", ""))
        return await self._answer(self.rest.get(_call(exchange, kind)), exchange, shape, media)

    async def _create(self, exchange: Exchange, kind: Kind) -> web.Response:
        if not kind.stored:
            return await self._handled(exchange, kind, "create")
        shape, media = self._shape(exchange)
        call = _call(exchange, kind, write_options(exchange, "CreateOptions"))
        obj = await self._body(exchange, _wanted(kind), call.options.field_validation)
        requests.follow(exchange.trail, kind, obj)
        return await self._answer(await self.rest.create(call, obj), exchange, shape, media)

    async def _update(self, exchange: Exchange, kind: Kind) -> web.Response:
        shape, media = self._shape(exchange)
        call = _call(exchange, kind, write_options(exchange, "UpdateOptions"))
        obj = await self._body(exchange, _wanted(kind), call.options.field_validation)
        requests.follow(exchange.trail, kind, obj)
        return await self._answer(await self.rest.update(call, obj), exchange, shape, media)

    async def _patch(self, exchange: Exchange, kind: Kind) -> web.Response:
        how = patch_type(exchange, kind)
        shape, media = self._shape(exchange)
        call = _call(exchange, kind, write_options(exchange, "PatchOptions"))
        patch = await self._patch_body(exchange, how, call)
        return await self._answer(await self.rest.patch(call, patch), exchange, shape, media)

    async def _patch_body(self, exchange: Exchange, how: str, call: Call) -> Patch:
        """The patch; that there is something to patch is looked at before what the patch says."""
        data = await bodies.read(exchange.request)
        if exchange.trail is not None:
            exchange.trail.requested(data)
        self.rest.require(call)
        checked = call.options.field_validation != typed.IGNORE
        return await aside(len(data), lambda: patching.read(how, data, checked=checked))

    async def _delete(self, exchange: Exchange, kind: Kind) -> web.Response:
        shape, media = self._shape(exchange)
        options = await self._delete_options(exchange)
        call = _call(exchange, kind, WriteOptions(dry_run=bool(options.dry_run)))
        return await self._answer(await self.rest.delete(call, options), exchange, shape, media)

    async def _delete_collection(self, exchange: Exchange, kind: Kind) -> web.Response:
        shape, media = self._shape(exchange)
        listed = listoptions.parse(exchange.query)
        options = await self._delete_options(exchange)
        call = _call(exchange, kind, WriteOptions(dry_run=bool(options.dry_run)))
        rows = await self.rest.delete_collection(call, listed, options)
        body = await shape.many(rows) if shape else _list(rows)
        if exchange.trail is not None:
            exchange.trail.answered(body)
        return await answers.one(body, 200, media, exchange.warnings)

    async def _handled(self, exchange: Exchange, kind: Kind, verb: str) -> web.Response:
        """A path that is no stored object: its body is of the kind the path says."""
        how = patch_type(exchange, kind) if verb == "patch" else ""
        media = accept.choose(exchange.accept).media
        options_kind = {"create": "CreateOptions", "update": "UpdateOptions"}.get(verb, "PatchOptions")
        call = _call(exchange, kind, write_options(exchange, options_kind))
        body = patch = None
        if verb in {"create", "update"}:
            body = await self._body(exchange, _wanted(kind, call.subresource), call.options.field_validation)
            naming.place(call, body)
            requests.follow(exchange.trail, None, body)
        elif how:
            patch = await self._patch_body(exchange, how, call)
        answer = await self.rest.handle(Handled(verb, call, body, patch))
        return await self._answer(answer, exchange, None, media)

    async def _body(self, exchange: Exchange, wanted: Wanted, validation: str) -> Object:
        data = await bodies.read(exchange.request)
        media = bodies.media_type(exchange.request.headers)
        checked = validation != typed.IGNORE
        body = await aside(len(data), lambda: bodies.decode(data, media, wanted, checked=checked))
        return bodies.settle(body, validation, wanted, exchange.warnings)

    async def _delete_options(self, exchange: Exchange) -> DeleteOptions:
        data = await bodies.read(exchange.request)
        if data:
            media = bodies.media_type(exchange.request.headers)
            options = await aside(len(data), lambda: bodies.delete_options(data, media))
            requests.follow_deletion(exchange.trail, options)
            return deleteoptions.check(options)
        return deleteoptions.check(delete_query(exchange.query))

    def _shape(self, exchange: Exchange) -> tuple[shapes.Shape | None, str]:
        form = accept.choose(exchange.accept, collection=not exchange.path.name)
        return shapes.shape_for(form, exchange.query.get("includeObject", ""), self._clock()), form.media

    async def _answer(
        self, answer: Answer, exchange: Exchange, shape: shapes.Shape | None, media: str
    ) -> web.Response:
        value = answer.value
        if shape is not None and answer.kind is not None:
            value = shape.one(answer.kind, value)
        if exchange.trail is not None:
            exchange.trail.answered(value)
        return await answers.one(value, answer.code, media, exchange.warnings)


def _call(exchange: Exchange, kind: Kind, options: WriteOptions | None = None) -> Call:
    path = exchange.path
    return Call(
        user=exchange.user,
        kind=kind,
        namespace=path.namespace if kind.namespaced else "",
        name=path.name,
        subresource=path.subresource,
        options=options or WriteOptions(),
        warnings=exchange.warnings,
        size=exchange.request.content_length or 0,
    )


def _list(rows: Rows) -> bytes:
    return finished.list_document(rows.kind, rows.rows, rows.revision, rows.continue_, rows.remaining)


def _wanted(kind: Kind, subresource: str = "") -> Wanted:
    """The type a body must have on this path."""
    sub = kind.subresource(subresource)
    if sub is not None and sub.kind:
        group, version = (sub.group, sub.version) if sub.version else (kind.group, kind.version)
        return Wanted(group, version, sub.kind, schema.type_for(group, version, sub.kind))
    custom = kind.strategy if kind.custom else None
    return Wanted(kind.group, kind.version, kind.kind, typed.type_of(kind), custom)
