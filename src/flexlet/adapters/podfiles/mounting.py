"""Mounts, asked of the kernel directly."""

import ctypes
import os
from pathlib import Path
from typing import Final

from flexlet.errors import HostError

_BIND: Final = 4096
_DETACH: Final = 2
_NO_FOLLOW: Final = 8


class Mounter:
    """Mounts for real; `enabled=False` leaves plain directories, for those who are not root."""

    def __init__(self, *, enabled: bool = True) -> None:
        self.enabled = enabled
        self._libc = ctypes.CDLL(None, use_errno=True)

    def tmpfs(self, path: Path, size_bytes: int | None) -> None:
        """A file system in memory, unless there is one already."""
        if not self.enabled or path.is_mount():
            return
        options = f"size={size_bytes}" if size_bytes else ""
        self._mount("tmpfs", str(path), "tmpfs", 0, options)

    def bind(self, source: str, target: Path) -> None:
        """The same file or directory at a second place."""
        if self.enabled and not target.is_mount():
            self._mount(source, str(target), "", _BIND, "")

    def unmount(self, path: Path) -> None:
        """Take away what is mounted here, however often; busy mounts go when nobody uses them any more."""
        while self.enabled and os.path.ismount(path):
            self._check(self._libc.umount2(os.fsencode(path), _DETACH | _NO_FOLLOW), f"unmount {path}")

    def _mount(self, source: str, target: str, kind: str, flags: int, options: str) -> None:
        result = self._libc.mount(source.encode(), target.encode(), kind.encode(), flags, options.encode())
        self._check(result, f"mount {kind or 'a bind of ' + source} at {target}")

    @staticmethod
    def _check(result: int, what: str) -> None:
        if result:
            number = ctypes.get_errno()
            raise HostError(f"cannot {what}: {os.strerror(number)}")
