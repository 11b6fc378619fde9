"""Watch: what exists, what changes, bookmarks, the end.

A stream is made at once, so that wrong parameters are an ordinary error; everything later travels inside it. An
object that starts to match a selector appears as ADDED; one that stops, as DELETED with the state that last
matched and the version of the change.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Final, NamedTuple

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

    async def batches(
        self, alive: Callable[[], bool] = lambda: True
    ) -> AsyncGenerator[Sequence[WatchEvent], None]:
        """Batches of events as they come; an idle stream ends soon after nobody is there any more."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timeout()
        initial = self._initial() if self._wants_initial() else []
        if initial:
            yield initial
        try:
            watcher = self._watcher()
        except Compacted as gone:
            yield [_too_old(gone)]
            return
        marks = _Bookmarks(loop.time(), deadline) if self._options.allow_bookmarks else None
        with watcher:
            while alive() and loop.time() < deadline:
                wake = min(deadline, loop.time() + LOOK_S, marks.due if marks else deadline)
                events = await _within(watcher, wake)
                if events is None:
                    return
                batch = [found for event in events if (found := self._seen(event)) is not None]
                if marks is not None and marks.take(loop.time()):
                    batch.append(self._bookmark(watcher.progress()))
                if batch:
                    yield batch

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
            events.append(self._bookmark(self._after, {INITIAL_EVENTS_END: "true"}))
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

    def _seen(self, event: Event) -> WatchEvent | None:
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
        value = finished.with_revision(self._kind, event.previous.value, event.row.revision)
        return WatchEvent("DELETED", self._shown(value))

    def _shown(self, value: bytes) -> bytes:
        return finished.shown(self._kind, value)

    def _bookmark(self, revision: int, annotations: dict[str, str] | None = None) -> WatchEvent:
        metadata: dict[str, object] = {"resourceVersion": str(revision)}
        if annotations:
            metadata["annotations"] = annotations
        return WatchEvent("BOOKMARK", finished.blank(self._kind, metadata))


async def _within(watcher: Watcher, wake: float) -> Sequence[Event] | None:
    """The next events, none if they do not come in time; None means the end."""
    try:
        async with asyncio.timeout_at(wake):
            return await watcher.batch() or None
    except TimeoutError:
        return ()
    except Overflow:
        return None


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
