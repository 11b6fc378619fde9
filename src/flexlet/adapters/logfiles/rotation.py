"""Keeps the logs of running containers small: a full one is moved aside and the runtime told to open a new one.

Meant to be called every ten seconds. A log that cannot be rotated stays as it is and is tried again next time.
"""

import asyncio
import gzip
import logging
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from flexlet.adapters import beneath
from flexlet.core.logs import rotation
from flexlet.errors import RuntimeFault
from flexlet.ports.clock import Clock
from flexlet.ports.runtime import Containers

DEFAULT_MAX_BYTES: Final = 10 << 20
DEFAULT_MAX_FILES: Final = 5

_log: Final = logging.getLogger(__name__)

Log = tuple[str, Path]
"""A running container's id and where its log lies."""


class LogRotation:
    """Rotates by size; a negative size means never."""

    def __init__(
        self,
        runtime: Containers,
        clock: Clock,
        max_bytes: int = DEFAULT_MAX_BYTES,
        max_files: int = DEFAULT_MAX_FILES,
    ) -> None:
        self._runtime = runtime
        self._clock = clock
        self._max_bytes = max_bytes
        self._max_files = max_files

    async def rotate(self, logs: Sequence[Log]) -> None:
        """Look at every log; rotate what is too large, ask for those that are missing."""
        if self._max_bytes < 0:
            return
        sizes = await asyncio.to_thread(_sizes, logs)
        for (container_id, path), size in zip(logs, sizes, strict=True):
            try:
                if size is None:
                    await self._runtime.reopen_log(container_id)
                elif size >= self._max_bytes:
                    await self._rotate(container_id, path)
            except (OSError, RuntimeFault) as error:
                _log.warning("cannot rotate log %s of container %s: %s", path, container_id, error)

    async def _rotate(self, container_id: str, path: Path) -> None:
        await asyncio.to_thread(_tidy, path, self._max_files)
        stamp = time.strftime(rotation.STAMP_FORMAT, time.localtime(self._clock.now()))
        rotated = path.with_name(f"{path.name}.{stamp}")
        await asyncio.to_thread(path.rename, rotated)
        try:
            await self._runtime.reopen_log(container_id)
        except RuntimeFault:
            await asyncio.to_thread(rotated.rename, path)
            raise


def _sizes(logs: Sequence[Log]) -> list[int | None]:
    return [_size(path) for _, path in logs]


def _size(path: Path) -> int | None:
    """None if the file is missing; a file that cannot be looked at is left alone."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None
    except OSError as error:
        _log.warning("cannot look at log %s: %s", path, error)
        return 0


def _tidy(path: Path, max_files: int) -> None:
    names = [entry.name for entry in path.parent.iterdir() if entry.name.startswith(f"{path.name}.")]
    tidying = rotation.tidy(names, max_files)
    for name in tidying.remove:
        path.with_name(name).unlink()
    for name in tidying.compress:
        _compress(path.with_name(name))


def _compress(path: Path) -> None:
    """Under a temporary name first, so that a crash leaves nothing that looks whole.

    No link is followed, neither to what is read nor to what is written: pods may put them there.
    """
    unfinished = path.with_name(path.name + rotation.UNFINISHED)
    unfinished.unlink(missing_ok=True)
    try:
        with os.fdopen(beneath.open_plain(path), "rb") as source, os.fdopen(_new(unfinished), "wb") as sink:
            with gzip.open(sink, "wb") as packed:
                shutil.copyfileobj(source, packed)
            os.fchmod(sink.fileno(), os.fstat(source.fileno()).st_mode & 0o777)
        unfinished.rename(path.with_name(path.name + rotation.COMPRESSED))
    finally:
        unfinished.unlink(missing_ok=True)
    path.unlink()


def _new(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
