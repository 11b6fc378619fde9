"""Checkpoint files in one directory: written beside, synced, renamed."""

import asyncio
import os
from pathlib import Path

from flexlet.errors import HostError


class CheckpointFiles:
    """Obeys `flexlet.ports.checkpoints.Checkpoints`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def path(self, name: str) -> str:
        """Where it lies."""
        return str(self._directory / name)

    async def load(self, name: str) -> bytes | None:
        """The content."""
        return await asyncio.to_thread(self._load, self._directory / name)

    @staticmethod
    def _load(path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise HostError(f"cannot read {path}: {error.strerror}") from error

    async def save(self, name: str, data: bytes) -> None:
        """Replace it."""
        await asyncio.to_thread(self._save, self._directory / name, data)

    @staticmethod
    def _save(path: Path, data: bytes) -> None:
        beside = path.with_name(f".{path.name}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with beside.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        except OSError as error:
            raise HostError(f"cannot write {path}: {error.strerror}; the old content still holds") from error
