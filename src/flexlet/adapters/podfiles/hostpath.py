"""Paths of the host that pods name: checked, or made, as their type says.

Without a type nothing is checked; a path that is missing is then left to the runtime, which makes a directory.
"""

import stat
from pathlib import Path
from typing import Final

from flexlet.errors import HostError

_KINDS: Final = {
    "Directory": (stat.S_ISDIR, "a directory"),
    "File": (stat.S_ISREG, "a file"),
    "Socket": (stat.S_ISSOCK, "a socket file"),
    "CharDevice": (stat.S_ISCHR, "a character device"),
    "BlockDevice": (stat.S_ISBLK, "a block device"),
}


def ensure(path: str, kind: str) -> None:
    """Check the path, make it if its type allows; HostError says what it is not."""
    place = Path(path)
    if ".." in path.split("/"):
        raise HostError(f"invalid HostPath `{path}`: must not contain '..'")
    if kind == "DirectoryOrCreate" and not place.exists():
        place.mkdir(mode=0o755, parents=True)
    elif kind == "FileOrCreate" and not place.exists():
        place.touch(mode=0o644)
    elif kind:
        _check(path, kind.removesuffix("OrCreate"))


def _check(path: str, kind: str) -> None:
    if kind not in _KINDS:
        raise HostError(f"{kind} is an invalid volume type")
    holds, words = _KINDS[kind]
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        mode = 0
    if not holds(mode):
        raise HostError(f"hostPath type check failed: {path} is not {words}")
