"""The writer thread: takes submitted writes off a queue, commits them in batches, reports back to the loop.

Who owns what: after the start this thread alone touches the database, and the event loop alone touches
everything in memory. They meet in one queue (loop to thread) and in `call_soon_threadsafe` (thread to
loop), both first-in-first-out, so outcomes reach the loop in revision order.

Group commit happens by itself: while one batch waits for the disk, the next writes queue up behind it.

When a batch fails, the writes queued behind it count on revisions that will never exist. Each write carries
its generation; the thread drops the rest of a failed generation unread, and the loop fails all of its
waiting writes and opens the next generation when the report arrives.
"""

import logging
import queue
import threading
import time
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from flexlet.apiserver.store.database import MAX_BATCH_ROWS, Database
from flexlet.apiserver.store.errors import StoreClosed, StoreFault
from flexlet.apiserver.store.writes import Write

log = logging.getLogger(__name__)
COMPACT_STEP = 500  # revisions; one step keeps writes waiting for a few milliseconds
SIZE_INTERVAL_S = 1.0


class Reports(Protocol):
    """What the loop hears from the thread, always called on the loop."""

    def committed(self, writes: Sequence[Write], seconds: float) -> None:
        """These writes are durable."""

    def failed(self, fault: StoreFault) -> None:
        """A batch is not durable, nor anything submitted after it."""

    def measured(self, compacted: int, size_bytes: int) -> None:
        """How far compaction has come and what the files occupy."""


class Compaction(Struct, frozen=True):
    """A wish to forget what was replaced up to a revision; somebody may wait for it."""

    through: int
    done: Future[None] | None


class Stop:
    """The last item of the queue."""


class Writer:
    """One thread, one database, one queue."""

    def __init__(self, database: Database, loop: AbstractEventLoop, reports: Reports) -> None:
        self._database = database
        self._loop = loop
        self._reports = reports
        self._queue: queue.SimpleQueue[Write | Compaction | Stop] = queue.SimpleQueue()
        self._compactions: list[Compaction] = []
        self._failed_generation = -1
        self._stopping = False
        self._measured_at = float("-inf")
        # A daemon: a program that dies without closing the store must not hang on this thread.
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)

    def start(self) -> None:
        """Hand the database over to the thread."""
        self._thread.start()

    def put(self, item: Write | Compaction) -> None:
        """Queue a write or a compaction; never blocks."""
        self._queue.put(item)

    def finish(self) -> None:
        """Commit what is queued, close the database, end the thread; blocks until then."""
        self._queue.put(Stop())
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping:
            batch = self._take()
            if batch:
                self._commit(batch)
            if self._compactions:
                self._compact()
            self._measure()
        self._answer(self._compactions, StoreClosed("the store closed before it was compacted"))
        self._database.close()

    def _take(self) -> list[Write]:
        """What is queued, up to one batch; waits only when no compaction is left to do."""
        batch: list[Write] = []
        if not self._compactions:
            self._sort(self._queue.get(), batch)
        while len(batch) < MAX_BATCH_ROWS and not self._queue.empty():
            self._sort(self._queue.get(), batch)
        return batch

    def _sort(self, item: Write | Compaction | Stop, batch: list[Write]) -> None:
        match item:
            case Write():
                if item.generation != self._failed_generation:
                    batch.append(item)
            case Compaction():
                self._compactions.append(item)
            case Stop():
                self._stopping = True

    def _commit(self, batch: list[Write]) -> None:
        began = time.perf_counter()
        try:
            self._database.append([write.record() for write in batch])
        except Exception as exc:  # noqa: BLE001  a bug met in one batch must not end the only writer
            self._failed_generation = batch[0].generation
            fault = exc if isinstance(exc, StoreFault) else StoreFault(f"cannot write: {exc!r}")
            extra = {"error": str(fault), "rows": len(batch)}
            log.error("batch not written", extra=extra)  # noqa: TRY400  the traceback travels with the fault
            self._report(self._reports.failed, fault)
        else:
            self._report(self._reports.committed, batch, time.perf_counter() - began)

    def _compact(self) -> None:
        """One small step towards the furthest wish, so that writes get their turn in between."""
        try:
            through = max(wish.through for wish in self._compactions)
            self._database.compact(through, COMPACT_STEP)
        except StoreFault as fault:
            log.warning("compaction put off", extra={"error": str(fault)})
            self._answer(self._compactions, fault)
            self._compactions = []
            return
        compacted = self._database.compacted
        self._answer([wish for wish in self._compactions if wish.through <= compacted], None)
        self._compactions = [wish for wish in self._compactions if wish.through > compacted]

    def _answer(self, wishes: Sequence[Compaction], fault: StoreFault | None) -> None:
        self._measured_at = float("-inf")
        for wish in wishes:
            if wish.done is not None:
                self._report(_resolve, wish.done, fault)

    def _measure(self) -> None:
        now = time.monotonic()
        if now - self._measured_at >= SIZE_INTERVAL_S:
            self._measured_at = now
            self._report(self._reports.measured, self._database.compacted, self._database.size_bytes())

    def _report(self, callback: Callable[..., None], *arguments: object) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:  # the loop is closed: nobody is left to serve
            self._stopping = True


def _resolve(done: Future[None], fault: StoreFault | None) -> None:
    if done.done():
        return
    if fault is None:
        done.set_result(None)
    else:
        done.set_exception(fault)
