"""Checkpoint files in one directory: written beside, synced, renamed, and the directory synced too.

Any number of callers may save one file at the same time: each write has a temporary file of its own, writes of one
file take turns, and one that is older than what the file has already is dropped. The turns are taken in the
threads, not on the event loop, because a caller that is cancelled leaves its thread behind, still writing.
"""

import asyncio
import itertools
import threading
from collections import defaultdict
from pathlib import Path
from typing import Final

from flexlet.adapters.pki import files
from flexlet.errors import HostError

BAD: Final = ".bad"


class _Turns:
    """Who writes a file, and the newest write that reached it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.newest = 0


class CheckpointFiles:
    """Obeys `flexlet.ports.checkpoints.Checkpoints`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._turns: defaultdict[str, _Turns] = defaultdict(_Turns)
        self._numbers = itertools.count(1)

    def path(self, name: str) -> str:
        """Where it lies."""
        return str(self._directory / name)

    async def load(self, name: str) -> bytes | None:
        """The content."""
        return await asyncio.to_thread(_load, self._directory / name)

    async def save(self, name: str, data: bytes) -> None:
        """Replace it."""
        await asyncio.to_thread(self._save, name, data, next(self._numbers), self._turns[name])

    async def set_aside(self, name: str) -> str:
        """Rename it to NAME.bad; works for what cannot be read, and on a full disk."""
        return await asyncio.to_thread(_set_aside, self._directory / name)

    def _save(self, name: str, data: bytes, number: int, turns: _Turns) -> None:
        path = self._directory / name
        with turns.lock:
            if number < turns.newest:
                return  # a later write has overtaken this one and holds everything it says
            try:
                files.write(path, data)
            except OSError as error:
                raise HostError(f"cannot write {path}: {error.strerror}; the old content still holds") from error
            turns.newest = number


def _load(path: Path) -> bytes | None:
    # What a crash left of a write that never counted; nobody else writes before everything is loaded.
    for leftover in path.parent.glob(f".{path.name}.*"):
        leftover.unlink(missing_ok=True)
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HostError(f"cannot read {path}: {error.strerror}") from error


def _set_aside(path: Path) -> str:
    bad = path.with_name(path.name + BAD)
    try:
        path.replace(bad)
    except OSError as error:
        raise HostError(f"cannot rename {path} to {bad}: {error.strerror}") from error
    return str(bad)
