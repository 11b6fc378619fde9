"""The data directory is its owner's alone: it holds every Secret, and keys with which anybody can be impersonated.

A directory that was there before, with the mode that its maker's umask gave, is closed like a new one. What
belongs to somebody else is not used: its owner could read and replace all of it.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from flexlet.errors import ConfigError

DIRECTORY_MODE: Final = 0o700
FILE_MODE: Final = 0o600
KEYS: Final = "pki"
_OTHERS: Final = 0o077


def secure(data: Path) -> None:
    """Make the directory where it is missing, and close it and its files (database, journals, keys) to others.

    Raises:
        ConfigError: it cannot be made or closed, or belongs to somebody else.
    """
    try:
        data.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        for path in (data, data / KEYS):
            if path.is_dir():
                _close(path, DIRECTORY_MODE)
                for file in _files(path):
                    _close(file, FILE_MODE)
    except OSError as error:
        raise ConfigError(
            f"cannot keep data in {data}: {error.strerror}: {error.filename}; name a directory that is yours"
        ) from error


def _files(directory: Path) -> Iterator[Path]:
    for path in directory.iterdir():
        try:
            if stat.S_ISREG(path.lstat().st_mode):
                yield path
        except FileNotFoundError:  # a draft that was renamed meanwhile
            continue


def _close(path: Path, mode: int) -> None:
    """Take everybody else's rights.

    Nothing is opened: closing any descriptor of the database would drop the locks that SQLite holds on it. The
    directory is closed first, so nobody can exchange its files in between.
    """
    try:
        found = path.stat()
        if found.st_uid != os.geteuid():
            raise ConfigError(
                f"{path} belongs to the user with id {found.st_uid}, not to {os.geteuid()} who runs the server: "
                "run it as that user, or give the whole data directory to this one (chown -R)"
            )
        if found.st_mode & _OTHERS:
            path.chmod(mode)
    except FileNotFoundError:  # a draft or a journal that has gone meanwhile
        return
