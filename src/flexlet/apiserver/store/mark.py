"""The mark beside the data file: how far it had come when writes were last acknowledged.

SQLite reads its write-ahead log up to the first frame that is damaged or missing, and takes that for the end:
whatever was acknowledged behind it is gone without a word. The mark is what notices. It names the data file
and the newest revision that was made durable, and is rewritten after each batch and before any of its writes
is acknowledged.

It costs a system call of 64 bytes per batch and no wait for the disk: the kernel keeps it when
the process is killed. After loss of power it may be older than the data, never newer, because the data was on
the disk before the mark was written; it is synchronized every second. So what cannot be noticed is this
alone: power is lost, *and* the end of the log is damaged as well, within what was written in the last second
or so.
"""

import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from flexlet.errors import ConfigError

FORM = struct.Struct("<8s16sQ28xI")
"""64 bytes: smaller than a disk sector, so a write of it is never torn."""
MAGIC = b"flxmark1"


class Reached(NamedTuple):
    """Which file, and its newest revision that was acknowledged or about to be."""

    identity: bytes
    revision: int


def mark_path(database: Path) -> Path:
    """Where the mark of a data file lies."""
    return database.with_name(database.name + "-mark")


def packed(reached: Reached) -> bytes:
    """The mark as bytes."""
    body = FORM.pack(MAGIC, reached.identity, reached.revision, 0)[:-4]
    return body + struct.pack("<I", crc32(body))


def unpacked(data: bytes) -> Reached | None:
    """The mark from its bytes; None if they are damaged."""
    if len(data) != FORM.size or crc32(data[:-4]).to_bytes(4, "little") != data[-4:]:
        return None
    magic, identity, revision, _ = FORM.unpack(data)
    return Reached(identity, revision) if magic == MAGIC else None


def read_mark(database: Path) -> Reached | None:
    """What the mark of a data file says; None without one.

    Raises:
        ConfigError: the mark is damaged.
    """
    try:
        data = mark_path(database).read_bytes()
    except FileNotFoundError:
        return None
    reached = unpacked(data)
    if reached is None:
        raise ConfigError(
            f"cannot use {mark_path(database)}: it is damaged, so nothing says whether {database} is complete; "
            f"see `flexlet server check {database.parent}`, which can also repair it"
        )
    return reached


class MarkFile:
    """The open mark of an open data file."""

    def __init__(self, database: Path, reached: Reached) -> None:
        self.path = mark_path(database)
        self._identity = reached.identity
        draft = self.path.with_name(self.path.name + "-new")
        with suppress(FileNotFoundError):
            draft.unlink()
        self._file = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            self.write(reached.revision)
            self.synchronize()
            draft.replace(self.path)  # a mark is whole or absent
        except BaseException:
            os.close(self._file)
            raise
        synchronize_directory(self.path.parent)

    def write(self, revision: int) -> None:
        """Note that everything up to `revision` is durable."""
        os.pwrite(self._file, packed(Reached(self._identity, revision)), 0)

    def synchronize(self) -> None:
        """Wait until the mark is on the disk."""
        os.fdatasync(self._file)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)


def synchronize_directory(directory: Path) -> None:
    """Make names in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
