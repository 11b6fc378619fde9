"""The writer thread: takes submitted writes off a queue, commits them in batches, reports back to the loop.

Who owns what: after the start this thread alone touches the database, and the event loop alone touches
everything in memory. They meet in one queue (loop to thread) and in `call_soon_threadsafe` (thread to
loop), both first-in-first-out, so outcomes reach the loop in revision order.

Group commit happens by itself: while one batch waits for the disk, the next writes queue up behind it.

When a batch fails, the writes queued behind it count on revisions that will never exist. Each write carries
its generation; the thread drops the rest of a failed generation unread, and the loop fails all of its
waiting writes and opens the next generation when the report arrives.

Trouble is the thread's last word on whether writing works: set when a batch fails and a write of its own
fails as well, cleared when one succeeds. Nobody need write for it to be true: an idle thread tries every few
seconds. When the disk is full, deletions alone are let through, out of space that was put aside for them
(`reserve`), until all of it is there again.
"""

import logging
import queue
import threading
import time
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from msgspec import Struct

from flexlet.apiserver.store.database import MAX_BATCH_ROWS, Database, Stored
from flexlet.apiserver.store.encryption import PLAIN, Encryption
from flexlet.apiserver.store.errors import StoreClosed, StoreFault, StoreFull
from flexlet.apiserver.store.writes import Write

log = logging.getLogger(__name__)
COMPACT_STEP = 500  # revisions; one step keeps writes waiting for a few milliseconds
FULL_STEP = 50  # a full disk has less to spare
SIZE_INTERVAL_S = 1.0
IDLE_PROBE_S = 5.0
TROUBLE_PROBE_S = 1.0


class Reports(Protocol):
    """What the loop hears from the thread, always called on the loop."""

    def committed(self, writes: Sequence[Write], seconds: float) -> None:
        """These writes are durable."""

    def failed(self, fault: StoreFault) -> None:
        """A batch is not durable, nor anything submitted after it."""

    def troubled(self, fault: StoreFault | None) -> None:
        """Whether writing works: the writer's last word."""

    def measured(self, compacted: int, size_bytes: int) -> None:
        """How far compaction has come and what the files occupy."""


class Compaction(Struct, frozen=True):
    """A wish to forget what was replaced up to a revision; somebody may wait for it."""

    through: int
    done: Future[None] | None


class Job(Struct, frozen=True):
    """Something to do with the database between two batches; it holds up writes for as long as it takes."""

    run: Callable[[Database], object]
    done: Future[Any]


class Stop:
    """The last item of the queue."""


class Writer:
    """One thread, one database, one queue."""

    def __init__(
        self, database: Database, loop: AbstractEventLoop, reports: Reports, encryption: Encryption = PLAIN
    ) -> None:
        self._database = database
        self._encryption = None if encryption is PLAIN else encryption
        self._loop = loop
        self._reports = reports
        self._queue: queue.SimpleQueue[Write | Compaction | Job | Stop] = queue.SimpleQueue()
        self._compactions: list[Compaction] = []
        self._failed_generation = -1
        self._trouble: StoreFault | None = None
        self._probe_at = time.monotonic() + IDLE_PROBE_S
        self._stopping = False
        self._measured_at = float("-inf")
        # A daemon: a program that dies without closing the store must not hang on this thread.
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)

    def start(self) -> None:
        """Hand the database over to the thread."""
        self._thread.start()

    def put(self, item: Write | Compaction | Job) -> None:
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
            if time.monotonic() >= self._probe_at:
                self._probe()
            self._measure()
        self._answer(self._compactions, StoreClosed("the store closed before it was compacted"))
        self._database.close()

    def _take(self) -> list[Write]:
        """What is queued, up to one batch; waits only when no compaction is left to do."""
        batch: list[Write] = []
        if not self._compactions:
            try:
                patience = max(0.0, self._probe_at - time.monotonic())
                self._sort(self._queue.get(timeout=patience), batch)
            except queue.Empty:
                return batch
        while len(batch) < MAX_BATCH_ROWS and not self._queue.empty():
            self._sort(self._queue.get(), batch)
        return batch

    def _sort(self, item: Write | Compaction | Job | Stop, batch: list[Write]) -> None:
        match item:
            case Write():
                if item.generation != self._failed_generation:
                    batch.append(item)
            case Compaction():
                self._compactions.append(item)
            case Job():
                self._do(item)
            case Stop():
                self._stopping = True

    def _do(self, job: Job) -> None:
        try:
            result = job.run(self._database)
        except Exception as exc:  # noqa: BLE001  it belongs to whoever waits for the job
            self._report(_resolve, job.done, None, exc)
        else:
            self._report(_resolve, job.done, result, None)

    def _commit(self, batch: list[Write]) -> None:
        began = time.perf_counter()
        try:
            self._append(self._records(batch))
        except Exception as exc:  # noqa: BLE001  a bug met in one batch must not end the only writer
            self._failed_generation = batch[0].generation
            fault = exc if isinstance(exc, StoreFault) else StoreFault(f"cannot write: {exc!r}")
            extra = {"error": str(fault), "rows": len(batch)}
            log.error("batch not written", extra=extra)  # noqa: TRY400  the traceback travels with the fault
            self._judge(fault)
            self._report(self._reports.failed, fault)
        else:
            self._report(self._reports.committed, batch, time.perf_counter() - began)
            if self._trouble is None:
                self._probe_at = time.monotonic() + IDLE_PROBE_S  # that was a write which worked
            elif isinstance(self._trouble, StoreFull):
                self._compactions.append(Compaction(batch[-1].event.row.revision, None))

    def _records(self, batch: list[Write]) -> list[Stored]:
        records = [write.record() for write in batch]
        if self._encryption is None:
            return records
        seal = self._encryption.seal
        return [record._replace(value=seal(record.bucket, record.key, record.value)) for record in records]

    def _append(self, records: list[Stored]) -> None:
        """Write; on a disk known to be full whatever comes ends objects, and may have of what was put aside."""
        try:
            self._database.append(records)
        except StoreFull:
            if not isinstance(self._trouble, StoreFull):
                raise
            self._database.release(sum(len(record.value) for record in records))
            self._database.append(records)

    def _judge(self, fault: StoreFault) -> None:
        """After a fault: is it writing as such that fails, or was it this batch?"""
        self._trouble = fault
        self._probe()

    def _probe(self) -> None:
        """Find out whether writing works, and say so if that has changed."""
        before = self._trouble
        try:
            self._database.probe()
            if not isinstance(before, StoreFull) or self._database.regain():
                self._trouble = None
        except StoreFault as fault:
            # A full disk stays the reason: what else fails on it fails for that.
            self._trouble = before if isinstance(before, StoreFull) else fault
        self._probe_at = time.monotonic() + (IDLE_PROBE_S if self._trouble is None else TROUBLE_PROBE_S)
        if before is not self._trouble:
            log.warning(
                "writing works again" if self._trouble is None else "cannot write", extra=_because(self._trouble)
            )
        self._report(self._reports.troubled, self._trouble)

    def _compact(self) -> None:
        """One small step towards the furthest wish, so that writes get their turn in between."""
        try:
            through = max(wish.through for wish in self._compactions)
            self._database.compact(through, FULL_STEP if self._trouble else COMPACT_STEP)
        except StoreFault as fault:
            if isinstance(self._trouble, StoreFull):
                self._database.release(0)  # for the next try, after the next deletion
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
                self._report(_resolve, wish.done, None, fault)

    def _measure(self) -> None:
        now = time.monotonic()
        if now - self._measured_at >= SIZE_INTERVAL_S:
            self._measured_at = now
            self._synchronize()
            self._report(self._reports.measured, self._database.compacted, self._database.size_bytes())

    def _synchronize(self) -> None:
        try:
            self._database.synchronize()
        except OSError as exc:
            log.warning("mark not synchronized", extra={"error": str(exc)})

    def _report(self, callback: Callable[..., None], *arguments: object) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:  # the loop is closed: nobody is left to serve
            self._stopping = True


def _resolve(done: Future[Any], result: object, fault: Exception | None) -> None:
    if done.done():
        return
    if fault is None:
        done.set_result(result)
    else:
        done.set_exception(fault)


def _because(fault: StoreFault | None) -> dict[str, str]:
    return {} if fault is None else {"error": str(fault)}
