"""CustomResourceDefinitions at work: names accepted, kinds served, objects cleaned up when a definition goes.

A definition is looked at when it is created, before its creator has the answer, and whenever it changes. The
registry follows at once, so that its resources, discovery and OpenAPI are there a moment later. Level-triggered:
every look starts from the definition as it is stored. What must stay true: a definition is gone only after its
objects are.
"""

import asyncio
import logging
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from flexlet.api.age import format_seconds
from flexlet.api.status import ApiError, Conflict, NotFound
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import LOOPBACK
from flexlet.apiserver.crd import establishing
from flexlet.apiserver.crd.definition import Definition, define
from flexlet.apiserver.crd.establishing import FINALIZER
from flexlet.apiserver.crd.scale import CustomScales
from flexlet.apiserver.kinds.conditions import is_true
from flexlet.apiserver.rest.call import Call
from flexlet.apiserver.rest.pipeline import Rest
from flexlet.errors import InputError
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Cluster, Ref

CRDS: Final = Ref("apiextensions.k8s.io", "v1", "customresourcedefinitions")
BUCKET: Final = "apiextensions.k8s.io/customresourcedefinitions"
RETRY_S: Final = 1.0
FIRST_WAIT_S: Final = 0.02
LAST_WAIT_S: Final = 2.0
IN_PROGRESS: Final = ("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
COMPLETED: Final = ("False", "InstanceDeletionCompleted", "removed all instances")
NEVER: Final = ("False", "NeverEstablished", "resource was never established")
OVERLAPPING: Final = (
    "False",
    "OverlappingBuiltInResource",
    "instances overlap with built-in resources in storage",
)

log: Final = logging.getLogger(__name__)


class Definitions:
    """All definitions of one server, and the kinds they stand for."""

    def __init__(self, rest: Rest, cluster: Cluster, clock: Clock) -> None:
        self._rest = rest
        self._cluster = cluster
        self._clock = clock
        self._seen: dict[str, Object] = {}
        self._served: dict[str, tuple[Any, Definition]] = {}
        """By name: what the kinds were made from, and the kinds."""
        self._scales = CustomScales(rest.backend)
        self._ending: set[str] = set()
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
            await self._look_at(crd)
        return listing.resource_version

    async def run(self) -> None:
        """Follow all changes until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                try:
                    await self._follow(group)
                except ApiError as error:
                    log.warning("looking at all definitions again", extra={"error": str(error)})
                await self._clock.sleep(RETRY_S)

    async def _follow(self, group: asyncio.TaskGroup) -> None:
        version = await self.load()
        self._end_all(group)
        async for batch in self._cluster.watch(CRDS, version):
            for change in batch:
                crd = msgspec.json.decode(change.object)
                if change.type == "DELETED":
                    await self._forget(crd["metadata"]["name"])
                else:
                    await self._look_at(crd)
            self._end_all(group)

    async def _created(self, crd: Object) -> None:
        """Whatever goes wrong here, the definition exists, and is looked at again soon."""
        try:
            await self._look_at(crd)
        except ApiError as error:
            log.warning("definition not established yet", extra={"error": str(error)})

    async def _look_at(self, crd: Object) -> None:
        """Take note of a definition, unless a newer state of it is known; one at a time."""
        async with self._looking:
            seen = self._seen.get(crd["metadata"]["name"])
            if seen is None or _age(seen) < _age(crd):
                await self._settle(crd)

    async def _settle(self, crd: Object) -> None:
        """Serve a definition as it is, and say so in its status."""
        name = crd["metadata"]["name"]
        now = format_seconds(self._clock.now())
        state = establishing.established(crd, self._others(crd), now)
        if state is not None:
            crd = {**crd, "status": state}
        self._seen[name] = crd
        self._serve(name, crd)
        if state is not None:
            await self._write_status(crd)

    async def _write_status(self, crd: Object) -> None:
        """Store a status; if somebody else was quicker, their change is looked at next."""
        try:
            await self._cluster.update(CRDS, "", crd["metadata"]["name"], crd, subresource="status")
        except (Conflict, NotFound):
            return
        except ApiError:
            del self._seen[crd["metadata"]["name"]]
            raise
        await self._reconsider(crd)

    async def _forget(self, name: str) -> None:
        async with self._looking:
            gone = self._seen.pop(name, None)
            self._unserve(name)
            if gone is not None:
                await self._reconsider(gone)

    async def _reconsider(self, crd: Object) -> None:
        """Names may have become free in its group."""
        for other in self._others(crd):
            if not is_true(other, "NamesAccepted"):
                await self._settle(other)

    def _others(self, crd: Object) -> list[Object]:
        group, name = crd["spec"]["group"], crd["metadata"]["name"]
        return [other for key, other in self._seen.items() if key != name and other["spec"]["group"] == group]

    def _serve(self, name: str, crd: Object) -> None:
        if not establishing.is_served(crd) or self._overlaps(crd):
            self._unserve(name)
            return
        source = (crd["metadata"]["uid"], crd["spec"], crd["status"]["acceptedNames"], is_true(crd, "Terminating"))
        before = self._served.get(name)
        if before is not None and before[0] == source:
            return
        try:
            definition = define(crd)
        except InputError as fault:
            log.warning("definition cannot be served", extra={"definition": name, "error": str(fault)})
            self._unserve(name)
            return
        self._served[name] = (source, definition)
        self._replace(before[1] if before is not None else None, definition)

    def _replace(self, before: Definition | None, after: Definition) -> None:
        registry = self._rest.registry
        kept = {(kind.version, kind.kind) for kind in after.served}
        for kind in before.served if before is not None else ():
            if (kind.version, kind.kind) not in kept:
                registry.remove(kind)
        for kind in after.served:
            registry.add(kind)
            self._rest.handlers[kind.group, kind.plural, "scale"] = self._scales.handle

    def _unserve(self, name: str) -> None:
        _, definition = self._served.pop(name, (None, None))
        for kind in definition.served if definition is not None else ():
            self._rest.registry.remove(kind)
            self._rest.handlers.pop((kind.group, kind.plural, "scale"), None)

    def _overlaps(self, crd: Object) -> bool:
        """Whether the server itself has such a resource; it must not be taken over."""
        place = (crd["spec"]["group"], crd["spec"]["names"]["plural"])
        return any(not kind.custom and (kind.group, kind.plural) == place for kind in self._rest.registry.kinds())

    def _end_all(self, group: asyncio.TaskGroup) -> None:
        """Give every definition that goes and has not been cleaned up a task."""
        for name, crd in self._seen.items():
            if _is_ending(crd) and name not in self._ending:
                self._ending.add(name)
                group.create_task(self._end(name))

    async def _end(self, name: str) -> None:
        wait = FIRST_WAIT_S
        try:
            while not await self._ended(name):
                await self._clock.sleep(wait)
                wait = min(wait * 2, LAST_WAIT_S)
        finally:
            self._ending.discard(name)

    async def _ended(self, name: str) -> bool:
        """Delete what is there; whether the definition was let go."""
        try:
            crd = msgspec.json.decode(await self._cluster.get(CRDS, "", name))
            if not _is_ending(crd):
                return True
            crd = await self._report(crd, IN_PROGRESS)
            verdict = await self._emptied(name, crd)
            if verdict is not None:
                crd["metadata"]["finalizers"].remove(FINALIZER)
                await self._report(crd, verdict)
        except NotFound:
            return True
        except Conflict:
            return False
        except ApiError as error:
            log.warning("definition not cleaned up yet", extra={"definition": name, "error": str(error)})
            return False
        return verdict is not None

    async def _report(self, crd: Object, condition: tuple[str, str, str]) -> Object:
        now = format_seconds(self._clock.now())
        wanted = {**crd, "status": establishing.with_condition(crd["status"], "Terminating", condition, now)}
        stored = await self._cluster.update(CRDS, "", crd["metadata"]["name"], wanted, subresource="status")
        result: Object = msgspec.json.decode(stored)
        return result

    async def _emptied(self, name: str, crd: Object) -> tuple[str, str, str] | None:
        """Delete all objects of a definition; what to say once there are none, None while there are."""
        if self._overlaps(crd):
            return OVERLAPPING
        served = self._served.get(name)
        if served is None:
            return NEVER
        definition = served[1]
        for call in self._objects(definition):
            try:
                await self._rest.delete(call)
            except NotFound:
                continue
        return None if self._rest.backend.store.list(definition.bucket) else COMPLETED

    def _objects(self, definition: Definition) -> Iterator[Call]:
        for row in self._rest.backend.store.list(definition.bucket):
            namespace, _, name = row.key.rpartition("/")
            yield Call(user=LOOPBACK, kind=definition.storage, namespace=namespace, name=name)


def _age(crd: Object) -> int:
    return int(crd["metadata"]["resourceVersion"])


def _is_ending(crd: Object) -> bool:
    metadata = crd["metadata"]
    return "deletionTimestamp" in metadata and FINALIZER in metadata.get("finalizers", ())
