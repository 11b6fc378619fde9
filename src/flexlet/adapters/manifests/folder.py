"""A directory of manifests, followed: told by the kernel when something changes, and looked at now and then.

Names with a leading dot, and directories, are no manifests. Nothing is said twice: a look that finds the same
bytes as the last one brings no news. A path that is a single file is one manifest; a path that does not exist has
none, and is looked for every second.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

from asyncinotify import Inotify, Mask

from flexlet.adapters.manifests.documents import MAX_BYTES, manifest
from flexlet.core.staticpods.pods import Manifest

POLL_S: Final = 20.0
_MISSING_POLL_S: Final = 1.0
_SETTLE_S: Final = 0.05
_LONGEST_SETTLE_S: Final = 1.0
_NEWS: Final = Mask.CLOSE_WRITE | Mask.MOVED_TO | Mask.MOVED_FROM | Mask.CREATE | Mask.DELETE
_LOST: Final = Mask.DELETE_SELF | Mask.MOVE_SELF | Mask.UNMOUNT | Mask.IGNORED

Contents = dict[str, bytes | str]
"""By path: what a file holds, or why it cannot be read."""


class ManifestFolder:
    """The manifests below one path. Iterate `changes()` once."""

    def __init__(self, path: str, poll_s: float = POLL_S) -> None:
        self._path = Path(path)
        self._poll_s = poll_s

    async def changes(self) -> AsyncIterator[tuple[Manifest, ...]]:
        """All manifests, at once and then whenever they differ from the last time."""
        last: Contents | None = None
        with Inotify() as watcher:
            watching = False
            while True:
                watching = watching or self._watch(watcher)
                found = await asyncio.to_thread(self._contents)
                if found != last:
                    last = found
                    yield tuple(_manifest(path, data) for path, data in found.items())
                patience = self._poll_s if watching or found else min(self._poll_s, _MISSING_POLL_S)
                watching = await _quiet(watcher, patience) and watching

    def _watch(self, watcher: Inotify) -> bool:
        """Whether the kernel tells of changes from now on."""
        try:
            watcher.add_watch(self._path, _NEWS | _LOST | Mask.ONLYDIR)
        except OSError:
            return False
        return True

    def _contents(self) -> Contents:
        if self._path.is_dir():
            return {str(path): _data(path) for path in self._files()}
        return {str(self._path): _data(self._path)} if self._path.is_file() else {}

    def _files(self) -> Iterator[Path]:
        for path in sorted(self._path.iterdir()):
            if not path.name.startswith(".") and path.is_file():
                yield path


async def _quiet(watcher: Inotify, patience_s: float) -> bool:
    """Until something happened and no more of it follows, or for as long as `patience_s`.

    Whether the kernel will go on telling: not if the directory itself is gone.
    """
    still = True
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(patience_s):
            still = not (await watcher.get()).mask & _LOST
        async with asyncio.timeout(_LONGEST_SETTLE_S):
            while True:
                async with asyncio.timeout(_SETTLE_S):
                    still = not (await watcher.get()).mask & _LOST and still
    return still


def _data(path: Path) -> bytes | str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        return f"cannot read {path}: {error.strerror or error}"


def _manifest(path: str, data: bytes | str) -> Manifest:
    return Manifest(path, problem=data) if isinstance(data, str) else manifest(path, data)
