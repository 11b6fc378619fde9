"""Copies of the data as one file: a backup, what is restored from it, what could be saved of a damaged file.

A snapshot has the form of a data file that is compacted through its revision: each object once, no history. So any
of them can be put in place of a data file, and clients that watch from before get told to list again.
"""

import secrets
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from flexlet.apiserver.store.checksum import checksum, is_intact
from flexlet.apiserver.store.database import MAX_BATCH_ROWS, PLACES, SELECT, Stored
from flexlet.apiserver.store.encryption import Encryption
from flexlet.apiserver.store.mark import synchronize_directory
from flexlet.apiserver.store.rows import Snapshot
from flexlet.apiserver.store.sqlitefile import (
    Meta,
    connect,
    create,
    quick_check,
    read_meta,
    scalar,
    unusable,
    wal_path,
)
from flexlet.errors import ConfigError

BUMP = 1_000_000
"""Added to the revision of what is restored: no client has seen a revision in between, so every watch from before
is told to list again instead of waiting for a revision it believes to know."""


class Contents(NamedTuple):
    """What a snapshot holds: the newest record of each object, and files that belong to it."""

    revision: int
    records: Sequence[Stored]
    files: Mapping[str, bytes]


def records_of(snapshot: Snapshot, encryption: Encryption) -> Iterator[Stored]:
    """What memory holds, in the form of the file."""
    for bucket, rows in snapshot.rows.items():
        for row in rows:
            value = encryption.seal(bucket, row.key, row.value)
            yield Stored(row.revision, 0, deleted=False, bucket=bucket, key=row.key, value=value)


def write_snapshot(target: Path, contents: Contents) -> None:
    """Make a file with these contents, complete or absent, for its owner only.

    Raises:
        ConfigError: it cannot be written.
    """
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with closing(connect(draft, 0.0, 16)) as connection:
            connection.execute("PRAGMA journal_mode = OFF")  # an unfinished draft is thrown away as a whole
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                _fill(connection, contents)
        draft.replace(target)
        synchronize_directory(target.parent)
    except (sqlite3.Error, OSError) as exc:
        raise ConfigError(f"cannot write {target}: {exc}") from exc
    finally:
        draft.unlink(missing_ok=True)


def _fill(connection: sqlite3.Connection, contents: Contents) -> None:
    create(connection, Meta(secrets.token_bytes(16), contents.revision, len(contents.records), clean=True))
    ordered = iter(sorted(contents.records))
    while batch := list(islice(ordered, MAX_BATCH_ROWS)):
        insert = "INSERT INTO revisions VALUES " + ",".join([PLACES] * len(batch))  # noqa: S608  only marks
        connection.execute(insert, [value for record in batch for value in (*record, checksum(*record))])
    if contents.files:
        connection.execute("CREATE TABLE files (name TEXT PRIMARY KEY, content BLOB NOT NULL, checksum INTEGER)")
        rows = [(name, content, crc32(content)) for name, content in contents.files.items()]
        connection.executemany("INSERT INTO files VALUES (?,?,?)", rows)


def read_snapshot(path: Path) -> Contents:
    """Everything a backup holds, verified.

    Raises:
        ConfigError: it is no backup, or it is damaged.
    """
    if not path.is_file():
        raise ConfigError(f"cannot read backup {path}: there is no such file")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            quick_check(connection, path)
            meta = read_meta(connection, path)
            records = list(connection.execute(f"{SELECT} ORDER BY revision"))
            files = _files(connection)
    except (sqlite3.Error, UnicodeError) as exc:
        raise unusable(path, exc) from exc
    broken = sum(not is_intact(record) for record in records) + sum(content is None for content in files.values())
    if broken or len(records) != meta.kept:
        raise ConfigError(
            f"cannot use backup {path}: {broken} of its records are damaged and {meta.kept - len(records)} are "
            "missing; use another backup"
        )
    whole = {name: content for name, content in files.items() if content is not None}
    return Contents(meta.compacted, [Stored(*record[:-1]) for record in records], whole)


def _files(connection: sqlite3.Connection) -> dict[str, bytes | None]:
    """The files of a backup by name; None for one that is damaged."""
    if not scalar(connection, "SELECT count(*) FROM sqlite_master WHERE name = 'files'"):
        return {}
    rows = connection.execute("SELECT name, content, checksum FROM files")
    return {name: content if crc32(content) == check else None for name, content, check in rows}


class Salvage(NamedTuple):
    """What could be read of a file, whatever its state: the newest intact record of each object."""

    records: list[Stored]
    newest: int
    damaged: int


def salvage(path: Path) -> Salvage:
    """Read what is readable, from a copy: the file and its log stay as they are.

    Raises:
        ConfigError: SQLite cannot read anything of it.
    """
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".salvage-") as folder:
        copy = Path(folder) / path.name
        shutil.copy(path, copy)
        if wal_path(path).exists():
            shutil.copy(wal_path(path), wal_path(copy))
        try:
            with closing(connect(copy, 0.0, 16)) as connection:
                saved = _salvaged(_readable(connection))
                return saved._replace(newest=max(saved.newest, _compacted(connection, path)))
        except sqlite3.Error as exc:
            raise ConfigError(f"cannot save anything of {path}: {exc}; restore a backup") from exc


def _compacted(connection: sqlite3.Connection, path: Path) -> int:
    """How far the file says it is compacted, if that can be read."""
    try:
        return read_meta(connection, path).compacted
    except (sqlite3.Error, ConfigError):
        return 0


def _salvaged(found: Iterable[tuple[Any, ...]]) -> Salvage:
    heads: dict[tuple[str, str], Stored] = {}
    newest = damaged = 0
    for record in found:
        if not is_intact(record):
            damaged += 1
            continue
        stored = Stored(*record[:-1])
        newest = max(newest, stored.revision)
        heads[stored.bucket, stored.key] = stored
    records = [head._replace(previous=0, deleted=False) for head in heads.values() if not head.deleted]
    return Salvage(records, newest, damaged)


def _readable(connection: sqlite3.Connection) -> Iterator[tuple[Any, ...]]:
    """Every record on a page that can be read; behind one that cannot, ever longer leaps to the next that can."""
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    after, leap, end = 0, 1, 2**62
    while after < end:
        try:
            for record in connection.execute(f"{SELECT} WHERE revision > ? ORDER BY revision", (after,)):
                after, leap = record[0], 1
                yield record
        except sqlite3.DatabaseError:
            if leap > 2**40 or (not after and leap > 2**20):
                raise
            after, leap = after + leap, leap * 2
        else:
            return
