"""Sets of files that change all at once, the way every reader of a ConfigMap volume expects.

Files lie in a directory named by the time; ``..data`` is a link to it, and each visible name a link through
``..data``. A new set is written beside the old one, then ``..data`` is switched by a rename: a reader sees the old
set or the new one, never a mixture. An equal set is left alone.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from flexlet.core.agent.containers.contents import File

_DATA: Final = "..data"
_NEXT: Final = "..data_tmp"


def replace(directory: Path, files: Mapping[str, File], stamp: float) -> bool:
    """Lay the files out; whether anything changed."""
    _check(files)
    current = directory / _DATA
    old = directory / current.readlink() if current.is_symlink() else None
    if old is not None and _read(old) == files:
        return False
    moment = datetime.fromtimestamp(stamp, UTC).strftime("..%Y_%m_%d_%H_%M_%S.")
    new = Path(tempfile.mkdtemp(prefix=moment, dir=directory))
    new.chmod(0o755)
    _write(new, files)
    _switch(directory, new)
    _show(directory, files)
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)
    return True


def _check(files: Mapping[str, File]) -> None:
    for name in files:
        parts = Path(name).parts
        if not parts or Path(name).is_absolute() or ".." in parts or parts[0].startswith(".."):
            raise ValueError(f"invalid path of a file in a volume: {name!r}")


def _read(directory: Path) -> dict[str, File]:
    found = {}
    for path in directory.rglob("*"):
        if path.is_file():
            name = str(path.relative_to(directory))
            found[name] = File(path.read_bytes(), path.stat().st_mode & 0o777)
    return found


def _write(directory: Path, files: Mapping[str, File]) -> None:
    for name, file in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.data)
        path.chmod(file.mode)


def _switch(directory: Path, new: Path) -> None:
    link = directory / _NEXT
    link.unlink(missing_ok=True)
    link.symlink_to(new.name)
    os.replace(link, directory / _DATA)  # noqa: PTH105 the rename is the point


def _show(directory: Path, files: Mapping[str, File]) -> None:
    """A link for each visible name; those that lead nowhere go."""
    visible = {Path(name).parts[0] for name in files}
    for name in visible:
        link = directory / name
        if not link.is_symlink():
            link.symlink_to(f"{_DATA}/{name}")
    for path in directory.iterdir():
        if not path.name.startswith("..") and path.name not in visible:
            path.unlink()
