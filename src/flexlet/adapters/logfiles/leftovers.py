"""Logs of pods that nobody knows any more, and links to logs that are gone.

A pod's logs lie in ``<namespace>_<name>_<uid>``; whatever is called otherwise is somebody else's.
"""

import asyncio
import contextlib
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

from flexlet.errors import HostError


class LogLeftovers:
    """Logs below `pods` (``/var/log/pods``), links to them in `links` (``/var/log/containers``)."""

    def __init__(self, pods: Path, links: Path) -> None:
        self._pods = pods
        self._links = links

    async def sweep(self, known: Collection[str]) -> None:
        """Remove the logs of unknown pods, then the links that lead nowhere; HostError if that fails."""
        try:
            await asyncio.to_thread(self._sweep, known)
        except OSError as error:
            raise HostError(f"{error.strerror or error}: {error.filename or self._pods}") from error

    def _sweep(self, known: Collection[str]) -> None:
        for directory in _entries(self._pods):
            parts = directory.name.split("_")
            if len(parts) == 3 and parts[2] not in known and directory.is_dir() and not directory.is_symlink():
                shutil.rmtree(directory)
        for link in _entries(self._links):
            if link.is_symlink() and not link.exists():
                link.unlink(missing_ok=True)


def _entries(directory: Path) -> Iterator[Path]:
    with contextlib.suppress(FileNotFoundError):
        yield from directory.iterdir()
