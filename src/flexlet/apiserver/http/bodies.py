"""Request bodies: size, content type, syntax; from bytes to a plain JSON value."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from aiohttp import web

from flexlet.api import gojson, protobuf, schema, status
from flexlet.api.schema import Type, TypeMeta, Unreadable, exact
from flexlet.apiserver import yamltext
from flexlet.apiserver.contract.kind import Object, Strategy
from flexlet.apiserver.http.accept import JSON, OFFERED, PROTOBUF, YAML
from flexlet.apiserver.rest import deleteoptions, typed
from flexlet.apiserver.rest.deleteoptions import DeleteOptions
from flexlet.errors import InputError

LIMIT_BYTES: Final = 3 * 1024 * 1024
SHOWN_BYTES: Final = 30


async def read(request: web.BaseRequest) -> bytes:
    """The whole body, or 413."""
    if not request.body_exists:
        return b""
    declared = request.content_length
    if declared is not None and declared > LIMIT_BYTES:
        raise _too_large()
    parts: list[bytes] = []
    size = 0
    try:
        async for part in request.content.iter_any():
            size += len(part)
            if size > LIMIT_BYTES:
                raise _too_large()
            parts.append(part)
    except web.RequestPayloadError as error:
        raise status.bad_request(" ".join(str(error).split())) from None
    return parts[0] if len(parts) == 1 else b"".join(parts)


def media_type(headers: Mapping[str, str]) -> str:
    """The body's media type; a client that says nothing sends JSON."""
    text = headers.get("Content-Type", "")
    return text.split(";")[0].strip().lower() or JSON


class Body(msgspec.Struct, frozen=True):
    """A body that is an object of the wanted type, and what strict reading found."""

    value: Object
    complaints: tuple[str, ...] = ()


class Wanted(msgspec.Struct, frozen=True):
    """What a body must be: names, and the schema to read it by, or the strategy of a custom resource."""

    group: str
    version: str
    kind: str
    schema: Type | None
    custom: Strategy | None = None

    @property
    def api_version(self) -> str:
        """``apps/v1``, or ``v1`` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def meta(self) -> TypeMeta:
        """What such a body says it is."""
        return TypeMeta(self.group, self.version, self.kind)


def decode(data: bytes, media: str, wanted: Wanted, *, checked: bool) -> Body:
    """Read a body as an object; 400 or 415 in upstream's words."""
    if media == PROTOBUF:
        return _protobuf(data, wanted)
    value = plain(data, media, wanted.kind)
    try:
        meta = schema.interpret(value)
    except Unreadable as fault:
        raise _unrecognized(wanted.kind, data, fault.message) from None
    if wanted.custom is not None:
        return _custom(data, media, value, meta, wanted, wanted.custom, checked=checked)
    if wanted.schema is None:
        return Body(value)
    try:
        schema.require_kind(meta, wanted.meta, value)
        if media == JSON:
            decoded = schema.read(wanted.schema, data, checked=checked)
        else:
            decoded = schema.read_value(wanted.schema, value, checked=checked)
    except Unreadable as fault:
        raise status.bad_request(f"{_head(meta, wanted)}: {fault.message}") from None
    return Body(decoded.value, decoded.complaints)


def _custom(
    data: bytes, media: str, value: Any, meta: TypeMeta, wanted: Wanted, rules: Strategy, *, checked: bool
) -> Body:
    """A custom resource: it must say what it is; whether it is the right thing is for later."""
    if not meta.kind:
        text = data.decode("utf-8", "replace")
        raise _unrecognized(wanted.kind, data, f"Object 'Kind' is missing in '{text}'")
    repeated: tuple[str, ...] = ()
    if checked and media == JSON and gojson.has_repeated_keys(data, value):
        repeated = exact.decode(exact.FREE, gojson.parse_pairs(data)).complaints
    try:
        unknown = rules.read(value, checked=checked)
    except Unreadable as fault:
        raise status.bad_request(f"{_head(meta, wanted)}: {fault.message}") from None
    return Body(value, (*repeated, *unknown))


def _protobuf(data: bytes, wanted: Wanted) -> Body:
    """The encoding of kubectl's own commands; it has no unknown fields to complain about."""
    if wanted.schema is None:
        raise unsupported(f"{JSON}, {YAML}")
    try:
        opened = protobuf.envelope(data)
        meta = schema.interpret({"apiVersion": opened.api_version, "kind": opened.kind})
    except InputError as fault:
        raise _unrecognized(wanted.kind, data, fault.message) from None
    try:
        schema.require_kind(meta, wanted.meta)
        return Body(protobuf.decode(wanted.schema, opened))
    except InputError as fault:
        raise status.bad_request(f"{_head(meta, wanted)}: {fault.message}") from None


def settle(body: Body, validation: str, wanted: Wanted, warnings: list[str]) -> Object:
    """The object of a body; complaints become warnings or, if the client is strict, a 400."""
    if body.complaints and validation == typed.STRICT:
        head = f'{wanted.kind} in version "{wanted.version}" cannot be handled as a {wanted.kind}'
        raise status.bad_request(f"{head}: {typed.strict_error(body.complaints)}")
    warnings.extend(body.complaints)
    said = body.value.get("apiVersion") or ""
    if wanted.custom is not None and said != wanted.api_version:
        expected = f"does not match the expected API version ({wanted.api_version})"
        raise status.bad_request(f"the API version in the data ({said}) {expected}")
    return body.value


def plain(data: bytes, media: str, kind_name: str) -> Any:
    """The JSON value of a body; 400 or 415."""
    try:
        if media == JSON:
            return gojson.decode(data)
        if media == YAML:
            return yamltext.load(data)
    except gojson.SyntaxFault as fault:
        detail = f"couldn't get version/kind; json parse error: {fault.message}"
        raise _unrecognized(kind_name, data, detail) from None
    except InputError as fault:
        raise _unrecognized(kind_name, data, fault.message) from None
    raise unsupported()


def delete_options(data: bytes, media: str) -> DeleteOptions:
    """The body of a DELETE; 400 or 415."""
    of = schema.named("meta.DeleteOptions")
    try:
        if media == PROTOBUF:
            return deleteoptions.from_body(protobuf.decode(of, protobuf.envelope(data)))
        value = gojson.decode(data) if media == JSON else plain(data, media, "DeleteOptions")
        schema.interpret(value)
        return deleteoptions.from_body(schema.read_value(of, value or {}, checked=False).value)
    except gojson.SyntaxFault as fault:
        message = f"couldn't get version/kind; json parse error: {fault.message}"
        raise status.bad_request(message) from None
    except InputError as fault:
        raise status.bad_request(fault.message) from None


def _head(meta: TypeMeta, wanted: Wanted) -> str:
    kind, version = meta.kind or wanted.kind, meta.version or wanted.version
    return f'{kind} in version "{version}" cannot be handled as a {wanted.kind}'


def unsupported(offered: str = OFFERED) -> status.ApiError:
    """415 of a body nobody reads."""
    message = f"the body of the request was in an unknown format - accepted media types include: {offered}"
    return status.failure(415, "UnsupportedMediaType", message)


def _too_large() -> status.ApiError:
    message = f"Request entity too large: limit is {LIMIT_BYTES}"
    return status.failure(413, "RequestEntityTooLarge", message)


def _unrecognized(kind_name: str, data: bytes, detail: str) -> status.ApiError:
    head = f"the object provided is unrecognized (must be of type {kind_name})"
    return status.bad_request(f"{head}: {detail} ({_shown(data)})")


def _shown(data: bytes) -> str:
    if not data:
        return "<empty>"
    cut = data[:SHOWN_BYTES]
    text = cut.decode("utf-8", "replace") if data[:1] == b"{" else cut.hex()
    return text + (" ..." if len(data) > SHOWN_BYTES else "")
