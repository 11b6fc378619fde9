"""The state files of the resource managers on disk.

One writer, any number of callers: `keep` returns when the disk has the books as they are now, or as they became
meanwhile. The kubelet's files, in its place and its form, so that a node can change hands. What could not be
believed is kept beside under another name before it is written over.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from flexlet.core.managers import files
from flexlet.core.managers.files import CPU_FILE, MEMORY_FILE, Files
from flexlet.engine.agent.restored import restored
from flexlet.ports.checkpoints import Checkpoints

if TYPE_CHECKING:
    from flexlet.core.managers.state import Managers

BAD: Final = ".bad"


class ManagerFiles:
    """Both files. `current` says what must be on disk; None leaves them alone."""

    def __init__(self, checkpoints: Checkpoints) -> None:
        self.current: Callable[[], Managers | None] = lambda: None
        self._checkpoints = checkpoints
        self._lock = asyncio.Lock()
        self._durable: dict[str, str] = {}
        self._written: Managers | None = None
        self._spoiled: dict[str, str] = {}

    async def open(self) -> Files:
        """What an earlier agent, or a kubelet, has left."""
        for name in (CPU_FILE, MEMORY_FILE):
            raw = await restored(self._checkpoints, name, bytes)
            if raw is not None:
                self._durable[name] = raw.decode(errors="replace")
        return self.found

    @property
    def found(self) -> Files:
        """The texts on disk."""
        return Files(cpu=self._durable.get(CPU_FILE), memory=self._durable.get(MEMORY_FILE))

    def distrust(self, names: Iterable[str]) -> None:
        """Keep files beside before the next write."""
        self._spoiled |= {name: self._durable[name] for name in names if name in self._durable}

    async def keep(self) -> None:
        """Write what has changed; HostError leaves the old content."""
        async with self._lock:
            managers = self.current()
            if managers is not None and managers is not self._written:
                await self._write(managers)

    async def save(self, managers: "Managers") -> None:
        """Write books that are about to become the current ones; HostError leaves the old content."""
        async with self._lock:
            await self._write(managers)

    async def _write(self, managers: "Managers") -> None:
        for name, text in list(self._spoiled.items()):
            await self._checkpoints.save(f"{name}{BAD}", text.encode())
            del self._spoiled[name]
        for name, text in files.texts(managers).by_name().items():
            if self._durable.get(name) != text:
                await self._checkpoints.save(name, text.encode())
                self._durable[name] = text
        self._written = managers
