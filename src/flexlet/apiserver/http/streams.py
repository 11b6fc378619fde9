"""Watch streams: chunked JSON lines, headers at once, one write per batch."""

from collections.abc import Sequence
from contextlib import aclosing

from aiohttp import web

from flexlet.apiserver.contract.kind import Kind
from flexlet.apiserver.http import answers
from flexlet.apiserver.http.accept import JSON
from flexlet.apiserver.http.shapes import Shape
from flexlet.apiserver.rest.watching import Stream, WatchEvent
from flexlet.apiserver.store.splice import watch_line


async def send(request: web.BaseRequest, stream: Stream, kind: Kind, shape: Shape | None) -> web.StreamResponse:
    """Write the stream until it ends or the client goes away."""
    response = web.StreamResponse(headers=answers.headers(JSON))
    response.enable_chunked_encoding()
    await response.prepare(request)
    first = True
    try:
        async with aclosing(stream.batches(lambda: request.transport is not None)) as batches:
            async for batch in batches:
                await response.write(_lines(batch, kind, shape, first=first))
                first = False
        await response.write_eof()
    except ConnectionError:
        pass  # the client left; nothing is owed to it
    return response


def _lines(batch: Sequence[WatchEvent], kind: Kind, shape: Shape | None, *, first: bool) -> bytes:
    if shape is None:
        return b"".join(watch_line(event.type, event.value) for event in batch)
    return b"".join(
        shape.event(kind, event.type, event.value, first=first and index == 0) for index, event in enumerate(batch)
    )
