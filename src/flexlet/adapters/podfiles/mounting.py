"""Mounts, asked of the kernel directly.

Must stay true: nothing is ever deleted below a directory while something is mounted there; a bind mount on the
same file system looks like any directory, so only the kernel's own list tells.
"""

import ctypes
import errno
import os
import re
from pathlib import Path
from typing import Final

from flexlet.errors import HostError

_BIND: Final = 4096
_DETACH: Final = 2
_NO_FOLLOW: Final = 8
_LIST: Final = Path("/proc/self/mountinfo")
_MOUNT_POINT: Final = 4
_NOT_MOUNTED: Final = frozenset({errno.EINVAL, errno.ENOENT})


class Mounter:
    """Mounts for real; `enabled=False` leaves plain directories, for those who are not root."""

    def __init__(self, *, enabled: bool = True) -> None:
        self.enabled = enabled
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._options = "noswap"

    def tmpfs(self, path: Path, size_bytes: int | None) -> bool:
        """A file system in memory, unless there is one already; whether it was made now.

        What may be secret should not reach the disk by way of swap; kernels before 6.4 cannot promise that.
        """
        if not self.enabled or path.is_mount():
            return False
        size = f"size={size_bytes}" if size_bytes else ""
        number = self._mount("tmpfs", path, "tmpfs", 0, ",".join(filter(None, (size, self._options))))
        if number == errno.EINVAL and self._options:
            self._options = ""
            number = self._mount("tmpfs", path, "tmpfs", 0, size)
        _check(number, f"mount tmpfs at {path}")
        return True

    def huge_pages(self, path: Path, page_size: int) -> bool:
        """A file system in huge pages of one size, unless there is one already; whether it was made now."""
        if not self.enabled or path.is_mount():
            return False
        number = self._mount("nodev", path, "hugetlbfs", 0, f"pagesize={page_size}")
        _check(number, f"mount huge pages of {page_size} bytes at {path}")
        return True

    def bind(self, source: str, target: Path) -> None:
        """The same file or directory at a second place."""
        if self.enabled:
            _check(self._mount(source, target, "", _BIND, ""), f"mount a bind of {source} at {target}")

    def unmount(self, path: Path) -> None:
        """Take away what is mounted here, however often; busy mounts go when nobody uses them any more."""
        while self.enabled:
            if self._libc.umount2(os.fsencode(path), _DETACH | _NO_FOLLOW) == 0:
                continue
            number = ctypes.get_errno()
            if number not in _NOT_MOUNTED:
                _check(number, f"unmount {path}")
            return

    def unmount_below(self, directory: Path) -> None:
        """Take away everything that is mounted in a directory, the last mount first."""
        if not self.enabled or not directory.exists():
            return
        for path in reversed(mounted(directory)):
            self.unmount(path)
        if left := mounted(directory):
            raise HostError(f"{left[0]} is still mounted; {directory} is left as it is")

    def _mount(self, source: str, target: Path, kind: str, flags: int, options: str) -> int:
        """The error number, 0 if it succeeded."""
        texts = (source.encode(), os.fsencode(target), kind.encode())
        result = self._libc.mount(*texts, flags, options.encode())
        return ctypes.get_errno() if result else 0


def mounted(directory: Path) -> list[Path]:
    """Everything that is mounted at or below a directory, in the order of mounting."""
    root = os.path.realpath(directory)
    found = [_unescaped(line.split(" ")[_MOUNT_POINT]) for line in _LIST.read_text().splitlines()]
    return [Path(each) for each in found if each == root or each.startswith(f"{root}/")]


def _unescaped(text: str) -> str:
    """The kernel writes blanks, tabs, line ends and backslashes as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def _check(number: int, what: str) -> None:
    if number:
        raise HostError(f"cannot {what}: {os.strerror(number)}")
