"""Opening files below a directory that others write into, without ever leaving it.

Whoever may write there may plant links, and exchange files for links between a look and an opening. So nothing is
looked at by path: the path is walked from the directory down, one part at a time, each opened relative to the one
before and without following links. What a link says is walked in the same way, as far as it stays below.
"""

import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final

MAX_LINKS: Final = 40
"""As many as Linux follows."""
RUN_DEPTH: Final = 3
"""A run's log is POD/CONTAINER/N.log: what is above is the operator's, links included."""

_LOOK: Final = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_ENTER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A FIFO would wait for a writer.
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_within(root: Path, parts: Sequence[str]) -> int:
    """A descriptor of the file or directory; links are followed as long as they stay below `root`.

    Raises:
        OSError: there is no such file, it is neither a file nor a directory, or it is not below.
    """
    walk = _Walk(root)
    try:
        for part in parts:
            if "/" in part or "\0" in part:
                raise _refusal(errno.ENOENT, part)
        return walk.to(parts)
    finally:
        walk.close()


def open_plain(path: Path, depth: int = RUN_DEPTH) -> int:
    """A descriptor of a regular file none of whose last `depth` parts is a link; OSError if that cannot be."""
    parts = path.parts[-min(depth, len(path.parts) - 1) :]
    parent = os.open(path.parents[len(parts) - 1], os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            below = os.open(part, _ENTER, dir_fd=parent)
            os.close(parent)
            parent = below
        return _file(parts[-1], parent)
    finally:
        os.close(parent)


class _Walk:
    """Where a walk is: the directories from the root down to it, all held open so that ``..`` is where we were."""

    def __init__(self, root: Path) -> None:
        self._roots = (root.parts, Path(os.path.realpath(root)).parts)
        self._held = [os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)]
        self._links = 0

    def close(self) -> None:
        while self._held:
            os.close(self._held.pop())

    def to(self, parts: Sequence[str]) -> int:
        left = list(reversed(parts))
        while left:
            name = left.pop()
            if name in {"", "."}:
                continue
            if name == "..":
                self._up()
                continue
            target = self._step(name)
            if target is not None:
                left.extend(reversed(self._followed(target)))
            elif not self._is_entered:
                if any(each not in {"", "."} for each in left):
                    raise _refusal(errno.ENOTDIR, name)
                return _file(name, self._held[-1])
        return os.open(".", _ENTER, dir_fd=self._held[-1])

    def _step(self, name: str) -> str | None:
        """Enter a directory; what a link says; None for anything else, which stays closed."""
        found = os.open(name, _LOOK, dir_fd=self._held[-1])
        mode = os.fstat(found).st_mode
        self._is_entered = stat.S_ISDIR(mode)
        if self._is_entered:
            self._held.append(found)
            return None
        try:
            return os.readlink("", dir_fd=found) if stat.S_ISLNK(mode) else None
        finally:
            os.close(found)

    def _up(self) -> None:
        if len(self._held) == 1:
            raise _refusal(errno.EXDEV, "..")
        os.close(self._held.pop())

    def _followed(self, target: str) -> list[str]:
        """The parts of a link; an absolute one must begin where the root is, and is walked from there."""
        self._links += 1
        if self._links > MAX_LINKS:
            raise _refusal(errno.ELOOP, target)
        if not target.startswith("/"):
            return target.split("/")
        parts = Path(target).parts
        for root in self._roots:
            if parts[: len(root)] == root:
                while len(self._held) > 1:
                    os.close(self._held.pop())
                return list(parts[len(root) :])
        raise _refusal(errno.EXDEV, target)


def _file(name: str, parent: int) -> int:
    """A regular file, by a name that is no link."""
    handle = os.open(name, _READ, dir_fd=parent)
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        raise _refusal(errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL, name)
    return handle


def _refusal(number: int, name: str) -> OSError:
    return OSError(number, os.strerror(number), name)
