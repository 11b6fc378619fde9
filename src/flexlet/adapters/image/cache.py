"""Folders named by what they were made from: complete or absent, built by one process at a time.

Shared by images and code layers. A builder works in a folder beside the final one and renames it at the end; it
holds the kind's lock meanwhile, so whoever holds the lock knows that any unfinished folder belongs to nobody and
removes it.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from flexlet.adapters.image.progress import Progress

_UNFINISHED = ".building-"


def default() -> Path:
    """Where built things are kept: $FLEXLET_CACHE, or `flexlet` in the user's cache folder."""
    if configured := os.environ.get("FLEXLET_CACHE"):
        return Path(configured)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "flexlet"


def obtain(kind: Path, name: str, build: Callable[[Path], None], progress: Progress) -> Path:
    """The folder `kind/name`; `build` fills it if it does not exist yet."""
    done = kind / name
    if not done.exists():
        kind.mkdir(parents=True, exist_ok=True)
        with _lock(kind, progress):
            _remove_unfinished(kind)
            # Another process may have built it while this one waited.
            if not done.exists():
                _build(done, build)
    with suppress(OSError):  # a cache that another user owns is still of use
        os.utime(done)
    return done


def newest(kind: Path) -> Path | None:
    """The folder of a kind that was used last."""
    return next(reversed(_by_use(kind)), None)


def forget(kind: Path, keep: int) -> None:
    """Remove all but the most recently used folders of a kind."""
    for path in _by_use(kind)[:-keep]:
        shutil.rmtree(path, ignore_errors=True)


def _by_use(kind: Path) -> list[Path]:
    folders = [path for path in kind.iterdir() if path.is_dir() and not path.name.startswith(_UNFINISHED)]
    return sorted(folders, key=lambda path: path.stat().st_mtime)


def _build(done: Path, build: Callable[[Path], None]) -> None:
    scratch = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=done.parent))
    try:
        scratch.chmod(0o755)
        build(scratch)
        scratch.rename(done)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def _remove_unfinished(kind: Path) -> None:
    for path in kind.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _lock(kind: Path, progress: Progress) -> Iterator[None]:
    with (kind / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("waiting for another process that is building")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
