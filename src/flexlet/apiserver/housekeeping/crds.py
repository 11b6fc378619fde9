"""CustomResourceDefinitions at work: names accepted, kinds served, objects cleaned up when a definition goes.

A definition is looked at when it is created, before its creator has the answer, and whenever it changes. The
registry follows at once, so that its resources, discovery and OpenAPI are there a moment later. Level-triggered:
every look starts from the definition as it is stored. What must stay true: a definition is gone only after its
objects are.
"""

import asyncio
from functools import partial
from typing import Final

import msgspec

from flexlet.api.age import format_seconds
from flexlet.api.status import Conflict, NotFound
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.crd import establishing
from flexlet.apiserver.housekeeping.crdcleanup import CRDS, Cleanup
from flexlet.apiserver.housekeeping.crdkinds import DefinedKinds
from flexlet.apiserver.housekeeping.isolation import Isolation
from flexlet.apiserver.kinds.conditions import is_true
from flexlet.apiserver.rest.pipeline import Rest
from flexlet.core.faults import Faults
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Cluster

BUCKET: Final = "apiextensions.k8s.io/customresourcedefinitions"
RETRY_S: Final = 1.0


class Definitions:
    """All definitions of one server, and the kinds they stand for."""

    def __init__(self, rest: Rest, cluster: Cluster, clock: Clock, faults: Faults | None = None) -> None:
        self._cluster = cluster
        self._clock = clock
        self._seen: dict[str, Object] = {}
        self._kinds = DefinedKinds(rest)
        self._isolation = Isolation("customresourcedefinitions", clock, faults)
        self._cleanup = Cleanup(rest, cluster, clock, self._kinds, self._isolation)
        self._looking = asyncio.Lock()
        rest.backend.created[BUCKET] = self._created
        rest.backend.deleting[BUCKET] = establishing.start_termination

    async def load(self) -> str:
        """Serve what is stored; gives the version of the list. Call it before the server answers anybody."""
        listing = await self._cluster.list(CRDS)
        found = {crd["metadata"]["name"]: crd for crd in map(msgspec.json.decode, listing.items)}
        for name in self._seen.keys() - found.keys():
            await self._forget(name)
        for crd in found.values():
            await self._try(crd)
        return listing.resource_version

    async def run(self) -> None:
        """Follow all changes until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._isolation.retry())
            await self._isolation.repeat(CRDS.plural, partial(self._follow, group), RETRY_S)

    async def _follow(self, group: asyncio.TaskGroup) -> None:
        version = await self.load()
        self._cleanup.start(group, self._seen.values())
        async for batch in self._cluster.watch(CRDS, version):
            for change in batch:
                crd = msgspec.json.decode(change.object)
                if change.type == "DELETED":
                    await self._forget(crd["metadata"]["name"])
                else:
                    await self._try(crd)
            self._cleanup.start(group, self._seen.values())

    async def _created(self, crd: Object) -> None:
        """Whatever goes wrong here, the definition exists, and is looked at again soon."""
        await self._isolation.attempt(crd["metadata"]["name"], partial(self._look_at, crd))

    async def _try(self, crd: Object) -> None:
        await self._isolation.handle(crd["metadata"]["name"], partial(self._look_at, crd))

    async def _look_at(self, crd: Object) -> None:
        """Take note of a definition, unless a newer state of it is known; one at a time."""
        async with self._looking:
            seen = self._seen.get(crd["metadata"]["name"])
            if seen is None or _age(seen) < _age(crd):
                await self._noted(crd)

    async def _noted(self, crd: Object) -> None:
        """Settle a definition; one that could not be is looked at as if for the first time."""
        try:
            await self._settle(crd)
        except BaseException:
            self._seen.pop(crd["metadata"]["name"], None)
            raise

    async def _settle(self, crd: Object) -> None:
        """Serve a definition as it is, and say so in its status."""
        name = crd["metadata"]["name"]
        now = format_seconds(self._clock.now())
        state = establishing.established(crd, self._others(crd), now)
        if state is not None:
            crd = {**crd, "status": state}
        self._seen[name] = crd
        self._kinds.serve(name, crd)
        if state is not None:
            await self._write_status(crd)

    async def _write_status(self, crd: Object) -> None:
        """Store a status; if somebody else was quicker, their change is looked at next."""
        try:
            await self._cluster.update(CRDS, "", crd["metadata"]["name"], crd, subresource="status")
        except (Conflict, NotFound):
            return
        await self._reconsider(crd)

    async def _forget(self, name: str) -> None:
        async with self._looking:
            self._isolation.forget(name)
            gone = self._seen.pop(name, None)
            self._kinds.remove(name)
            if gone is not None:
                await self._reconsider(gone)

    async def _reconsider(self, crd: Object) -> None:
        """Names may have become free in its group."""
        for other in self._others(crd):
            if not is_true(other, "NamesAccepted"):
                await self._isolation.attempt(other["metadata"]["name"], partial(self._noted, other))

    def _others(self, crd: Object) -> list[Object]:
        group, name = crd["spec"]["group"], crd["metadata"]["name"]
        return [other for key, other in self._seen.items() if key != name and other["spec"]["group"] == group]


def _age(crd: Object) -> int:
    return int(crd["metadata"]["resourceVersion"])
