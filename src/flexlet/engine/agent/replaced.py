"""Runs that were stopped only to be started again, on disk.

A container that a resize, a failed probe or a changed image replaces is stopped first, and how its process ends
then means nothing. An agent that dies in between would take it for one that is done; so what is to come back is
written down before anything is stopped. Ids of runs never come back, so an entry that is left over harms nobody.

Several containers may be replaced at the same moment: changes take turns, and one whose write fails is undone, so
that the next attempt writes it again.
"""

import asyncio
from collections.abc import Collection
from typing import Any, Final

import msgspec

from flexlet.api import decode
from flexlet.api.units import PodUid
from flexlet.core import fnv
from flexlet.engine.agent.restored import restored
from flexlet.errors import HostError, InputError
from flexlet.ports.checkpoints import Checkpoints

REPLACED: Final = "replaced_containers_state"


class _Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    runs: dict[str, list[str]]
    checksum: int


class Replaced:
    """Ids of runs by pod, in memory and on disk."""

    def __init__(self, files: Checkpoints) -> None:
        self._files = files
        self._runs: dict[str, list[str]] = {}
        self._lock = asyncio.Lock()

    async def open(self) -> None:
        """Read what an earlier agent left."""
        self._runs = await restored(self._files, REPLACED, _parse) or {}

    def get(self, uid: PodUid) -> frozenset[str]:
        """The ids of such runs of a pod."""
        return frozenset(self._runs.get(uid, ()))

    async def add(self, uid: PodUid, run_id: str, there: Collection[str]) -> None:
        """Write one down; of the others of its pod only those are kept that are still `there`."""
        async with self._lock:
            before = self._runs.get(uid)
            kept = sorted({run_id, *(each for each in before or () if each in there)})
            if before == kept:
                return
            self._runs[uid] = kept
            try:
                await self._files.save(REPLACED, _encode(self._runs))
            except HostError:
                self._undo(uid, before)
                raise

    def drop(self, uids: tuple[PodUid, ...]) -> None:
        """Forget pods; the next write makes it durable."""
        for uid in uids:
            self._runs.pop(uid, None)

    def _undo(self, uid: PodUid, before: list[str] | None) -> None:
        if before is None:
            self._runs.pop(uid, None)
        else:
            self._runs[uid] = before


def _checksum(runs: dict[str, list[str]]) -> int:
    return fnv.fnv1a(msgspec.json.encode(runs, order="sorted"))


def _encode(runs: dict[str, list[str]]) -> bytes:
    return msgspec.json.encode(_Document(runs, _checksum(runs)))


def _parse(raw: bytes) -> dict[str, list[str]]:
    value = decode.from_json(raw, dict[str, Any])
    if "checksum" not in value:  # as it was written before there was one
        return decode.from_value(value, dict[str, list[str]])
    found = decode.from_value(value, _Document)
    if found.checksum != _checksum(found.runs):
        raise InputError("the checksum does not match")
    return found.runs
