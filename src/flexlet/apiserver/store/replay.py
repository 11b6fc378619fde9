"""From the file back to memory: replaying the revision table gives the live rows and the recent history.

Separate from the database (which knows SQL but no meaning) and from the store (which never sees a file).
A table that could not have been written by us is refused rather than served: a missing revision or a broken
chain of replacements means the file was damaged or edited.
"""

from pathlib import Path

from msgspec import Struct

from flexlet.apiserver.store.bucket import Bucket
from flexlet.apiserver.store.database import Database, Stored, Synchronous
from flexlet.apiserver.store.rows import Event, Row
from flexlet.errors import ConfigError


class Loaded(Struct):
    """An open database and what it holds, as of its newest revision."""

    database: Database
    buckets: dict[str, Bucket]
    revision: int


def load(path: Path | None, synchronous: Synchronous, lock_timeout_s: float) -> Loaded:
    """Open the file and rebuild memory from it; blocks for as long as reading the file takes."""
    database = Database.open(path, synchronous, lock_timeout_s)
    loaded = Loaded(database, {}, database.compacted)
    try:
        for stored in database.replay():
            _admit(loaded, stored, path)
    except ConfigError:
        database.close()
        raise
    for bucket in loaded.buckets.values():
        bucket.keys = sorted(bucket.rows)
    return loaded


def _admit(loaded: Loaded, stored: Stored, path: Path | None) -> None:
    compacted = loaded.database.compacted
    bucket = loaded.buckets.get(stored.bucket)
    if bucket is None:
        bucket = loaded.buckets[stored.bucket] = Bucket(floor=compacted)
    previous = bucket.rows.get(stored.key)
    event = _event(stored, previous)
    if stored.revision > compacted:
        _verify(loaded, stored, previous, path)
        bucket.history.append(event)
        loaded.revision = stored.revision
    bucket.place(event)


def _event(stored: Stored, previous: Row | None) -> Event:
    row = Row(stored.key, stored.revision, stored.value)
    if stored.deleted:
        return Event("DELETED", row, previous)
    return Event("ADDED" if previous is None else "MODIFIED", row, previous)


def _verify(loaded: Loaded, stored: Stored, previous: Row | None, path: Path | None) -> None:
    replaced = 0 if previous is None else previous.revision
    if stored.revision != loaded.revision + 1 or stored.previous != replaced:
        raise ConfigError(
            f"cannot use data file {path}: revision {stored.revision} (replacing {stored.previous}) does not "
            f"follow revision {loaded.revision} ({stored.bucket} {stored.key} is at {replaced}); "
            "the file is damaged; restore a backup, or move it away to start empty"
        )
