"""Runs that were stopped only to be started again, on disk.

A container that a resize, a failed probe or a changed image replaces is stopped first, and how its process ends
then means nothing. An agent that dies in between would take it for one that is done; so what is to come back is
written down before anything is stopped. Ids of runs never come back, so an entry that is left over harms nobody.
"""

from collections.abc import Collection
from typing import Final

import msgspec

from flexlet.api.units import PodUid
from flexlet.errors import ConfigError
from flexlet.ports.checkpoints import Checkpoints

REPLACED: Final = "replaced_containers_state"


class Replaced:
    """Ids of runs by pod, in memory and on disk."""

    def __init__(self, files: Checkpoints) -> None:
        self._files = files
        self._runs: dict[str, list[str]] = {}

    async def open(self) -> None:
        """Read what an earlier agent left."""
        raw = await self._files.load(REPLACED)
        try:
            self._runs = {} if raw is None else msgspec.json.decode(raw, type=dict[str, list[str]])
        except msgspec.DecodeError as error:
            path = self._files.path(REPLACED)
            raise ConfigError(f"cannot read {path}: {error}; delete it and start the agent again") from error

    def get(self, uid: PodUid) -> frozenset[str]:
        """The ids of such runs of a pod."""
        return frozenset(self._runs.get(uid, ()))

    async def add(self, uid: PodUid, run_id: str, there: Collection[str]) -> None:
        """Write one down; of the others of its pod only those are kept that are still `there`."""
        kept = sorted({run_id, *(each for each in self._runs.get(uid, ()) if each in there)})
        if self._runs.get(uid) != kept:
            self._runs[uid] = kept
            await self._files.save(REPLACED, msgspec.json.encode(self._runs))

    def drop(self, uids: tuple[PodUid, ...]) -> None:
        """Forget pods; the next write makes it durable."""
        for uid in uids:
            self._runs.pop(uid, None)
