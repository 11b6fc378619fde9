"""The durable records of a node: what was allocated to each pod, what was last actuated, who is to come back.

One owner, any number of callers: changes that arrive while a write is on its way to the disk share the next write.
`Book.put` returns when the change is on disk; until then the caller must not act on it. If a write fails the
change is taken back to what the disk has, its caller is told, and the old file still holds; whoever else waits
tries it again with what is left.
"""

import asyncio
from typing import Final

from flexlet.api.units import PodUid
from flexlet.core.agent.world import Remembered
from flexlet.core.resize import checkpoint
from flexlet.core.resize.allocation import Allocation
from flexlet.engine.agent.books import ManagerFiles
from flexlet.engine.agent.replaced import Replaced
from flexlet.engine.agent.restored import restored
from flexlet.errors import HostError
from flexlet.ports.checkpoints import Checkpoints

ALLOCATED: Final = checkpoint.ALLOCATED_FILE
ACTUATED: Final = checkpoint.ACTUATED_FILE


class Book:
    """One record: allocations by pod uid, in memory and on disk."""

    def __init__(self, files: Checkpoints, name: str) -> None:
        self._files = files
        self._name = name
        self._entries: dict[PodUid, Allocation] = {}
        self._durable: dict[PodUid, Allocation] = {}
        self._draft = checkpoint.Draft()
        self._lock = asyncio.Lock()
        self.is_lost = False
        """Whether there was no file to read, or a corrupt one."""

    async def open(self) -> None:
        """Read what an earlier agent left."""
        found = await restored(self._files, self._name, checkpoint.parse)
        self.is_lost = found is None
        self._entries, self._durable = dict(found or {}), dict(found or {})

    def take_over(self, other: "Book") -> None:
        """Go by another record where this one was lost; the next write makes it durable."""
        self._entries = {uid: entry for uid in other.uids() if (entry := other.get(uid)) is not None}

    def get(self, uid: PodUid) -> Allocation | None:
        """What is recorded of a pod."""
        return self._entries.get(uid)

    def uids(self) -> tuple[PodUid, ...]:
        """Every pod that has an entry."""
        return tuple(self._entries)

    async def put(self, uid: PodUid, allocation: Allocation) -> None:
        """Record and write; on return it is durable."""
        self._entries[uid] = allocation
        try:
            await self._flush()
        except HostError:
            if self._entries.get(uid) is allocation:
                self._take_back(uid)
            raise

    def drop(self, uids: tuple[PodUid, ...]) -> None:
        """Forget pods; the next write makes it durable, and until then their entries harm nobody."""
        for uid in uids:
            self._entries.pop(uid, None)

    def _take_back(self, uid: PodUid) -> None:
        if uid in self._durable:
            self._entries[uid] = self._durable[uid]
        else:
            del self._entries[uid]

    def _is_written(self) -> bool:
        durable = self._durable
        same = all(durable.get(uid) is each for uid, each in self._entries.items())
        return same and len(durable) == len(self._entries)

    async def _flush(self) -> None:
        """Write the newest state; callers that waited find their change already written."""
        async with self._lock:
            if self._is_written():
                return
            written = dict(self._entries)
            for uid in self._draft.unknown(written):
                self._draft.learn(uid, written[uid])
                # Many pods may have changed; others have their turn in between.
                await asyncio.sleep(0)
            await self._files.save(self._name, checkpoint.encode(self._draft.document(written)))
            self._durable = written


class Ledger:
    """All of them."""

    def __init__(self, files: Checkpoints) -> None:
        self.files = files
        self.allocated = Book(files, ALLOCATED)
        self.actuated = Book(files, ACTUATED)
        self.replaced = Replaced(files)
        self.managers = ManagerFiles(files)

    async def open(self) -> None:
        """Read all; what is corrupt is set aside.

        The records differ only while a resize is under way, so a lost one is replaced by the other: going by the
        pods' specs instead would allocate resizes that were deferred, and reject running pods for them.
        """
        await self.allocated.open()
        await self.actuated.open()
        if self.allocated.is_lost:
            self.allocated.take_over(self.actuated)
        await self.replaced.open()
        await self.managers.open()

    def forget(self, *uids: PodUid) -> None:
        """Drop pods from all."""
        self.allocated.drop(uids)
        self.actuated.drop(uids)
        self.replaced.drop(uids)

    def remembered(self) -> dict[str, Remembered]:
        """What they say of each pod."""
        uids = {*self.allocated.uids(), *self.actuated.uids()}
        return {
            uid: Remembered(self.allocated.get(uid), self.actuated.get(uid), self.replaced.get(uid))
            for uid in uids
        }
