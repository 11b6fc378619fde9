"""Backups of a data directory and what is restored from them: ``flexlet server backup`` and ``restore``.

Of a running server a backup is made from memory, which holds every committed object: no write waits for it, and it
works when the disk below the data does not. Of a stopped one it is made from the files.
"""

import fcntl
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from flexlet.apiserver.auth.files import write_private
from flexlet.apiserver.store.encryption import IDENTITY, Encryption, key_name
from flexlet.apiserver.store.mark import mark_path, read_mark
from flexlet.apiserver.store.rows import Snapshot
from flexlet.apiserver.store.snapshot import BUMP, Contents, read_snapshot, records_of, write_snapshot
from flexlet.apiserver.store.sqlitefile import wal_path
from flexlet.errors import ConfigError

DATABASE: Final = "flexlet.db"
PKI: Final = "pki"
LOCK_BYTES: Final = (0x40000000, 512)  # where SQLite locks a file


class Report(msgspec.Struct, frozen=True):
    """What a backup, a restore or a check found or made."""

    revision: int
    objects: dict[str, int]
    damage: list[str] = []
    keys: dict[str, int] = {}
    """How many values are encrypted by which key; the empty name stands for those that are not."""

    def words(self) -> str:
        """What there is, for people."""
        text = f"{sum(self.objects.values())} objects up to revision {self.revision}"
        if not set(self.keys) - {IDENTITY}:
            return text
        counted = (f"{n} by key {name}" if name else f"{n} not at all" for name, n in self.keys.items())
        return f"{text}; encrypted: {', '.join(counted)}"


def report_of(contents: Contents, damage: Iterable[str] = ()) -> Report:
    """What there is, by bucket and by key."""
    objects = Counter(record.bucket for record in contents.records)
    keys = Counter(key_name(record.value)[0] for record in contents.records)
    return Report(contents.revision, dict(sorted(objects.items())), list(damage), dict(sorted(keys.items())))


def pki_files(data: Path) -> dict[str, bytes]:
    """The authority and the keys: without them every kubeconfig and token of the cluster is void."""
    folder = data / PKI
    if not folder.is_dir():
        return {}
    return {f"{PKI}/{file.name}": file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file()}


def back_up(data: Path, target: Path, snapshot: Snapshot, encryption: Encryption) -> Report:
    """Write a backup of what a server holds in memory; blocks, so it is for a thread.

    Raises:
        ConfigError: it cannot be written.
    """
    records = list(records_of(snapshot, encryption))
    contents = Contents(snapshot.revision, records, pki_files(data))
    write_snapshot(target, contents)
    return report_of(contents)


def restore(backup: Path, data: Path, *, replace: bool) -> Report:
    """Make a data directory from a backup.

    Raises:
        ConfigError: the backup is damaged, or the directory holds data and `replace` is not given.
    """
    contents = read_snapshot(backup)
    path = data / DATABASE
    require_stopped(path)
    present = [file for file in (path, wal_path(path), mark_path(path)) if file.exists()]
    if present and not replace:
        raise ConfigError(
            f"cannot restore into {data}: {present[0].name} is there; name another directory, or add --replace, "
            "which keeps the present files under another name"
        )
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    contents = contents._replace(revision=max(contents.revision, reached(path)) + BUMP)
    put_aside(path)
    _write_files(data, contents)
    write_snapshot(path, contents._replace(files={}))
    return report_of(contents)


def _write_files(data: Path, contents: Contents) -> None:
    for name, content in contents.files.items():
        folder, _, file = name.partition("/")
        if folder != PKI or not file or "/" in file or file.startswith("."):
            raise ConfigError(f"cannot restore file {name!r} of the backup: only files in {PKI}/ are expected")
        (data / folder).mkdir(mode=0o700, exist_ok=True)
        write_private(data / folder / file, content)


def reached(path: Path) -> int:
    """How far the files that are there say they have come, if that can be read."""
    try:
        mark = read_mark(path)
    except ConfigError:
        return 0
    return 0 if mark is None else mark.revision


def put_aside(path: Path) -> None:
    """Rename the files of a data file: ``flexlet.db.1``, its log beside it as SQLite wants it."""
    number = next(n for n in range(1, 10_000) if not path.with_name(f"{path.name}.{n}").exists())
    aside = path.with_name(f"{path.name}.{number}")
    for old, new in ((path, aside), (wal_path(path), wal_path(aside)), (mark_path(path), mark_path(aside))):
        if old.exists():
            old.rename(new)


def require_stopped(path: Path) -> None:
    """No process has the data file open.

    Raises:
        ConfigError: one has.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        # Asking takes no lock away: the process of a command has none on this file.
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, LOCK_BYTES[1], LOCK_BYTES[0])
    except BlockingIOError:
        raise ConfigError(f"cannot use {path}: a server has it open; stop it first") from None
    finally:
        os.close(descriptor)
