"""The store: reads from memory, writes through compare-and-swap, watches, compaction.

The one idea: the event loop owns everything in memory and decides at once; a write becomes visible to
readers, watchers and its own caller only after the writer thread reports it durable, in revision order.

- A write is checked, given its revision and encoded in one synchronous step (see `writes`). Losing a race is
  decided there, and reported once the winner is durable, so that a retry reads what it lost against.
- Cancelling a caller does not take its write back: it was submitted and will be committed.
- On a fault (disk full) every write that waits fails together; readers never saw any of it. While the disk is full
  only writes that end objects are taken.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from flexlet.apiserver.store.bucket import Bucket
from flexlet.apiserver.store.database import Database, Synchronous
from flexlet.apiserver.store.encryption import PLAIN, Encryption
from flexlet.apiserver.store.errors import (
    KeyExists,
    RevisionMismatch,
    StoreBusy,
    StoreClosed,
    StoreFault,
    StoreFull,
)
from flexlet.apiserver.store.milestones import Milestones
from flexlet.apiserver.store.replay import Loaded, load
from flexlet.apiserver.store.retention import ByteBudget, Retention
from flexlet.apiserver.store.rows import Encode, Event, EventType, Page, Row, Snapshot, Statistics
from flexlet.apiserver.store.watch import WATCHER_BYTES, Accept, Hub, Limits, Watcher
from flexlet.apiserver.store.writer import Compaction, Job, Writer
from flexlet.apiserver.store.writes import Ledger, Write
from flexlet.errors import InvariantBroken


class Options(Struct, frozen=True):
    """How durable, how much history, how many writes may wait."""

    synchronous: Synchronous = "FULL"
    history_events: int = 10_000
    history_seconds: float = 300.0
    history_bytes: int = 128 * 1024 * 1024
    bucket_history_bytes: int = 64 * 1024 * 1024
    max_waiting_writes: int = 10_000
    lock_timeout_s: float = 1.0
    encryption: Encryption = PLAIN


DEFAULTS = Options()


class Store:
    """An open store; every method must be called on the event loop that opened it."""

    def __init__(self, loaded: Loaded, options: Options, clock: Callable[[], float]) -> None:
        self._options = options
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._buckets = loaded.buckets
        self._floor = loaded.database.compacted
        self._trimmed = loaded.database.compacted
        self._ledger = Ledger(loaded.revision)
        self._hub = Hub(loaded.revision)
        self._retention = Retention(options.history_events, options.history_seconds)
        self._budget = ByteBudget(options.bucket_history_bytes, options.history_bytes)
        for bucket in loaded.buckets.values():
            bucket.weigh()
        self._milestones = Milestones()
        self._closed = False
        self._last_batch = (0, 0.0)
        self._failed_batches = 0
        self._measures = (loaded.database.compacted, 0)
        self._trouble: StoreFault | None = None
        self._writer = Writer(loaded.database, self._loop, self, options.encryption)

    @classmethod
    async def open(
        cls, path: Path | None, options: Options = DEFAULTS, *, clock: Callable[[], float] = time.monotonic
    ) -> "Store":
        """Open or create the data file, or keep data in memory only when `path` is None.

        Raises:
            ConfigError: the file is in use, damaged, from another program or from a newer flexlet.
        """
        loaded = await asyncio.to_thread(
            load, path, options.synchronous, options.lock_timeout_s, options.encryption
        )
        store = cls(loaded, options, clock)
        store._writer.start()
        store._retain()
        return store

    @property
    def revision(self) -> int:
        """The newest committed revision."""
        return self._hub.revision

    @property
    def trouble(self) -> str:
        """Why writing does not work at the moment; empty when it does."""
        return "" if self._trouble is None else str(self._trouble)

    # Reads: committed state only, from memory.

    def get(self, bucket: str, key: str) -> Row | None:
        """The committed row of a key."""
        found = self._buckets.get(bucket)
        return None if found is None else found.rows.get(key)

    def head(self, bucket: str, key: str) -> Row | None:
        """The newest submitted row of a key, durable or not: what a read-modify-write must start from.

        Not for the eyes of a client. A write built on it can only be committed after it.
        """
        waiting = self._ledger.head(bucket, key)
        return self.get(bucket, key) if waiting is None else waiting.result

    def list(self, bucket: str, prefix: str = "") -> Sequence[Row]:
        """All committed rows whose key starts with `prefix`, in key order."""
        found = self._buckets.get(bucket)
        return [] if found is None else found.below(prefix)

    def count(self, bucket: str) -> int:
        """How many rows a bucket has."""
        found = self._buckets.get(bucket)
        return 0 if found is None else len(found.rows)

    def page(
        self,
        bucket: str,
        prefix: str = "",
        *,
        after_key: str = "",
        limit: int | None = None,
        at_revision: int | None = None,
    ) -> Page:
        """Up to `limit` rows behind `after_key`, as of `at_revision` (or now).

        Raises:
            Compacted: that revision is forgotten.
        """
        revision = self.revision if at_revision is None else min(at_revision, self.revision)
        return self._bucket(bucket).page(prefix, after_key, limit, revision)

    async def wait_for(self, revision: int) -> None:
        """Wait until the committed revision is at least `revision`; the caller sets the time limit."""
        if self.revision < revision:
            self._require_open()
            await self._milestones.awaited(revision)

    # Writes: each returns when it is durable and visible.

    async def create(self, bucket: str, key: str, encode: Encode) -> Row:
        """Add a key.

        Raises:
            KeyExists: the key is taken.
            StoreFault: the write is not durable.
        """
        if self.head(bucket, key) is not None:
            await self._settled(bucket, key)
            raise KeyExists(bucket, key)
        return await self._submit(bucket, key, "ADDED", None, encode)

    async def update(
        self, bucket: str, key: str, expected_revision: int, encode: Encode, *, ends: bool = False
    ) -> Row:
        """Replace a row that is at `expected_revision`; one that `ends` the object is taken on a full disk too.

        Raises:
            RevisionMismatch: it is not.
            StoreFault: the write is not durable.
        """
        previous = await self._expect(bucket, key, expected_revision)
        return await self._submit(bucket, key, "MODIFIED", previous, encode, ends=ends)

    async def delete(self, bucket: str, key: str, expected_revision: int, encode: Encode) -> Row:
        """Remove a row that is at `expected_revision`; `encode` gives its last state for the watchers.

        Raises:
            RevisionMismatch: it is not.
            StoreFault: the write is not durable.
        """
        previous = await self._expect(bucket, key, expected_revision)
        return await self._submit(bucket, key, "DELETED", previous, encode, ends=True)

    # Watching.

    def watch(
        self,
        bucket: str,
        prefix: str = "",
        *,
        after_revision: int,
        maxsize: int = 1000,
        max_bytes: int = WATCHER_BYTES,
        accept: Accept | None = None,
    ) -> Watcher:
        """All events of a bucket after a revision; one in the future is waited for.

        Raises:
            Compacted: that revision is forgotten, `oldest` is the first that can be asked for.
        """
        self._require_open()
        replay = self._bucket(bucket).since(after_revision, prefix)
        limits = Limits(maxsize, max_bytes)
        watcher = Watcher(self._hub, bucket, prefix, after_revision, replay, limits, accept)
        self._hub.add(watcher)
        return watcher

    def subscribe(self, bucket: str, callback: Callable[[Event], None]) -> Callable[[], None]:
        """Call back synchronously for each event of a bucket; returns the function that ends it."""
        return self._hub.subscribe(bucket, callback)

    def end_watches(self, bucket: str) -> None:
        """End all watch streams of a bucket well, as when its custom resource definition changes."""
        self._hub.end(bucket)

    # Upkeep.

    async def compact(self, revision: int) -> None:
        """Forget history up to `revision` now; older watches and pages get `Compacted`."""
        self._require_open()
        self._floor = through = max(self._floor, min(revision, self.revision))
        for bucket in self._buckets.values():
            bucket.forget(through)
            bucket.floor = max(bucket.floor, through)
        self._trimmed = max(self._trimmed, through)
        done: asyncio.Future[None] = self._loop.create_future()
        self._writer.put(Compaction(through, done))
        await done

    async def work(self, run: Callable[[Database], object]) -> Any:
        """Have the writer thread do something with the database between two batches; gives what it returns."""
        self._require_open()
        done: asyncio.Future[Any] = self._loop.create_future()
        self._writer.put(Job(run, done))
        return await done

    def snapshot(self) -> Snapshot:
        """Every committed row, as of this moment: references only, so it costs little."""
        rows = {name: list(bucket.rows.values()) for name, bucket in self._buckets.items()}
        return Snapshot(self.revision, rows)

    def statistics(self) -> Statistics:
        """Counters of this moment."""
        histories = [bucket.history for bucket in self._buckets.values() if bucket.history]
        return Statistics(
            revision=self.revision,
            keys=sum(len(bucket.rows) for bucket in self._buckets.values()),
            waiting_writes=len(self._ledger),
            last_batch_rows=self._last_batch[0],
            last_commit_s=self._last_batch[1],
            failed_batches=self._failed_batches,
            watchers=len(self._hub),
            dropped_watchers=self._hub.dropped,
            history_events=sum(map(len, histories)),
            history_bytes=sum(bucket.history_bytes for bucket in self._buckets.values()),
            oldest_revision=min((history[0].row.revision for history in histories), default=self.revision),
            compacted_revision=self._measures[0],
            database_bytes=self._measures[1],
        )

    async def close(self) -> None:
        """Commit what was submitted, end the watchers, close the file."""
        if self._closed:
            return
        self._closed = True
        # The thread's last reports were queued on this loop before the join returned: they have run by then.
        await asyncio.to_thread(self._writer.finish)
        self._hub.end_all()
        self._milestones.give_up()

    # Reports of the writer thread.

    def committed(self, writes: Sequence[Write], seconds: float) -> None:
        """Make durable writes visible, in revision order: rows, subscribers, watchers, then callers."""
        for write in writes:
            self._ledger.settle(write)
            self._bucket(write.bucket).apply(write.event)
            self._hub.publish(write.bucket, write.event)
            write.succeed()
        self._last_batch = (len(writes), seconds)
        self._milestones.reached(self.revision)
        self._retain()

    def failed(self, fault: StoreFault) -> None:
        """Fail every write that waits; the next one starts again from the committed state."""
        self._failed_batches += 1
        self._ledger.abandon(self.revision, fault)

    def troubled(self, fault: StoreFault | None) -> None:
        """Keep the writer's last word on whether writing works."""
        self._trouble = fault

    def measured(self, compacted: int, size_bytes: int) -> None:
        """Keep what the thread found out about its files."""
        self._measures = (compacted, size_bytes)

    # Inside.

    async def _expect(self, bucket: str, key: str, revision: int) -> Row:
        head = self.head(bucket, key)
        if head is not None and head.revision == revision:
            return head
        await self._settled(bucket, key)
        raise RevisionMismatch(bucket, key, revision, self.get(bucket, key))

    async def _settled(self, bucket: str, key: str) -> None:
        """Wait until the newest write of a key is durable, if one is under way."""
        waiting = self._ledger.head(bucket, key)
        if waiting is not None:
            await self._outcome(waiting)

    async def _submit(
        self,
        bucket: str,
        key: str,
        event_type: EventType,
        previous: Row | None,
        encode: Encode,
        *,
        ends: bool = False,
    ) -> Row:
        self._require_open()
        if not ends and isinstance(self._trouble, StoreFull):
            raise StoreFull(f"{self._trouble}; until then only deletions are accepted")
        if len(self._ledger) >= self._options.max_waiting_writes:
            raise StoreBusy(f"{len(self._ledger)} writes wait for the disk; try again later")
        revision = self._ledger.revision + 1
        row = Row(key, revision, encode(revision))
        if self._ledger.revision + 1 != revision:
            raise InvariantBroken(f"the encoder of {bucket} {key} wrote to the store itself")
        write = self._ledger.add(bucket, Event(event_type, row, previous))
        self._writer.put(write)
        return await self._outcome(write)

    def _outcome(self, write: Write) -> asyncio.Future[Row]:
        waiter: asyncio.Future[Row] = self._loop.create_future()
        write.waiters.append(waiter)
        return waiter

    def _bucket(self, name: str) -> Bucket:
        bucket = self._buckets.get(name)
        if bucket is None:
            bucket = self._buckets[name] = Bucket(self._floor)
        return bucket

    def _require_open(self) -> None:
        if self._closed:
            raise StoreClosed("the store is closed; nothing is written or watched any more")

    def _retain(self) -> None:
        """Forget history that is too old, a tenth of its size at a time."""
        now = self._clock()
        self._retention.reached(self.revision, now)
        for name in self._budget.shrink(self._buckets):
            self._hub.forgotten({name: self._buckets[name].floor})
        cutoff = self._retention.cutoff(self.revision, now)
        if cutoff - self._trimmed < max(1, self._options.history_events // 10):
            return
        self._trimmed = cutoff
        for bucket in self._buckets.values():
            bucket.forget(cutoff)
        self._hub.forgotten({name: bucket.floor for name, bucket in self._buckets.items()})
        self._writer.put(Compaction(cutoff, None))
