"""Watchers: bounded queues between the store and whoever streams to a client.

The store never waits for a watcher. Offering an event costs one prefix test and one append; a watcher whose
queue holds too many events or bytes is cut off on the spot (`Overflow`), its queue is dropped, and its client
resumes from the last revision it saw. All watchers share the same Event objects, nothing is encoded per watcher.

What the queues of all watchers keep alive is bounded by the history's budget: an event is in the history too, and
when that forgets it, whoever still has it queued is cut off. So what is shared counts once.

Everything here runs on the event loop. One task consumes one watcher, or a function does that is called when there
is something to take: see `deliveries`.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Self, TypeAlias

from msgspec import Struct

from flexlet.apiserver.store.deliveries import Deliveries
from flexlet.apiserver.store.errors import Overflow
from flexlet.apiserver.store.rows import Event

log: Final = logging.getLogger(__name__)

WATCHER_BYTES: Final = 16 * 1024 * 1024

Accept: TypeAlias = Callable[[Event], bool]
"""Chooses events before the watcher is woken, such as those a selector can match."""


class Limits(Struct, frozen=True):
    """How far behind a watcher may be."""

    events: int
    size_bytes: int


class Watcher:
    """An asynchronous iterator over committed events, in revision order; also a context manager."""

    def __init__(
        self,
        hub: "Hub",
        bucket: str,
        prefix: str,
        after: int,
        replay: Sequence[Event],
        limits: Limits,
        accept: Accept | None = None,
    ) -> None:
        self.bucket = bucket
        self._hub = hub
        self._prefix = prefix
        self._after = after
        self._accept = accept
        self._queue: deque[Event] = deque(replay if accept is None else filter(accept, replay))
        # What is replayed from history is in memory anyway and does not count as being slow.
        self._max_events = limits.events + len(self._queue)
        self._bytes = sum(len(event.row.value) for event in self._queue)
        self._max_bytes = limits.size_bytes + self._bytes
        self._sink: Callable[[], None] | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._ended = False
        self._error: Exception | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if not await self.ready():
            raise StopAsyncIteration
        return self._taken()

    def _taken(self) -> Event:
        event = self._queue.popleft()
        self._bytes -= len(event.row.value)
        return event

    async def batch(self) -> list[Event]:
        """Wait for events and take all that are queued; an empty list means the end of the stream."""
        await self.ready()
        return self.take()

    def take(self, size_bytes: int | None = None) -> list[Event]:
        """What is queued, or its beginning of about so many bytes; at least one event if there is any."""
        if size_bytes is None or self._bytes <= size_bytes:
            events = list(self._queue)
            self._empty()
            return events
        events = []
        left = self._bytes - size_bytes
        while self._queue and self._bytes > left:
            events.append(self._taken())
        return events

    def deliver_to(self, sink: Callable[[], None]) -> None:
        """Call `sink` on the event loop whenever there is something to take, instead of waking a task."""
        self._sink = sink
        if self._queue or self._ended:
            self._wake()

    @property
    def queued(self) -> bool:
        """Whether there is anything to take."""
        return bool(self._queue)

    @property
    def ended(self) -> bool:
        """Whether nothing will be queued any more."""
        return self._ended

    @property
    def cut(self) -> bool:
        """Whether it was too slow."""
        return isinstance(self._error, Overflow)

    def require(self) -> None:
        """Raise what ended the watcher, if it was an error."""
        if self._error is not None:
            raise self._error

    def progress(self) -> int:
        """The revision up to which everything this watcher may see has been taken: a bookmark's version."""
        if self._queue:
            return self._queue[0].row.revision - 1
        return max(self._after, self._hub.revision)

    def offer(self, event: Event) -> None:
        """Queue a committed event if it is wanted; wake the consumer, or cut off a slow one."""
        row = event.row
        if not row.key.startswith(self._prefix) or row.revision <= self._after:
            return
        try:
            if self._accept is not None and not self._accept(event):
                return
        except Exception as exc:  # noqa: BLE001  the chooser's fault belongs to its watcher, not to the store
            self.end(exc)
            return
        size = len(row.value)
        if len(self._queue) >= self._max_events or (self._queue and self._bytes + size > self._max_bytes):
            self.cut_off(f"it is {len(self._queue)} events and {self._bytes} bytes behind")
            return
        self._queue.append(event)
        self._bytes += size
        self._wake()

    def forgotten(self, floor: int) -> None:
        """History ends at a revision: nobody may keep alive what it has forgotten."""
        if self._queue and self._queue[0].row.revision <= floor:
            self.cut_off(f"revision {self._queue[0].row.revision} waits to be read and is no longer kept")

    def cut_off(self, why: str) -> None:
        """End the stream of a client that does not keep up, count it and say so."""
        if self._ended:
            return
        self._hub.dropped += 1
        log.warning("a watch of %s below %r is cut off: %s", self.bucket, self._prefix, why)
        self.end(Overflow(f"the watcher was cut off: {why}"))

    def end(self, error: Exception | None = None) -> None:
        """End the stream: after what is queued when it ends well, at once when it ends in an error."""
        if self._ended:
            return
        self._ended = True
        self._error = error
        if error is not None:
            self._empty()
        self._hub.remove(self)
        self._wake()

    def close(self) -> None:
        """Stop watching; queued events are dropped."""
        self._sink = None
        self.end()
        self._empty()

    def _empty(self) -> None:
        self._queue.clear()
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def ready(self) -> bool:
        """Wait until an event is queued (True) or the stream has ended (False, or its error)."""
        while not self._queue and not self._ended:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        self.require()
        return bool(self._queue)

    def _wake(self) -> None:
        if self._sink is not None:
            self._hub.deliveries.add(self._sink)
        elif self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Hub:
    """All watchers and callbacks by bucket, and the newest revision they have been told of."""

    def __init__(self, revision: int) -> None:
        self.revision = revision
        self.dropped = 0
        self.deliveries = Deliveries()
        self._watchers: dict[str, dict[Watcher, None]] = {}
        self._callbacks: dict[str, dict[object, Callable[[Event], None]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._watchers.values()))

    def add(self, watcher: Watcher) -> None:
        """Let a watcher hear of the events of its bucket."""
        self._watchers.setdefault(watcher.bucket, {})[watcher] = None

    def remove(self, watcher: Watcher) -> None:
        """Forget a watcher that has ended."""
        self._watchers[watcher.bucket].pop(watcher, None)

    def subscribe(self, bucket: str, callback: Callable[[Event], None]) -> Callable[[], None]:
        """Call back for each event of a bucket, before watchers and writers hear of it; returns the way out."""
        callbacks = self._callbacks.setdefault(bucket, {})
        handle = object()
        callbacks[handle] = callback

        def unsubscribe() -> None:
            callbacks.pop(handle, None)

        return unsubscribe

    def publish(self, bucket: str, event: Event) -> None:
        """Tell everybody of a committed event."""
        self.revision = event.row.revision
        for callback in list(self._callbacks.get(bucket, {}).values()):
            _call(callback, event)
        for watcher in list(self._watchers.get(bucket, ())):
            watcher.offer(event)

    def forgotten(self, floors: Mapping[str, int]) -> None:
        """Cut off whoever still has queued what the history of a bucket has forgotten."""
        for bucket, floor in floors.items():
            for watcher in list(self._watchers.get(bucket, ())):
                watcher.forgotten(floor)

    def end(self, bucket: str) -> None:
        """End all streams of a bucket, as when its kind is taken away."""
        for watcher in list(self._watchers.get(bucket, ())):
            watcher.end()

    def end_all(self) -> None:
        """End every stream, as when the store closes."""
        for bucket in self._watchers:
            self.end(bucket)


def _call(callback: Callable[[Event], None], event: Event) -> None:
    """Keep a broken subscriber from stopping the rest; the loop's handler makes it known."""
    try:
        callback(event)
    except Exception as exc:  # noqa: BLE001  the event is committed, the others must hear of it
        message = f"subscriber {callback!r} failed at revision {event.row.revision}"
        asyncio.get_running_loop().call_exception_handler({"message": message, "exception": exc})
