"""The values that travel through the store: rows, events, pages, counters.

They are frozen and hold no reference that could form a cycle, so the garbage collector need not walk tens
of thousands of them (`gc=False`). Index, history, watch queues and old pages all share the same Row objects;
an object's bytes exist once in memory however many places mention it.
"""

from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec import Struct

EventType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]

Encode: TypeAlias = Callable[[int], bytes]
"""Finishes an object: takes the revision it is going to have, returns the bytes to store and to serve."""


class Row(Struct, frozen=True, gc=False):
    """One state of one key; `value` is finished, its metadata.resourceVersion is `revision`."""

    key: str
    revision: int
    value: bytes


class Event(Struct, frozen=True, gc=False):
    """One committed change. For DELETED, `row` is the last state under the deletion's own revision."""

    type: EventType
    row: Row
    previous: Row | None


class Page(Struct, frozen=True, gc=False):
    """A piece of a list as of `revision`; `remaining` rows follow its last key."""

    rows: list[Row]
    revision: int
    remaining: int


class Snapshot(Struct, frozen=True):
    """All rows by bucket, as of `revision`."""

    revision: int
    rows: dict[str, list[Row]]


class Statistics(Struct, frozen=True):
    """Counters of a store at one moment, for metrics, the page and the watchdog."""

    revision: int
    keys: int
    waiting_writes: int
    last_batch_rows: int
    last_commit_s: float
    failed_batches: int
    watchers: int
    dropped_watchers: int
    history_events: int
    history_bytes: int
    oldest_revision: int
    compacted_revision: int
    database_bytes: int
