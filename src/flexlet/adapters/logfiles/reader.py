"""Reads one log file block by block. Everything here blocks and belongs into a thread.

A log that is rotated under its reader is a new file of the same name. The runtime opens it after it has written
its last line into the old one, so the old one is read to its end first and nothing is lost or seen twice.
"""

import contextlib
import os
from pathlib import Path
from typing import BinaryIO, Final, Self

from flexlet.adapters import beneath
from flexlet.core.logs.options import LogOptions
from flexlet.core.logs.selection import Selection, tail_start
from flexlet.errors import HostError

BLOCK: Final = 1 << 16


class LogReader:
    """One reader of one log; `read` returns what was asked for, piece by piece."""

    def __init__(self, path: Path, file: BinaryIO, options: LogOptions) -> None:
        self._path = path
        self._file = file
        self._selection = Selection(options)
        self._rest = b""
        self.is_at_end = False
        """Whether the last `read` found nothing new."""

    @classmethod
    def open(cls, path: Path, options: LogOptions) -> Self:
        """Open a log where the wanted part begins.

        The log itself is no link, nor are its directories: pods that mount /var/log could show any file by one.
        """
        try:
            path.resolve(strict=True)  # for the kubelet's words if it is missing
        except OSError as error:
            reason = (error.strerror or "").lower()
            raise HostError(
                f'failed to try resolving symlinks in path "{path}": lstat {error.filename}: {reason}'
            ) from error
        try:
            file = _opened(path)
        except OSError as error:
            raise HostError(f'failed to open log file "{path}": {(error.strerror or "").lower()}') from error
        if options.tail_lines is not None:
            file.seek(_tail_start(file, options.tail_lines))
        return cls(path, file, options)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    @property
    def is_finished(self) -> bool:
        """Whether nothing more can be asked for."""
        return self._selection.is_finished

    def read(self) -> bytes:
        """What the next block adds; a line without its newline waits for it."""
        data = self._file.read(BLOCK)
        if not data and self._take_successor():
            data = self._file.read(BLOCK)
        self.is_at_end = not data
        *whole, self._rest = (self._rest + data).split(b"\n")
        return b"".join([self._selection.show(line + b"\n") for line in whole])

    def read_rest(self) -> bytes:
        """A last line that has no newline."""
        rest, self._rest = self._rest, b""
        return self._selection.show(rest) if rest else b""

    def _take_successor(self) -> bool:
        """Go over to the file that took this one's name, if there is one."""
        try:
            successor = _opened(self._path)
        except OSError:  # gone, or no longer a log
            return False
        if os.path.samestat(os.fstat(self._file.fileno()), os.fstat(successor.fileno())):
            successor.close()
            return False
        self.close()
        self._file, self._rest = successor, b""
        return True


def _opened(path: Path) -> BinaryIO:
    return os.fdopen(beneath.open_plain(path), "rb", buffering=0)


def _tail_start(file: BinaryIO, count: int) -> int:
    def read(offset: int, length: int) -> bytes:
        file.seek(offset)
        return file.read(length) or b""

    with contextlib.suppress(OSError):
        return tail_start(file.seek(0, os.SEEK_END), count, read)
    return 0
