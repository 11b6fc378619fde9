"""The end of a definition: its objects are deleted, and when none is left the finalizer that kept it is removed.

Level-triggered: each round deletes what is there; objects that wait for finalizers of their own are waited for.
Follows ``controller/finalizer``.
"""

import asyncio
import logging
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from flexlet.api.age import format_seconds
from flexlet.api.status import ApiError, Conflict, NotFound
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import LOOPBACK
from flexlet.apiserver.crd import establishing
from flexlet.apiserver.crd.definition import Definition
from flexlet.apiserver.crd.establishing import FINALIZER
from flexlet.apiserver.housekeeping.crdkinds import DefinedKinds
from flexlet.apiserver.housekeeping.isolation import Isolation
from flexlet.apiserver.rest.call import Call
from flexlet.apiserver.rest.pipeline import Rest
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Cluster, Ref

CRDS: Final = Ref("apiextensions.k8s.io", "v1", "customresourcedefinitions")
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


class Cleanup:
    """Brings definitions on their way out to their end, each in a task of its own."""

    def __init__(
        self, rest: Rest, cluster: Cluster, clock: Clock, kinds: DefinedKinds, isolation: Isolation
    ) -> None:
        self._isolation = isolation
        self._rest = rest
        self._cluster = cluster
        self._clock = clock
        self._kinds = kinds
        self._running: set[str] = set()

    def start(self, group: asyncio.TaskGroup, crds: Iterable[Object]) -> None:
        """Give every definition that goes, and has not been cleaned up, a task."""
        for crd in crds:
            name = crd["metadata"]["name"]
            if _is_ending(crd) and name not in self._running:
                self._running.add(name)
                group.create_task(self._end(name))

    async def _end(self, name: str) -> None:
        wait, ended = FIRST_WAIT_S, False

        async def clean_up() -> None:
            nonlocal ended
            ended = await self._ended(name)

        try:
            while True:
                await self._isolation.attempt(name, clean_up)
                if ended:
                    return
                await self._clock.sleep(wait)
                wait = min(wait * 2, LAST_WAIT_S)
        finally:
            self._running.discard(name)

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
        if self._kinds.overlaps(crd):
            return OVERLAPPING
        definition = self._kinds.find(name)
        if definition is None:
            return NEVER
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


def _is_ending(crd: Object) -> bool:
    metadata = crd["metadata"]
    return "deletionTimestamp" in metadata and FINALIZER in metadata.get("finalizers", ())
