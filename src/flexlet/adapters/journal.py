"""The agent's journal: JSON lines in a file that is turned over when it has grown too large.

One line an entry: ``{"at": ..., "kind": ..., "subject": ..., "what": {...}}``. Lines are gathered in memory and
written together once a round; the file is read by `flexlet explain` and goes along with bug reports.
"""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from flexlet.api import decode
from flexlet.core.journal.entry import Entry
from flexlet.errors import ConfigError

LARGEST_BYTES: Final = 8 * 1024 * 1024


class JournalFile:
    """Obeys `flexlet.ports.journal.Journal`; keeps the file and one older one."""

    def __init__(self, path: Path, largest_bytes: int = LARGEST_BYTES) -> None:
        self._path = path
        self._largest = largest_bytes
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab")
        self._size = path.stat().st_size
        self._lines: list[bytes] = []

    def note(self, at: float, kind: str, subject: str, what: Any) -> None:
        """Gather an entry."""
        self._lines.append(decode.to_json(Entry(at, kind, subject, what)))

    def flush(self) -> None:
        """Write what was gathered."""
        if not self._lines:
            return
        block = b"\n".join(self._lines) + b"\n"
        self._lines.clear()
        self._file.write(block)
        self._file.flush()
        self._size += len(block)
        if self._size > self._largest:
            self._turn_over()

    def _turn_over(self) -> None:
        self._file.close()
        self._path.replace(older(self._path))
        self._file = self._path.open("ab")
        self._size = 0

    def close(self) -> None:
        """Write what is left."""
        self.flush()
        self._file.close()


def older(path: Path) -> Path:
    """The file that was turned over last."""
    return path.with_name(f"{path.name}.1")


def read(path: Path) -> list[Entry]:
    """All entries, the oldest first; ConfigError if there is no journal."""
    found = [each for each in (older(path), path) if each.is_file()]
    if not found:
        raise ConfigError(f"there is no journal at {path}; name the agent's with --journal")
    try:
        return [entry for each in found for entry in parse(each.read_bytes().splitlines())]
    except OSError as error:
        raise ConfigError(f"cannot read the journal {path}: {error.strerror or error}") from error


def parse(lines: Iterable[bytes]) -> Iterator[Entry]:
    """The entries of these lines; a line that was cut off by a crash is left out."""
    decoder = msgspec.json.Decoder(Entry)
    for line in lines:
        with contextlib.suppress(msgspec.DecodeError):
            yield decoder.decode(line)
