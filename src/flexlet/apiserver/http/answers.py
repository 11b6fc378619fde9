"""Responses: headers every answer has, Status documents, YAML and gzip where asked for."""

import asyncio
import gzip
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from aiohttp import web
from multidict import CIMultiDict

from flexlet.api import status
from flexlet.apiserver import yamltext
from flexlet.apiserver.http.accept import JSON, YAML
from flexlet.apiserver.rest.uids import new_uid

LARGE_BYTES: Final = 128 * 1024
TEXT: Final = "text/plain; charset=utf-8"
WARNINGS_LIMIT: Final = 4096
"""Characters of all warnings of an answer; beyond that each is cut, and then no more are given, as upstream."""
WARNING_LIMIT: Final = 256


def headers(media: str, warnings: Sequence[str] = ()) -> CIMultiDict[str]:
    """What every answer carries; each warning is a header line of its own."""
    found = CIMultiDict({"Audit-Id": new_uid(), "Cache-Control": "no-cache, private", "Content-Type": media})
    for warning in bounded(warnings) if warnings else ():
        found.add("Warning", f'299 - "{_escaped(warning)}"')
    return found


def bounded(warnings: Sequence[str]) -> list[str]:
    """The warnings that an answer has room for, each once."""
    found, written, cutting = [], 0, False
    for warning in dict.fromkeys(warnings):
        if cutting and written >= WARNINGS_LIMIT:
            break
        found.append(warning[:WARNING_LIMIT] if cutting else warning)
        written += len(found[-1])
        if written > WARNINGS_LIMIT and not cutting:
            cutting = True
            found = [text[:WARNING_LIMIT] for text in found]
            written = sum(map(len, found))
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


async def one(body: bytes, code: int, media: str, warnings: Sequence[str]) -> web.Response:
    """Finished JSON bytes of one object; a large one is turned into YAML away from the event loop."""
    if media == YAML and len(body) > LARGE_BYTES:
        body = await asyncio.to_thread(_yaml, body)
        return web.Response(body=body, status=code, headers=headers(media, warnings))
    return finished(body, code, media, warnings)


async def large(
    request: web.BaseRequest, body: bytes, media: str = JSON, warnings: Sequence[str] = ()
) -> web.StreamResponse:
    """Bytes that may be many: turned into YAML and compressed away from the event loop, written piece by piece."""
    if len(body) <= LARGE_BYTES:
        return finished(body, media=media, warnings=warnings)
    found = headers(media, warnings)
    if media == YAML:
        body = await asyncio.to_thread(_yaml, body)
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        body = await asyncio.to_thread(gzip.compress, body, 1)
        found["Content-Encoding"] = "gzip"
        found["Vary"] = "Accept-Encoding"
    return await _written(request, body, found)


async def _written(request: web.BaseRequest, body: bytes, found: CIMultiDict[str]) -> web.StreamResponse:
    """Write only as much as the client reads; in between others have their turn."""
    response = web.StreamResponse(headers=found)
    response.content_length = len(body)
    await response.prepare(request)
    view = memoryview(body)
    try:
        for begin in range(0, len(view), LARGE_BYTES):
            await response.write(view[begin : begin + LARGE_BYTES])
            await asyncio.sleep(0)
        await response.write_eof()
    except ConnectionError:
        pass  # the client left, or was given up; nothing is owed to it
    return response


def _yaml(body: bytes) -> bytes:
    return yamltext.dump(msgspec.json.decode(body))


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
