"""Space put aside on the disk so that objects can be deleted when it is full.

A deletion is a write as well: without room for it nobody could make room. The reserve is a file of a few megabytes
beside the data file which holds nothing. When the disk is full, pieces of it are given back for deletions and for
nothing else, and it is filled up again as soon as there is space; only then is the disk no longer full.
"""

import os
from pathlib import Path

RESERVE_BYTES = 8 << 20
PAGE = 4096
SLACK = 64 * PAGE  # inner pages of the tree, the free list, one probe
ROOM = 1 << 20
"""What must be free beside the reserve before a disk that was full counts as having space again."""


def reserve_path(database: Path) -> Path:
    """Where the reserve of a data file lies."""
    return database.with_name(database.name + "-reserve")


class Reserve:
    """The open reserve of an open data file."""

    def __init__(self, database: Path, size: int = RESERVE_BYTES) -> None:
        self.size = size
        self._file = os.open(reserve_path(database), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.held = min(size, os.fstat(self._file).st_size)  # what a server on a full disk has left of it
        self.fill(room=0)

    def fill(self, room: int = ROOM) -> bool:
        """Take back what was released; whether there is space for that and for as much again as `room`."""
        try:
            os.posix_fallocate(self._file, 0, self.size + room)
        except OSError:  # no space, or a limit that allows no such file
            os.ftruncate(self._file, self.held)
            return False
        os.ftruncate(self._file, self.size)
        self.held = self.size
        return True

    def release(self, need: int) -> None:
        """Give back what a write of `need` bytes takes in log and data file; what is left may be nothing."""
        self.held = max(0, self.held - 2 * need - SLACK) // PAGE * PAGE
        os.ftruncate(self._file, self.held)

    def close(self) -> None:
        """Let go of the file; the space stays taken."""
        os.close(self._file)
