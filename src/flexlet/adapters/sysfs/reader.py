"""Reading a host: whole sweeps, one thread hop each, below one root.

The root is ``/`` on a node; elsewhere (in a container that has the host mounted, in a test) it is a directory that
looks like one. Links inside are followed as they are, so a tree with absolute links leads back to the real host.
"""

import asyncio
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from flexlet.core.machine.snapshot import Filesystem, Snapshot

_WILD: Final = frozenset("*?[")


class SysfsHost:
    """A HostReader over the files of one root."""

    def __init__(self, root: str = "/", architecture: str = "") -> None:
        self._root = Path(root)
        self._architecture = architecture or os.uname().machine

    async def read(self, paths: Sequence[str], filesystems: Sequence[str] = ()) -> Snapshot:
        """Everything in one go, away from the event loop."""
        return await asyncio.to_thread(self.read_now, paths, filesystems)

    def read_now(self, paths: Sequence[str], filesystems: Sequence[str] = ()) -> Snapshot:
        """The same for callers that have no loop to hold up."""
        texts: dict[str, str] = {}
        unreadable: dict[str, str] = {}
        for file in self._found(paths):
            path = f"/{file.relative_to(self._root)}"
            try:
                texts[path] = _text(file)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                unreadable[path] = error.strerror or str(error)
        return Snapshot(
            texts=texts,
            unreadable=unreadable,
            filesystems=dict(self._sizes(filesystems)),
            architecture=self._architecture,
        )

    def _found(self, paths: Iterable[str]) -> Iterator[Path]:
        for path in paths:
            below = path.lstrip("/")
            if _WILD.isdisjoint(path):
                yield self._root / below
            else:
                yield from sorted(self._root.glob(below))

    def _sizes(self, directories: Iterable[str]) -> Iterator[tuple[str, Filesystem]]:
        for directory in directories:
            try:
                yield directory, _size(os.statvfs(self._root / directory.lstrip("/")))
            except OSError:
                continue


def _text(file: Path) -> str:
    """Empty for a directory: it is there."""
    try:
        return file.read_bytes().decode(errors="replace")
    except IsADirectoryError:
        return ""


def _size(sizes: os.statvfs_result) -> Filesystem:
    return Filesystem(
        capacity=sizes.f_blocks * sizes.f_frsize,
        available=sizes.f_bavail * sizes.f_frsize,
        inodes=sizes.f_files,
        inodes_free=sizes.f_ffree,
    )
