"""Sets of files that change all at once, the way every reader of a ConfigMap volume expects.

Files lie in a directory named by the time; ``..data`` is a link to it, and each visible name a link through
``..data``. A new set is written beside the old one and given to its owners, then ``..data`` is switched by a
rename: a reader sees the old set or the new one, never a mixture, and never a file that it may not read yet. A set
of equal contents is left alone. What a crash leaves behind is cleared away by the next change.

Follows the kubelet's AtomicWriter; directories that others made in the volume (to mount on) are not touched.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from flexlet.core.agent.containers.contents import File

_DATA: Final = "..data"
_NEXT: Final = "..data_tmp"
_LONGEST_PATH: Final = 4096
_LONGEST_NAME: Final = 255


def replace(
    directory: Path, files: Mapping[str, File], stamp: float, own: Callable[[Path], None] = lambda _: None
) -> bool:
    """Lay the files out; whether anything changed. `own` gives the volume to its group before anybody sees it."""
    _check(files)
    old = _present(directory)
    before = {} if old is None else _read(old)
    changed = old is None or before != {name: file.data for name, file in files.items()}
    if changed:
        new = _written(directory, files, stamp)
        own(directory)
        _switch(directory, new)
    _show(directory, files)
    if changed:
        _clear(directory, {Path(name).parts[0] for name in before} - _visible(files))
    return changed


def _check(files: Mapping[str, File]) -> None:
    for name in files:
        parts = name.split("/")
        if not name:
            raise ValueError('invalid path: must not be empty: ""')
        if name.startswith("/"):
            raise ValueError(f"invalid path: must be relative path: {name}")
        if len(name) > _LONGEST_PATH:
            raise ValueError(f"invalid path: must be less than or equal to {_LONGEST_PATH} characters")
        if ".." in parts:
            raise ValueError(f"invalid path: must not contain '..': {name}")
        if any(len(part) > _LONGEST_NAME for part in parts):
            raise ValueError(f"invalid path: filenames must be less than or equal to {_LONGEST_NAME} characters")
        if parts[0].startswith(".."):
            raise ValueError(f"invalid path: must not start with '..': {name}")


def _visible(files: Mapping[str, File]) -> set[str]:
    return {Path(name).parts[0] for name in files}


def _present(directory: Path) -> Path | None:
    """The directory of the present set; None if there is none."""
    link = directory / _DATA
    target = directory / link.readlink() if link.is_symlink() else None
    return target if target is not None and target.is_dir() else None


def _read(directory: Path) -> dict[str, bytes]:
    """Contents by path; modes do not count, since the volume's group was added to them."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def _written(directory: Path, files: Mapping[str, File], stamp: float) -> Path:
    moment = datetime.fromtimestamp(stamp, UTC).strftime("..%Y_%m_%d_%H_%M_%S.")
    new = Path(tempfile.mkdtemp(prefix=moment, dir=directory))
    new.chmod(0o755)
    for name, file in files.items():
        path = new / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.data)
        path.chmod(file.mode)
        if file.user is not None:
            os.chown(path, file.user, -1)
    return new


def _switch(directory: Path, new: Path) -> None:
    link = directory / _NEXT
    link.unlink(missing_ok=True)
    link.symlink_to(new.name)
    link.replace(directory / _DATA)


def _show(directory: Path, files: Mapping[str, File]) -> None:
    """A link for each visible name."""
    for name in _visible(files):
        link = directory / name
        if not link.is_symlink():
            link.symlink_to(f"{_DATA}/{name}")


def _clear(directory: Path, gone: set[str]) -> None:
    """Links that lead nowhere, and every set but the present one."""
    for name in gone:
        link = directory / name
        if link.is_symlink():
            link.unlink()
    present = (directory / _DATA).readlink().name
    for path in directory.iterdir():
        if path.name.startswith("..") and path.name != present and path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
