"""Responses: headers every answer has, Status documents, YAML and gzip where asked for."""

import asyncio
import gzip
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from aiohttp import web
from multidict import CIMultiDict

from flexlet.api import status
from flexlet.apiserver.http import yamltext
from flexlet.apiserver.http.accept import JSON, YAML
from flexlet.apiserver.rest.uids import new_uid

GZIP_FROM_BYTES: Final = 128 * 1024
TEXT: Final = "text/plain; charset=utf-8"


def headers(media: str, warnings: Sequence[str] = ()) -> CIMultiDict[str]:
    """What every answer carries; each warning is a header line of its own."""
    found = CIMultiDict({"Audit-Id": new_uid(), "Cache-Control": "no-cache, private", "Content-Type": media})
    for warning in dict.fromkeys(warnings):
        found.add("Warning", f'299 - "{_escaped(warning)}"')
    return found


def plain(text: str, code: int = 200) -> web.Response:
    """A text for people."""
    return web.Response(text=text, status=code, headers=headers(TEXT))


def page_not_found() -> web.Response:
    """The 404 of paths outside the API."""
    return plain("404 page not found\n", 404)


def finished(body: bytes, code: int = 200, media: str = JSON, warnings: Sequence[str] = ()) -> web.Response:
    """Finished JSON bytes, as they are or turned into YAML."""
    if media == YAML:
        body = yamltext.dump(msgspec.json.decode(body))
    return web.Response(body=body, status=code, headers=headers(media, warnings))


async def large(
    request: web.BaseRequest, body: bytes, media: str = JSON, warnings: Sequence[str] = ()
) -> web.Response:
    """Bytes that may be many, compressed away from the event loop if the client likes."""
    if len(body) <= GZIP_FROM_BYTES or "gzip" not in request.headers.get("Accept-Encoding", ""):
        return finished(body, media=media, warnings=warnings)
    if media == YAML:
        body = yamltext.dump(msgspec.json.decode(body))
    packed = await asyncio.to_thread(gzip.compress, body, 1)
    found = headers(media, warnings)
    found["Content-Encoding"] = "gzip"
    found["Vary"] = "Accept-Encoding"
    return web.Response(body=packed, headers=found)


def document(value: Any, code: int = 200, media: str = JSON) -> web.Response:
    """A JSON value."""
    return finished(msgspec.json.encode(value), code, media)


def failed(value: status.Status, media: str = JSON, warnings: Sequence[str] = ()) -> web.Response:
    """A Status that says what went wrong."""
    response = finished(status.encode(value), value.code or 500, media, warnings)
    if value.details and value.details.retry_after_seconds:
        response.headers["Retry-After"] = str(value.details.retry_after_seconds)
    return response


def _escaped(text: str) -> str:
    """A quoted-string of HTTP; control characters and line ends become spaces."""
    clean = "".join(char if char.isprintable() else " " for char in text)
    return clean.replace("\\", "\\\\").replace('"', '\\"')
