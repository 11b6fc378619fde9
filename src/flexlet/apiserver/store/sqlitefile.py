"""What kind of SQLite file ours is: its tables, how it is opened and claimed, how older ones are upgraded."""

import os
import secrets
import sqlite3
from contextlib import suppress
from errno import EDQUOT, EFBIG, ENOSPC
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from flexlet.apiserver.store.checksum import checksum
from flexlet.errors import ConfigError

Synchronous: TypeAlias = Literal["FULL", "NORMAL", "OFF"]

APPLICATION_ID = 0x666C7874  # "flxt" in the file's header
SCHEMA_VERSION = 2
DAMAGED = (
    "the file is damaged; restore a backup with `flexlet server restore`, or save what is readable with "
    "`flexlet server check --repair`"
)
TABLES = (
    """CREATE TABLE revisions (
        revision INTEGER PRIMARY KEY,
        previous INTEGER NOT NULL,
        deleted  INTEGER NOT NULL,
        bucket   TEXT NOT NULL,
        key      TEXT NOT NULL,
        value    BLOB NOT NULL,
        checksum INTEGER NOT NULL)""",
    """CREATE TABLE meta (
        identity  BLOB NOT NULL,
        compacted INTEGER NOT NULL,
        kept      INTEGER NOT NULL,
        clean     INTEGER NOT NULL,
        checksum  INTEGER NOT NULL)""",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)


class Meta(NamedTuple):
    """The one row of the table `meta`, without its checksum."""

    identity: bytes
    """Sixteen random bytes: which data file this is, whatever its name."""
    compacted: int
    kept: int
    clean: bool


def wal_path(path: Path) -> Path:
    """Where SQLite's write-ahead log of a file lies."""
    return path.with_name(path.name + "-wal")


def connect(path: Path | None, lock_timeout_s: float, statements: int) -> sqlite3.Connection:
    """A connection to the file, which is made if there is none."""
    if path is not None:
        _create_private(path)
    return sqlite3.connect(
        path or ":memory:",
        timeout=lock_timeout_s,
        isolation_level=None,
        check_same_thread=False,  # opened by one thread, then owned by the writer
        cached_statements=statements,
    )


def _create_private(path: Path) -> None:
    """Make a missing file readable by its owner only, before SQLite makes it with the default mode.

    An existing file is not touched: closing any descriptor of it would drop this process's lock on it.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def lock(connection: sqlite3.Connection) -> None:
    """Take the lock, and keep it until the connection is closed."""
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("ROLLBACK")


def keep_log(path: Path | None) -> None:
    """Give the log a second name: SQLite deletes it at the end, also when we refuse what is in it."""
    if path is None:
        return
    forget_log(path)
    with suppress(OSError):  # there is no log, or there are no second names here
        os.link(wal_path(path), _kept(path))


def forget_log(path: Path) -> None:
    """Take the second name away."""
    _kept(path).unlink(missing_ok=True)


def leave(connection: sqlite3.Connection, path: Path | None) -> None:
    """Close a file that cannot be used; its log is there again, for whoever can read more of it."""
    connection.close()
    if path is not None:
        with suppress(OSError):
            _kept(path).replace(wal_path(path))


def _kept(path: Path) -> Path:
    return path.with_name(path.name + "-wal-kept")


def prepare(connection: sqlite3.Connection, path: Path | None, synchronous: Synchronous) -> None:
    """Claim the file, and say how it is written."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        _claim(connection, path)
    # Only a file known to be ours is switched to WAL. The limit gives back the disk a burst of writes took.
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA journal_size_limit = 16777216")
    connection.execute(f"PRAGMA synchronous = {synchronous}")


def _claim(connection: sqlite3.Connection, path: Path | None) -> None:
    """Create the schema in an empty file; refuse one that is not ours or newer than we are."""
    if not scalar(connection, "SELECT count(*) FROM sqlite_master"):
        create(connection, Meta(secrets.token_bytes(16), 0, 0, clean=True))
        return
    if scalar(connection, "PRAGMA application_id") != APPLICATION_ID:
        raise ConfigError(f"cannot use {path}: it is a database of another program; name another data file")
    version = scalar(connection, "PRAGMA user_version")
    if version == 1:
        quick_check(connection, path)
        _upgrade(connection)
    elif version != SCHEMA_VERSION:
        raise ConfigError(
            f"cannot use {path}: its format is version {version}, this flexlet reads version {SCHEMA_VERSION}; "
            "run the flexlet that wrote it, or name another data file"
        )


def create(connection: sqlite3.Connection, meta: Meta) -> None:
    """Make the tables in an empty file."""
    for statement in TABLES:
        connection.execute(statement)
    write_meta(connection, meta, insert=True)


def _upgrade(connection: sqlite3.Connection) -> None:
    """Bring a file of version 1, which had no checksums, up to date, within the caller's transaction."""
    compacted = scalar(connection, "SELECT revision FROM compaction")
    connection.execute("ALTER TABLE revisions RENAME TO old")
    kept = scalar(connection, f"SELECT count(*) FROM old WHERE revision <= {compacted}")  # noqa: S608  a number
    create(connection, Meta(secrets.token_bytes(16), compacted, kept, clean=True))
    connection.create_function("checksum", 6, checksum, deterministic=True)
    connection.execute(
        """INSERT INTO revisions SELECT revision, previous, deleted, bucket, key, value,
           checksum(revision, previous, deleted, bucket, key, value) FROM old ORDER BY revision"""
    )
    connection.execute("DROP TABLE old")
    connection.execute("DROP TABLE compaction")


def read_meta(connection: sqlite3.Connection, path: Path | None) -> Meta:
    """The row that says how far the table is compacted."""
    rows = connection.execute("SELECT identity, compacted, kept, clean, checksum FROM meta").fetchall()
    if len(rows) != 1 or tuple(map(type, rows[0])) != (bytes, int, int, int, int) or len(rows[0][0]) != 16:
        raise ConfigError(f"cannot use data file {path}: its table `meta` is not what was written; {DAMAGED}")
    meta = Meta(*rows[0][:-1])
    if _meta_checksum(meta) != rows[0][-1]:
        raise ConfigError(f"cannot use data file {path}: the checksum of its table `meta` is wrong; {DAMAGED}")
    return meta._replace(clean=bool(meta.clean))


def write_meta(connection: sqlite3.Connection, meta: Meta, *, insert: bool = False) -> Meta:
    """Replace the row; gives it back."""
    values = (*meta, _meta_checksum(meta))
    if insert:
        connection.execute("INSERT INTO meta VALUES (?,?,?,?,?)", values)
    else:
        connection.execute("UPDATE meta SET identity=?, compacted=?, kept=?, clean=?, checksum=?", values)
    return meta


def _meta_checksum(meta: Meta) -> int:
    return checksum(meta.compacted, meta.kept, meta.clean, "meta", "", meta.identity)


def quick_check(connection: sqlite3.Connection, path: Path | None) -> None:
    """Let SQLite look at the structure of every page."""
    found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(5)")]
    if found != ["ok"]:
        raise ConfigError(f"cannot use data file {path}: {'; '.join(found)}; {DAMAGED}")


def scalar(connection: sqlite3.Connection, query: str) -> int:
    """The one number that a query gives."""
    return int(connection.execute(query).fetchone()[0])


def is_full(exc: Exception) -> bool:
    """Whether it is for want of space that a write failed."""
    if isinstance(exc, OSError):
        return exc.errno in {ENOSPC, EDQUOT, EFBIG}
    return getattr(exc, "sqlite_errorname", "") == "SQLITE_FULL"


def unusable(path: Path | None, exc: Exception) -> ConfigError:
    """A file that cannot be opened or read, in words, with the way out."""
    name = getattr(exc, "sqlite_errorname", "")
    remedy = "check that it is a file in a directory that can be written"
    if name.startswith("SQLITE_BUSY"):
        remedy = "another process has it open; stop that process or name another data file"
    elif name == "SQLITE_FULL" or is_full(exc):
        remedy = "make space on the disk"
    elif name.startswith("SQLITE_IOERR"):
        remedy = "check the disk, and how big a file of this process may get"
    elif name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR")) or not isinstance(
        exc, sqlite3.OperationalError | OSError
    ):
        remedy = DAMAGED
    return ConfigError(f"cannot open data file {path}: {exc}; {remedy}")
