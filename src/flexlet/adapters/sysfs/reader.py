"""Reading a host: whole sweeps, one thread hop each, below one root.

A node that may grow is swept whenever the kernel hints at a change, and now and then for what it tells nobody, as
long as it lives; so paths are texts and files are read with the fewest calls: pathlib and buffered files cost ten
times as much as the kernel does.

The root is ``/`` on a node; elsewhere (in a container that has the host mounted, in a test) it is a directory that
looks like one. Links inside are followed as they are, so a tree with absolute links leads back to the real host.
"""

import asyncio
import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from flexlet.core.machine.snapshot import Filesystem, Snapshot

_WILD: Final = frozenset("*?[")
_CHUNK: Final = 64 * 1024


class SysfsHost:
    """A HostReader over the files of one root."""

    def __init__(self, root: str = "/", architecture: str = "") -> None:
        self._root = root.rstrip("/")
        self._escaped = glob.escape(self._root)
        self._architecture = architecture or os.uname().machine

    async def read(self, paths: Sequence[str], filesystems: Sequence[str] = ()) -> Snapshot:
        """Everything in one go, away from the event loop."""
        return await asyncio.to_thread(self.read_now, paths, filesystems)

    def read_now(self, paths: Sequence[str], filesystems: Sequence[str] = ()) -> Snapshot:
        """The same for callers that have no loop to hold up."""
        texts: dict[str, str] = {}
        unreadable: dict[str, str] = {}
        for path in self._found(paths):
            try:
                texts[path] = _text(self._root + path)
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

    def _found(self, paths: Iterable[str]) -> Iterator[str]:
        for path in paths:
            if _WILD.isdisjoint(path):
                yield path
            else:
                yield from (each[len(self._root) :] for each in sorted(glob.glob(self._escaped + path)))  # noqa: PTH207

    def _sizes(self, directories: Iterable[str]) -> Iterator[tuple[str, Filesystem]]:
        for directory in directories:
            try:
                yield directory, _size(os.statvfs(self._root + directory))
            except OSError:
                continue


def _text(path: str) -> str:
    """Empty for a directory: it is there."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.read(descriptor, _CHUNK)
        while more := os.read(descriptor, _CHUNK):
            data += more
    except IsADirectoryError:
        return ""
    finally:
        os.close(descriptor)
    return data.decode(errors="replace")


def _size(sizes: os.statvfs_result) -> Filesystem:
    return Filesystem(
        capacity=sizes.f_blocks * sizes.f_frsize,
        available=sizes.f_bavail * sizes.f_frsize,
        inodes=sizes.f_files,
        inodes_free=sizes.f_ffree,
    )
