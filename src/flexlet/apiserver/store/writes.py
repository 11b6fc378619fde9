"""Writes on their way to the disk: submitted, not yet committed.

The ledger is what compare-and-swap looks at. It is owned by the event loop and answers at once, so of two
racing writers one has lost before either touches the disk. What must stay true:

- revisions are given out without gaps, in submission order; the counter runs ahead of the committed one by
  exactly the number of waiting writes;
- the head of a key is the newest write submitted for it, or nothing when all of them are committed;
- when a batch fails, every waiting write fails with it and the counter falls back to the committed
  revision: later writes may build on earlier ones, so no part of them can stand alone.
"""

from collections import deque
from typing import TYPE_CHECKING

from flexlet.apiserver.store.database import Stored
from flexlet.apiserver.store.errors import StoreFault
from flexlet.apiserver.store.rows import Event, Row

if TYPE_CHECKING:
    from asyncio import Future


class Write:
    """One submitted change and everybody who waits for it to become durable."""

    __slots__ = ("bucket", "event", "generation", "waiters")

    def __init__(self, bucket: str, event: Event, generation: int) -> None:
        self.bucket = bucket
        self.event = event
        self.generation = generation
        self.waiters: list[Future[Row]] = []

    @property
    def result(self) -> Row | None:
        """The row this write leaves behind: None for a deletion."""
        return None if self.event.type == "DELETED" else self.event.row

    def record(self) -> Stored:
        """The write as the database keeps it."""
        row, previous = self.event.row, self.event.previous
        replaced = 0 if previous is None else previous.revision
        return Stored(row.revision, replaced, self.event.type == "DELETED", self.bucket, row.key, row.value)

    def succeed(self) -> None:
        """Tell the waiters; one that was cancelled meanwhile is passed over, the write stands."""
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(self.event.row)

    def fail(self, fault: StoreFault) -> None:
        """Give each waiter its own copy of the fault, so that their tracebacks do not mix."""
        for waiter in self.waiters:
            if not waiter.done():
                copy = type(fault)(*fault.args)
                copy.__cause__ = fault.__cause__
                waiter.set_exception(copy)


class Ledger:
    """All waiting writes, the head of each key they touch, and the revision counter."""

    def __init__(self, revision: int) -> None:
        self.revision = revision
        self.generation = 0
        self._waiting: deque[Write] = deque()
        self._heads: dict[tuple[str, str], Write] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def head(self, bucket: str, key: str) -> Write | None:
        """The newest waiting write of this key."""
        return self._heads.get((bucket, key))

    def add(self, bucket: str, event: Event) -> Write:
        """Enter a change under the next revision, which its row already carries."""
        write = Write(bucket, event, self.generation)
        self.revision = event.row.revision
        self._waiting.append(write)
        self._heads[bucket, event.row.key] = write
        return write

    def settle(self, write: Write) -> None:
        """Take out the oldest waiting write: it is committed."""
        self._waiting.popleft()
        place = (write.bucket, write.event.row.key)
        if self._heads[place] is write:
            del self._heads[place]

    def abandon(self, committed: int, fault: StoreFault) -> None:
        """Fail everything that waits and continue counting from the committed revision."""
        failed, self._waiting = self._waiting, deque()
        self._heads.clear()
        self.revision = committed
        self.generation += 1
        for write in failed:
            write.fail(fault)
