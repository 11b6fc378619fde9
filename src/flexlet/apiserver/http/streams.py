"""Watch streams: chunked JSON lines, headers at once, one write per client and round of deliveries.

No task is woken for an event: the store's round calls `_Outbox.pump`, which writes what there is to the transport.
The request's own task sleeps until a bookmark is due, the stream ends, or the client stops reading. A client that
does not read keeps alive what lies in its transport and nothing else: once that is full its events stay in the
watcher's queue, which has limits of its own. It is cut off when it has read nothing for a while, or when all such
clients together hold too much, the one that holds most for longest first.
"""

import asyncio
from collections import deque
from typing import Final

from aiohttp import web

from flexlet.apiserver.audit.auditor import TRAIL
from flexlet.apiserver.contract.kind import Kind
from flexlet.apiserver.http import answers
from flexlet.apiserver.http.accept import JSON
from flexlet.apiserver.http.connections import abort
from flexlet.apiserver.http.frames import Frame, Frames, shaped
from flexlet.apiserver.http.shapes import Shape
from flexlet.apiserver.rest.watching import OpenWatch, Stream

STALL_S: Final = 30.0
TOTAL_BYTES: Final = 64 * 1024 * 1024
WRITE_BYTES: Final = 64 * 1024


class Streams:
    """All watch streams of a server: the frames they share, and what those hold that are not read."""

    def __init__(self, stall_s: float = STALL_S, total_bytes: int = TOTAL_BYTES) -> None:
        self.stall_s = stall_s
        self.frames = Frames()
        self._total_bytes = total_bytes
        self._stalled: dict[_Outbox, float] = {}

    async def send(
        self, request: web.BaseRequest, stream: Stream, kind: Kind, shape: Shape | None
    ) -> web.StreamResponse:
        """Write the stream until it ends or the client goes away."""
        response = web.StreamResponse(headers=answers.headers(JSON))
        response.enable_chunked_encoding()
        trail = request.get(TRAIL)
        if trail is not None:
            response.headers["Audit-Id"] = trail.audit_id
        await response.prepare(request)
        if trail is not None:
            trail.started(response.status)
        frame = self.frames.plain if shape is None else shaped(kind, shape)
        try:
            with stream.open() as opened:
                whole = await _Outbox(self, request, opened, frame).run()
            if whole:
                await response.write_eof()
        except ConnectionError:
            pass  # the client left; nothing is owed to it
        return response

    def stalled(self, outbox: "_Outbox", since: float) -> None:
        """Note a client that does not read; while all of them hold too much, give up the worst."""
        self._stalled[outbox] = since
        while (total := self._held()) > self._total_bytes:
            worst = max(self._stalled, key=lambda one: one.held * (since - self._stalled[one] + 1))
            del self._stalled[worst]
            worst.give_up(f"clients that do not read hold {total} bytes together")

    def _held(self) -> int:
        """Bytes in transports, and frames that wait to go there; a frame that several wait for counts once."""
        frames = {id(view.obj): memoryview(view.obj).nbytes for outbox in self._stalled for view in outbox.rest}
        return sum(frames.values()) + sum(outbox.buffered for outbox in self._stalled)

    def resumed(self, outbox: "_Outbox") -> None:
        """Forget a client that reads again, or is gone."""
        self._stalled.pop(outbox, None)


class _Outbox:
    """What one client is owed, on its way into the transport."""

    def __init__(self, streams: Streams, request: web.BaseRequest, opened: OpenWatch, frame: Frame) -> None:
        self._streams = streams
        self._request = request
        self._opened = opened
        self._frame = frame
        self.rest: deque[memoryview] = deque()
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._given_up = False

    @property
    def buffered(self) -> int:
        """Bytes that exist for this client alone."""
        transport = self._request.transport
        return 0 if transport is None else transport.get_write_buffer_size()

    @property
    def held(self) -> int:
        """All bytes that wait for this client."""
        return self.buffered + sum(map(len, self.rest))

    def give_up(self, why: str) -> None:
        """Cut the client off, with whatever waits for it: half a line cannot be ended well."""
        self._given_up = True
        self._opened.cut_off(why)
        self.rest.clear()
        abort(self._request.transport)
        self._wake()

    async def run(self) -> bool:
        """Write until the end; whether what was written ends between two lines."""
        self._opened.deliver_to(self.pump)
        try:
            while not self._over():
                self.pump()
                if self._over():
                    break
                await (self._drained() if self._is_full() else self._woken())
        finally:
            self._opened.deliver_to(_nothing)
            self._streams.resumed(self)
        return not self.rest and not self._given_up

    def pump(self) -> None:
        """Write what there is, until the transport is full; then the request's task takes over."""
        transport = self._request.transport
        while transport is not None and not transport.is_closing() and not self._is_full():
            if self.rest:
                transport.write(self._piece())
                continue
            events = self._opened.take(WRITE_BYTES)
            if not events:
                break
            frames = self._frame(events)
            data = frames[0] if len(frames) == 1 else b"".join(frames)  # one record of TLS
            if len(data) <= 2 * WRITE_BYTES:
                transport.write(data)
            else:
                self.rest.extend(map(memoryview, frames))
        if self._opened.cut and (self.rest or self._is_full()):
            self.give_up("what it was sent is not read")
        if transport is None or self._is_full() or self._opened.ended:
            self._wake()

    def _piece(self) -> memoryview:
        """The next bytes of a large frame; the frame itself may be shared by many clients."""
        whole = self.rest.popleft()
        if len(whole) > WRITE_BYTES:
            self.rest.appendleft(whole[WRITE_BYTES:])
        return whole[:WRITE_BYTES]

    def _over(self) -> bool:
        transport = self._request.transport
        if transport is None or transport.is_closing() or self._given_up:
            return True
        return self._opened.ended and not self.rest

    def _is_full(self) -> bool:
        protocol = self._request.protocol
        return protocol.writing_paused

    async def _drained(self) -> None:
        """Wait until the client has read some; one that does not is cut off."""
        self._streams.stalled(self, self._loop.time())
        try:
            async with asyncio.timeout(self._streams.stall_s):
                await self._request.writer.drain()
        except TimeoutError:
            self.give_up(f"its client has read nothing for {self._streams.stall_s:g} s")
        finally:
            self._streams.resumed(self)

    async def _woken(self) -> None:
        self._waiter = self._loop.create_future()
        timer = self._loop.call_at(self._opened.wake, self._wake)
        try:
            await self._waiter
        finally:
            timer.cancel()
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _nothing() -> None:
    """Where deliveries go once the stream has ended."""
