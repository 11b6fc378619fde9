"""A cluster with quotas, conditional updates and faults, and a clock that a test moves."""

import asyncio
import copy
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import msgspec
from tests.apiserver.housekeeping.memorycluster import settle
from tests.engine.fakes import ManualClock

from flexlet.api import status
from flexlet.apiserver.housekeeping.quota import QUOTAS
from flexlet.ports.cluster import Change, Listing, Ref

Body = dict[str, Any]


class Clock(ManualClock):
    """Time that a test moves."""

    async def pass_(self, seconds: float) -> None:
        """Let time pass in small steps, with turns for everybody in between."""
        end = self.time + seconds
        while self.time < end:
            self.advance(min(end - self.time, max(0.05, seconds / 40)))
            await settle()


class FakeCluster:
    """As much of a cluster as quotas need: lists, watches and conditional updates."""

    def __init__(self) -> None:
        self.objects: dict[tuple[Ref, str, str], Body] = {}
        self.version = 0
        self.watchers: list[tuple[Ref, asyncio.Queue[Change | status.ApiError]]] = []
        self.lists: list[tuple[Ref, str]] = []
        self.updates: list[Body] = []
        self.faults: list[status.ApiError] = []
        self.before_update: Callable[[], None] = lambda: None

    def put(self, ref: Ref, obj: Body, namespace: str = "ns") -> None:
        """Store an object and tell the watchers."""
        self.version += 1
        obj = copy.deepcopy(obj)
        obj["metadata"] |= {"namespace": namespace, "resourceVersion": str(self.version)}
        key = (ref, namespace, obj["metadata"]["name"])
        kind = "MODIFIED" if key in self.objects else "ADDED"
        self.objects[key] = obj
        self._tell(ref, kind, obj)

    def remove(self, ref: Ref, name: str) -> None:
        """Delete an object and tell the watchers."""
        self._tell(ref, "DELETED", self.objects.pop((ref, "ns", name)))

    def _tell(self, ref: Ref, kind: str, obj: Body) -> None:
        for watched, queue in self.watchers:
            if watched == ref:
                queue.put_nowait(Change(kind, msgspec.json.encode(obj)))

    def break_watches(self, ref: Ref) -> None:
        """End the watches of a resource as an expired one does."""
        for watched, queue in self.watchers:
            if watched == ref:
                queue.put_nowait(status.failure(410, "Expired", "too old"))
        self.watchers = [entry for entry in self.watchers if entry[0] != ref]

    async def list(self, ref: Ref, namespace: str = "", **selectors: str) -> Listing:
        """See `ports.Cluster`."""
        assert not any(selectors.values())
        self.lists.append((ref, namespace))
        if self.faults:
            raise self.faults.pop()
        found = [obj for key, obj in self.objects.items() if key[0] == ref and namespace in {"", key[1]}]
        return Listing(tuple(map(msgspec.json.encode, found)), str(self.version))

    async def watch(self, ref: Ref, resource_version: str, **rest: str) -> AsyncIterator[Sequence[Change]]:
        """See `ports.Cluster`."""
        del resource_version, rest
        queue: asyncio.Queue[Change | status.ApiError] = asyncio.Queue()
        self.watchers.append((ref, queue))
        while True:
            change = await queue.get()
            if isinstance(change, status.ApiError):
                raise change
            yield (change,)

    async def update(self, ref: Ref, namespace: str, name: str, body: Body, *, subresource: str = "") -> bytes:
        """See `ports.Cluster`."""
        assert (ref, subresource) == (QUOTAS, "status")
        self.before_update()
        stored = self.objects.get((ref, namespace, name))
        if stored is None:
            raise status.not_found(ref.plural, ref.group, name)
        if stored["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"]:
            raise status.conflict(ref.plural, ref.group, name, "changed")
        self.updates.append(body)
        self.put(ref, body, namespace)
        return b""

    def used(self, name: str = "q") -> Any:
        """What a quota shows as used."""
        return self.objects[QUOTAS, "ns", name].get("status", {}).get("used")
