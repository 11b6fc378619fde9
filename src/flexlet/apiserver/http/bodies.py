"""Request bodies: size, content type, syntax; from bytes to a plain JSON value."""

from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from flexlet.api import gojson, status
from flexlet.apiserver.contract.kind import Kind, Object
from flexlet.apiserver.http import yamltext
from flexlet.apiserver.http.accept import JSON, OFFERED, YAML
from flexlet.apiserver.rest.registry import Registry

LIMIT_BYTES: Final = 3 * 1024 * 1024
SHOWN_BYTES: Final = 30
SCHEME: Final = 'in scheme "pkg/runtime/scheme.go:111"'


async def read(request: web.BaseRequest) -> bytes:
    """The whole body, or 413."""
    if not request.body_exists:
        return b""
    declared = request.content_length
    if declared is not None and declared > LIMIT_BYTES:
        raise _too_large()
    parts: list[bytes] = []
    size = 0
    async for part in request.content.iter_any():
        size += len(part)
        if size > LIMIT_BYTES:
            raise _too_large()
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def media_type(headers: Mapping[str, str]) -> str:
    """The body's media type; a client that says nothing sends JSON."""
    text = headers.get("Content-Type", "")
    return text.split(";")[0].strip().lower() or JSON


def decode(data: bytes, media: str, kind_name: str) -> Any:
    """The value of a body, or 400 or 415."""
    try:
        if media == JSON:
            return gojson.decode(data)
        if media == YAML:
            return yamltext.load(data)
    except gojson.SyntaxFault as fault:
        raise _unrecognized(kind_name, data, f"json parse error: {fault.message}") from None
    except yamltext.YamlFault as fault:
        raise _unrecognized(kind_name, data, fault.message) from None
    raise unsupported()


def typed(value: Any, data: bytes, kind: Kind, registry: Registry) -> Object:
    """The value as an object of the kind; one that names another kind is a 400."""
    if not isinstance(value, dict):
        raise _unrecognized(kind.kind, data, f"json parse error: {_not_an_object(value)}")
    api_version, name = value.get("apiVersion") or kind.api_version, value.get("kind") or kind.kind
    if (api_version, name) == (kind.api_version, kind.kind):
        return value
    head = f'{name} in version "{api_version.rpartition("/")[2]}" cannot be handled as a {kind.kind}'
    if registry.find(api_version, name) is not None:
        version = api_version.rpartition("/")[2]
        detail = f"converting ({version}.{name}) to ({_package(kind)}.{kind.kind}): unknown conversion"
        raise status.bad_request(f"{head}: {detail}")
    raise status.bad_request(f'{head}: no kind "{name}" is registered for version "{api_version}" {SCHEME}')


def unsupported() -> status.ApiError:
    """415 of a body nobody reads."""
    message = f"the body of the request was in an unknown format - accepted media types include: {OFFERED}"
    return status.failure(415, "UnsupportedMediaType", message)


def _package(kind: Kind) -> str:
    return kind.group.partition(".")[0] or "core"


def _too_large() -> status.ApiError:
    message = f"Request entity too large: limit is {LIMIT_BYTES}"
    return status.failure(413, "RequestEntityTooLarge", message)


def _unrecognized(kind_name: str, data: bytes, detail: str) -> status.ApiError:
    head = f"the object provided is unrecognized (must be of type {kind_name})"
    return status.bad_request(f"{head}: couldn't get version/kind; {detail} ({_shown(data)})")


def _not_an_object(value: Any) -> str:
    names = {list: "array", str: "string", bool: "bool", int: "number", float: "number"}
    target = (
        'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
    )
    return f"json: cannot unmarshal {names.get(type(value), 'null')} into Go value of type {target}"


def _shown(data: bytes) -> str:
    if not data:
        return "<empty>"
    cut = data[:SHOWN_BYTES]
    text = cut.decode("utf-8", "replace") if data[:1] == b"{" else cut.hex()
    return text + (" ..." if len(data) > SHOWN_BYTES else "")
