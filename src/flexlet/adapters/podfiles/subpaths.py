"""A path inside a volume, found without leaving it.

Whoever may write into the volume may plant links; so the path is walked one part at a time and no link is followed
out. What is found is bind-mounted to a place that containers cannot reach, and that place is what they mount.
"""

import os
import stat
from pathlib import Path

from flexlet.adapters.podfiles.mounting import Mounter
from flexlet.errors import HostError


def inside(volume: Path, sub_path: str) -> Path:
    """The real path, made as a directory if it is missing; HostError if a link leads out of the volume."""
    if Path(sub_path).is_absolute() or ".." in Path(sub_path).parts:
        raise HostError(f'subPath "{sub_path}" must stay inside its volume')
    root = volume.resolve()
    wanted = root / sub_path
    real = Path(os.path.realpath(wanted))
    if real != root and root not in real.parents:
        raise HostError(f'subPath "{sub_path}" leads out of its volume by a link')
    if not real.exists():
        real.mkdir(parents=True, mode=0o750)
    return real


def held(volume: Path, sub_path: str, place: Path, mounter: Mounter) -> Path:
    """A stable place for the path: whatever happens to links later, it stays what was found now."""
    real = inside(volume, sub_path)
    if not mounter.enabled:
        return real
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o750)
    handle = os.open(real, os.O_PATH | os.O_NOFOLLOW)
    try:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            place.mkdir(exist_ok=True)
        else:
            place.touch(exist_ok=True)
        # A restart of the container may find another file under the name than the last time.
        mounter.unmount(place)
        mounter.bind(f"/proc/self/fd/{handle}", place)
    finally:
        os.close(handle)
    return place
