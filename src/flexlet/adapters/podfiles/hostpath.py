"""Paths of the host that pods name: checked, or made, as their type says."""

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
    if kind == "DirectoryOrCreate":
        if not place.exists():
            place.mkdir(mode=0o755, parents=True)
        kind = "Directory"
    elif kind == "FileOrCreate":
        if not place.exists():
            place.touch(mode=0o644)
        kind = "File"
    elif not kind and not place.exists():
        # Without a type nothing is checked, but the runtime needs something to mount.
        place.mkdir(mode=0o755, parents=True)
    if kind:
        _check(place, kind)


def _check(place: Path, kind: str) -> None:
    holds, words = _KINDS[kind]
    try:
        mode = place.stat().st_mode
    except FileNotFoundError:
        mode = 0
    if not holds(mode):
        raise HostError(f"hostPath type check failed: {place} is not {words}")
