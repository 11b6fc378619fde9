"""A path inside a volume, found without leaving it.

Whoever may write into the volume may plant links, and exchange directories for links while we look. So the path is
first resolved and checked, then walked from the volume down, one part at a time, each opened without following
links; what was opened is bind-mounted to a place that containers cannot reach, and that place is what they mount.
A path that is missing becomes a directory with the volume's own mode.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from flexlet.adapters.podfiles.mounting import Mounter
from flexlet.errors import HostError

_LOOK: Final = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_ENTER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def opened(volume: Path, sub_path: str) -> Iterator[int]:
    """A handle on the path, which names what was found whatever happens to the path later."""
    root = Path(os.path.realpath(volume))
    handle = os.open(root, _ENTER)
    try:
        mode = stat.S_IMODE(os.fstat(handle).st_mode) & (0o777 | stat.S_ISGID)
        parts = _inside(root, sub_path)
        for index, part in enumerate(parts):
            below = _step(handle, part, mode, is_last=index == len(parts) - 1)
            os.close(handle)
            handle = below
        yield handle
    finally:
        os.close(handle)


def _inside(root: Path, sub_path: str) -> tuple[str, ...]:
    """The parts of the path once links are resolved; HostError if it leads out."""
    if sub_path.startswith("/") or ".." in sub_path.split("/"):
        raise HostError(f'subPath "{sub_path}" must stay inside its volume')
    real = Path(os.path.realpath(root / sub_path))
    if not real.is_relative_to(root):
        raise HostError(f'subPath "{sub_path}" leads out of its volume by a link')
    return real.relative_to(root).parts


def _step(parent: int, name: str, mode: int, *, is_last: bool) -> int:
    """Open the next part; a missing one is made."""
    with contextlib.suppress(FileNotFoundError):
        found = os.open(name, _LOOK if is_last else _ENTER, dir_fd=parent)
        if stat.S_ISLNK(os.fstat(found).st_mode):
            os.close(found)
            raise HostError(f'"{name}" became a link while the volume was looked at')
        return found
    os.mkdir(name, mode=0o700, dir_fd=parent)
    made = os.open(name, _ENTER, dir_fd=parent)
    os.fchmod(made, mode)
    return made


def held(volume: Path, sub_path: str, place: Path, mounter: Mounter) -> Path:
    """A stable place for the path: whatever happens to links later, it stays what was found now."""
    with opened(volume, sub_path) as handle:
        shown = f"/proc/self/fd/{handle}"
        if not mounter.enabled:
            return Path(os.readlink(shown))  # noqa: PTH115 a magic link of the kernel
        _make_place(place, mounter, is_directory=stat.S_ISDIR(os.fstat(handle).st_mode))
        mounter.bind(shown, place)
    return place


def _make_place(place: Path, mounter: Mounter, *, is_directory: bool) -> None:
    """An empty file or directory to mount on; a restart may find another kind of thing than the last time."""
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o750)
    mounter.unmount(place)
    if place.is_dir() and not is_directory:
        place.rmdir()
    elif place.exists() and not place.is_dir() and is_directory:
        place.unlink()
    if is_directory:
        place.mkdir(exist_ok=True, mode=0o750)
    else:
        place.touch(exist_ok=True, mode=0o640)
