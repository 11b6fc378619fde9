"""Watchers: bounded queues between the store and whoever streams to a client.

The store never waits for a watcher. Offering an event costs one prefix test and one append; a watcher whose
queue is full is cut off on the spot (`Overflow`), its queue is dropped, and its client resumes from the last
revision it saw. All watchers share the same Event objects, nothing is encoded per watcher.

Everything here runs on the event loop; one task consumes one watcher.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Self, TypeAlias

from flexlet.apiserver.store.errors import Overflow
from flexlet.apiserver.store.rows import Event

Accept: TypeAlias = Callable[[Event], bool]
"""Chooses events before the watcher is woken, such as those a selector can match."""


class Watcher:
    """An asynchronous iterator over committed events, in revision order; also a context manager."""

    def __init__(
        self,
        hub: "Hub",
        bucket: str,
        prefix: str,
        after: int,
        replay: Sequence[Event],
        *,
        maxsize: int,
        accept: Accept | None,
    ) -> None:
        self.bucket = bucket
        self._hub = hub
        self._prefix = prefix
        self._after = after
        self._accept = accept
        self._queue: deque[Event] = deque(replay if accept is None else filter(accept, replay))
        # What is replayed from history is in memory anyway and does not count as being slow.
        self._limit = maxsize + len(self._queue)
        self._waiter: asyncio.Future[None] | None = None
        self._ended = False
        self._error: Exception | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if not await self._ready():
            raise StopAsyncIteration
        return self._queue.popleft()

    async def batch(self) -> list[Event]:
        """Wait for events and take all that are queued; an empty list means the end of the stream."""
        await self._ready()
        events = list(self._queue)
        self._queue.clear()
        return events

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
        if len(self._queue) >= self._limit:
            self._hub.dropped += 1
            self.end(Overflow(f"the watcher is {len(self._queue)} events behind and was cut off"))
            return
        self._queue.append(event)
        self._wake()

    def end(self, error: Exception | None = None) -> None:
        """End the stream: after what is queued when it ends well, at once when it ends in an error."""
        if self._ended:
            return
        self._ended = True
        self._error = error
        if error is not None:
            self._queue.clear()
        self._hub.remove(self)
        self._wake()

    def close(self) -> None:
        """Stop watching; queued events are dropped."""
        self.end()
        self._queue.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _ready(self) -> bool:
        """Wait until an event is queued (True) or the stream has ended (False, or its error)."""
        while not self._queue and not self._ended:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        if self._error is not None:
            raise self._error
        return bool(self._queue)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Hub:
    """All watchers and callbacks by bucket, and the newest revision they have been told of."""

    def __init__(self, revision: int) -> None:
        self.revision = revision
        self.dropped = 0
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
