"""Watch: what exists, what changes, bookmarks, the end.

A stream is made at once, so that wrong parameters are an ordinary error; everything later travels inside it. An
object that starts to match a selector appears as ADDED; one that stops, as DELETED with the state that last
matched and the version of the change.
"""

import asyncio
import contextlib
import math
import random
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Final, NamedTuple, Self

from flexlet.api import status
from flexlet.apiserver.contract.kind import Kind
from flexlet.apiserver.rest import finished, listoptions, naming
from flexlet.apiserver.rest.backend import Backend
from flexlet.apiserver.rest.listoptions import ListOptions
from flexlet.apiserver.rest.selection import Selection
from flexlet.apiserver.store.errors import Compacted, Overflow
from flexlet.apiserver.store.rows import Event, Row
from flexlet.apiserver.store.watch import Watcher

BOOKMARK_INTERVAL_S: Final = 60.0
BOOKMARK_TICK_S: Final = 1.0
LAST_BOOKMARK_S: Final = 2.0
LOOK_S: Final = 15.0
MIN_TIMEOUT_S: Final = 1800
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
QUEUE_SIZE: Final = 1000


class WatchEvent(NamedTuple):
    """One line of a stream: its type and the object's finished bytes."""

    type: str
    value: bytes


class Stream:
    """The batches of one watch, in order; it ends at its timeout, when it is too slow, or with its kind."""

    def __init__(
        self, backend: Backend, kind: Kind, namespace: str, options: ListOptions, selection: Selection
    ) -> None:
        listoptions.check(options, watch=True)
        self._backend = backend
        self._kind = kind
        self._prefix = f"{namespace}/" if namespace else ""
        self._options = options
        self._selection = selection
        self._after = _asked(options.resource_version)
        self._forms = backend.forms

    async def batches(self) -> AsyncGenerator[Sequence[WatchEvent], None]:
        """Batches of events as they come."""
        with self.open() as opened:
            if batch := opened.take():
                yield batch
            while not opened.ended:
                await opened.wait()
                if batch := opened.take():
                    yield batch

    def open(self) -> "OpenWatch":
        """Begin: what exists is taken now, and what changes from now on is not missed."""
        now = asyncio.get_running_loop().time()
        deadline = now + self._timeout()
        marks = _Bookmarks(now, deadline) if self._options.allow_bookmarks else None
        initial = self._initial() if self._wants_initial() else []
        try:
            return OpenWatch(self, initial, self._watcher(), deadline, marks)
        except Compacted as gone:
            return OpenWatch(self, [*initial, _too_old(gone)], None, deadline, None)

    def _timeout(self) -> float:
        asked = self._options.timeout_seconds
        return asked or MIN_TIMEOUT_S * (1 + random.random())  # noqa: S311  spreads reconnects, hides nothing

    def _wants_initial(self) -> bool:
        if self._options.send_initial_events is not None:
            return self._options.send_initial_events
        return self._after == 0

    def _initial(self) -> list[WatchEvent]:
        """Everything there is, and where it ends if the client asked to know."""
        store = self._backend.store
        self._after = store.revision
        rows = store.list(self._kind.storage_bucket, self._prefix)
        chosen = rows if self._selection.everything else filter(self._selection.matches, rows)
        events = [WatchEvent("ADDED", self._shown(row.value)) for row in chosen]
        if self._options.send_initial_events and self._options.allow_bookmarks:
            events.append(self.bookmark(self._after, {INITIAL_EVENTS_END: "true"}))
        return events

    def _watcher(self) -> Watcher:
        store = self._backend.store
        return store.watch(
            self._kind.storage_bucket,
            self._prefix,
            after_revision=self._after or store.revision,
            maxsize=QUEUE_SIZE,
            accept=None if self._selection.everything else self._concerns,
        )

    def _concerns(self, event: Event) -> bool:
        return self._matches(event.previous) or self._matches(event.row)

    def _matches(self, row: Row | None) -> bool:
        return row is not None and self._selection.matches(row)

    def seen(self, event: Event) -> WatchEvent | None:
        """The event as this watch sees it."""
        if self._selection.everything:
            return WatchEvent(event.type, self._shown(event.row.value))
        before = self._matches(event.previous)
        after = event.type != "DELETED" and self._matches(event.row)
        if after:
            return WatchEvent("MODIFIED" if before else "ADDED", self._shown(event.row.value))
        if not before or event.previous is None:
            return None
        if event.type == "DELETED":
            return WatchEvent("DELETED", self._shown(event.row.value))
        value = self._left(event.previous, event.row.revision)
        return WatchEvent("DELETED", value)

    def _shown(self, value: bytes) -> bytes:
        if self._kind.storage_version:
            return value
        return self._forms.get(self._kind, value, 0, lambda: finished.shown(self._kind, value))

    def _left(self, last: Row, revision: int) -> bytes:
        """The state that last matched, under the version of the change."""

        def form() -> bytes:
            return finished.shown(self._kind, finished.with_revision(self._kind, last.value, revision))

        return self._forms.get(self._kind, last.value, revision, form)

    def bookmark(self, revision: int, annotations: dict[str, str] | None = None) -> WatchEvent:
        """A line that says how far the stream has come."""
        metadata: dict[str, object] = {"resourceVersion": str(revision)}
        if annotations:
            metadata["annotations"] = annotations
        return WatchEvent("BOOKMARK", finished.blank(self._kind, metadata))


class OpenWatch:
    """A watch under way: what its client has not taken yet; also a context manager."""

    def __init__(
        self,
        stream: Stream,
        initial: list[WatchEvent],
        watcher: Watcher | None,
        deadline: float,
        marks: "_Bookmarks | None",
    ) -> None:
        self._stream = stream
        self._initial = deque(initial)
        self._watcher = watcher
        self._deadline = deadline
        self._marks = marks
        self._loop = asyncio.get_running_loop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._initial.clear()
        if self._watcher is not None:
            self._watcher.close()

    @property
    def ended(self) -> bool:
        """Whether everything was taken and nothing more will come."""
        watcher = self._watcher
        if watcher is None:
            return not self._initial
        if watcher.cut or self._loop.time() >= self._deadline:
            return True
        return watcher.ended and not watcher.queued and not self._initial

    @property
    def cut(self) -> bool:
        """Whether the client was too slow."""
        return self._watcher is not None and self._watcher.cut

    @property
    def wake(self) -> float:
        """When to look again though nothing happens: a bookmark is due, or the end; the client may be gone."""
        return min(self._deadline, self._loop.time() + LOOK_S, self._marks.due if self._marks else self._deadline)

    def take(self, size_bytes: int | None = None) -> list[WatchEvent]:
        """The next events, about so many bytes of them, and a bookmark when it is due and nothing is before it."""
        if self._initial:
            return self._first(size_bytes)
        watcher = self._watcher
        if watcher is None or watcher.cut:
            return []
        watcher.require()
        seen = self._stream.seen
        batch = [found for event in watcher.take(size_bytes) if (found := seen(event)) is not None]
        if self._marks is not None and not watcher.queued and self._marks.take(self._loop.time()):
            batch.append(self._stream.bookmark(watcher.progress()))
        return batch

    def _first(self, size_bytes: int | None) -> list[WatchEvent]:
        batch: list[WatchEvent] = []
        left = math.inf if size_bytes is None else size_bytes
        while self._initial and left > 0:
            batch.append(self._initial.popleft())
            left -= len(batch[-1].value)
        return batch

    def deliver_to(self, sink: Callable[[], None]) -> None:
        """Call `sink` when there is something to take, or the end has come."""
        if self._watcher is not None:
            self._watcher.deliver_to(sink)

    def cut_off(self, why: str) -> None:
        """Give up a client that does not read."""
        if self._watcher is not None:
            self._watcher.cut_off(why)

    async def wait(self) -> None:
        """Wait for events, for the next bookmark or for the end."""
        if self._watcher is None or self._initial:
            return
        with contextlib.suppress(TimeoutError, Overflow):
            async with asyncio.timeout_at(self.wake):
                await self._watcher.ready()


class _Bookmarks:
    """When the next bookmark is due: about once a minute, and every second shortly before the end."""

    def __init__(self, now: float, deadline: float) -> None:
        self._last = deadline - LAST_BOOKMARK_S
        self.due = self._after(now)

    def take(self, now: float) -> bool:
        """Whether to send one now; moves the due time on."""
        if now < self.due:
            return False
        self.due = self._after(now)
        return True

    def _after(self, now: float) -> float:
        return max(now + BOOKMARK_TICK_S, min(now + BOOKMARK_INTERVAL_S, self._last))


def _asked(text: str) -> int:
    if not text or text == "0":
        return 0
    if not naming.is_uint(text):
        message = f"resourceVersion: Invalid value: {naming.text_of(text)}: {naming.uint_error(text)}"
        raise status.failure(500, message=message)
    return int(text)


def _too_old(gone: Compacted) -> WatchEvent:
    message = f"too old resource version: {gone.asked} ({gone.oldest})"
    return WatchEvent("ERROR", status.encode(status.failure(410, "Expired", message).status))
