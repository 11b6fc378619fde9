"""The files of a store: whether they belong together, and are still where a restart finds them."""

import os
from collections.abc import Iterable
from pathlib import Path

from flexlet.apiserver.store.mark import Reached, mark_path
from flexlet.apiserver.store.sqlitefile import Meta
from flexlet.errors import ConfigError


class Places:
    """Which files are open under which names."""

    def __init__(self, files: Iterable[Path] = ()) -> None:
        self._places = {file: _place(file) for file in files}

    def require(self) -> None:
        """The names of the files still lead to the files that are open.

        Raises:
            FileNotFoundError: somebody removed or replaced one: what is written to it is lost at the next start.
        """
        for file, place in self._places.items():
            if _place(file) != place:
                raise FileNotFoundError(f"{file} was removed or replaced while the server uses it; put it back")


def require_file(path: Path | None, reached: Reached | None) -> None:
    """A data file that has a mark is there."""
    if path is None or reached is None or (path.exists() and path.stat().st_size):
        return
    raise ConfigError(
        f"cannot use data file {path}: it is missing or empty, and {mark_path(path)} says that it held "
        f"revisions up to {reached.revision}; put it back, restore a backup with `flexlet server restore`, "
        "or remove the mark as well to start empty"
    )


def require_mark(path: Path | None, meta: Meta, reached: Reached | None) -> None:
    """A data file that was not closed comes with its own mark."""
    if path is None or (reached is None and meta.clean):
        return
    remedy = (
        "restore a backup with `flexlet server restore`, or accept what is there with "
        f"`flexlet server check --repair {path.parent}`"
    )
    if reached is None:
        raise ConfigError(
            f"cannot use data file {path}: the server that used it last did not end by itself, and "
            f"{mark_path(path)}, which says how far it had come, is missing; {remedy}"
        )
    if reached.identity != meta.identity:
        raise ConfigError(
            f"cannot use data file {path}: {mark_path(path)} belongs to another data file, one that held "
            f"revisions up to {reached.revision}; put that file back, or {remedy}"
        )


def size_of(path: Path) -> int:
    """Bytes of a file; 0 where there is none, as before the first log or after somebody removed it."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _place(path: Path) -> tuple[int, int]:
    try:
        found = os.stat(path)  # noqa: PTH116  once per batch, and pathlib takes twice as long
    except FileNotFoundError:
        return (0, 0)
    return (found.st_dev, found.st_ino)
