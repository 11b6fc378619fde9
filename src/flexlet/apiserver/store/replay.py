"""From the file back to memory: replaying the revision table gives the live rows and the recent history.

Separate from the database (which knows SQL but no meaning) and from the store (which never sees a file). A
table that could not have been written by us is refused rather than served: a wrong checksum, a missing
revision, a broken chain of replacements or an end before the mark means that the file was damaged or edited.
"""

from pathlib import Path
from typing import Any

from msgspec import Struct

from flexlet.apiserver.store.bucket import Bucket
from flexlet.apiserver.store.damage import Survey
from flexlet.apiserver.store.database import Database, Stored, Synchronous
from flexlet.apiserver.store.encryption import PLAIN, Encryption
from flexlet.apiserver.store.rows import Event, Row
from flexlet.apiserver.store.sqlitefile import DAMAGED
from flexlet.errors import ConfigError


class Loaded(Struct):
    """An open database and what it holds, as of its newest revision."""

    database: Database
    buckets: dict[str, Bucket]
    revision: int
    kept: int = 0


def load(
    path: Path | None, synchronous: Synchronous, lock_timeout_s: float, encryption: Encryption = PLAIN
) -> Loaded:
    """Open the file and rebuild memory from it; blocks for as long as reading the file takes."""
    database = Database.open(path, synchronous, lock_timeout_s)
    try:
        loaded = _read(database, encryption)
        if loaded is None:
            raise ConfigError(_refusal(database, path))
        encryption.require_readable(path)
        database.start(loaded.revision)
    except ConfigError:
        database.leave()
        raise
    for bucket in loaded.buckets.values():
        bucket.keys = sorted(bucket.rows)
    return loaded


def _read(database: Database, encryption: Encryption) -> Loaded | None:
    """What the file holds; None if it is not all there."""
    loaded = Loaded(database, {}, database.compacted)
    for stored in database.replay():
        if not isinstance(stored, Stored) or not _admit(loaded, stored, encryption):
            return None
    if loaded.kept != database.kept or loaded.revision < database.reached:
        return None
    return loaded


def _admit(loaded: Loaded, stored: Stored, encryption: Encryption) -> bool:
    """Take a record into memory; whether it follows from those before it."""
    compacted = loaded.database.compacted
    bucket = loaded.buckets.get(stored.bucket)
    if bucket is None:
        bucket = loaded.buckets[stored.bucket] = Bucket(floor=compacted)
    previous = bucket.rows.get(stored.key)
    if stored.revision <= compacted:
        loaded.kept += 1
        follows = previous is None and not stored.deleted
    else:
        replaced = 0 if previous is None else previous.revision
        follows = stored.revision == loaded.revision + 1 and stored.previous == replaced
        follows = follows and not (stored.deleted and previous is None)
    if not follows:
        return False
    event = _event(stored._replace(value=encryption.open(stored)), previous)
    if stored.revision > compacted:
        bucket.history.append(event)
        loaded.revision = stored.revision
    bucket.place(event)
    return True


def _event(stored: Stored, previous: Row | None) -> Event:
    row = Row(stored.key, stored.revision, stored.value)
    if stored.deleted:
        return Event("DELETED", row, previous)
    return Event("ADDED" if previous is None else "MODIFIED", row, previous)


def survey(database: Database) -> Survey:
    """Look at every record that can be read, and note what is wrong with them as a whole."""
    found = Survey(database.compacted, database.kept, database.reached)
    try:
        for record in database.replay():
            take(found, record)
    except ConfigError as fault:
        found.faults.append(str(fault))
    return found


def take(found: Survey, record: Stored | tuple[Any, ...]) -> None:
    """Note one record in a survey."""
    if isinstance(record, Stored):
        found.intact(record.revision, record.previous, record.bucket, record.key, deleted=record.deleted)
    else:
        found.damaged(record)


def _refusal(database: Database, path: Path | None) -> str:
    return f"cannot use data file {path}: {'; '.join(survey(database).words())}; {DAMAGED}"
