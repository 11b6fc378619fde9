"""The two durable records of a node: what was allocated to each pod, and what was last actuated.

One owner, any number of callers: changes that arrive while a write is on its way to the disk share the next write.
`allocate` and `actuate` return when the change is on disk; until then the caller must not act on it. If a write
fails everybody whose change was in it is told, the change is taken back, and the old file still holds.
"""

import asyncio
from typing import Final

from flexlet.api.units import PodUid
from flexlet.core.resize import checkpoint
from flexlet.core.resize.allocation import Allocation
from flexlet.errors import ConfigError, HostError
from flexlet.ports.checkpoints import Checkpoints

ALLOCATED: Final = "allocated_pods_state"
ACTUATED: Final = "actuated_pods_state"


class Book:
    """One record: allocations by pod uid, in memory and on disk."""

    def __init__(self, files: Checkpoints, name: str) -> None:
        self._files = files
        self._name = name
        self._entries: dict[PodUid, Allocation] = {}
        self._written = 0
        self._lock = asyncio.Lock()

    async def open(self) -> None:
        """Read what an earlier agent left; a broken file is refused, since nobody can guess it."""
        raw = await self._files.load(self._name)
        path = self._files.path(self._name)
        self._entries = {} if raw is None else dict(checkpoint.parse(raw, path))
        self._written = checkpoint.document(self._entries).checksum if raw is not None else 0

    def get(self, uid: PodUid) -> Allocation | None:
        """What is recorded of a pod."""
        return self._entries.get(uid)

    def uids(self) -> tuple[PodUid, ...]:
        """Every pod that has an entry."""
        return tuple(self._entries)

    async def put(self, uid: PodUid, allocation: Allocation) -> None:
        """Record and write; on return it is durable."""
        before = self._entries.get(uid)
        self._entries[uid] = allocation
        try:
            await self._flush()
        except HostError:
            self._take_back(uid, allocation, before)
            raise

    def drop(self, uids: tuple[PodUid, ...]) -> None:
        """Forget pods; the next write makes it durable, and until then their entries harm nobody."""
        for uid in uids:
            self._entries.pop(uid, None)

    def _take_back(self, uid: PodUid, allocation: Allocation, before: Allocation | None) -> None:
        if self._entries.get(uid) is not allocation:
            return
        if before is None:
            del self._entries[uid]
        else:
            self._entries[uid] = before

    async def _flush(self) -> None:
        """Write the newest state; callers that waited find their change already written."""
        async with self._lock:
            document = checkpoint.document(self._entries)
            if document.checksum != self._written:
                await self._files.save(self._name, checkpoint.encode(document))
                self._written = document.checksum


class Ledger:
    """Both books."""

    def __init__(self, files: Checkpoints) -> None:
        self.allocated = Book(files, ALLOCATED)
        self.actuated = Book(files, ACTUATED)

    async def open(self) -> None:
        """Read both; raises ConfigError that names the file and the remedy."""
        try:
            await self.allocated.open()
            await self.actuated.open()
        except HostError as error:
            raise ConfigError(f"cannot read the node's records of pod resources: {error}") from error

    def forget(self, *uids: PodUid) -> None:
        """Drop pods from both."""
        self.allocated.drop(uids)
        self.actuated.drop(uids)
