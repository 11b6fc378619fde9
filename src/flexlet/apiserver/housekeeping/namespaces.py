"""Namespaces on their way out: everything in them is deleted, then the finalizer that kept them is removed.

Level-triggered: each round deletes what is there, says in the conditions what remains and why, and ends when
nothing does. Objects that wait for a node or a finalizer of their own are only waited for. Follows
``pkg/controller/namespace/deletion``.
"""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

from flexlet.api import decode
from flexlet.api.age import format_seconds
from flexlet.api.meta import KubeStruct, ObjectMeta
from flexlet.api.status import ApiError, Conflict, NotFound
from flexlet.apiserver.housekeeping.follow import follow
from flexlet.apiserver.housekeeping.isolation import Isolation
from flexlet.core.faults import Faults
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import NAMESPACES, Cluster, Ref

FINALIZER: Final = "kubernetes"
FIRST_WAIT_S: Final = 0.05
LAST_WAIT_S: Final = 5.0
# Condition type -> reason and message while all is well, in the order they are listed.
WELL: Final = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}

log: Final = logging.getLogger(__name__)

Resources = Callable[[], Iterable[Ref]]
"""What can lie in a namespace, custom resources included."""


class _Seen(KubeStruct, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()


class Left(msgspec.Struct):
    """What a round found still there."""

    objects: Counter[str]
    finalizers: Counter[str]


async def terminate(cluster: Cluster, clock: Clock, resources: Resources, faults: Faults | None = None) -> None:
    """Bring terminating namespaces to their end until cancelled."""
    async with asyncio.TaskGroup() as group:
        isolation = Isolation("namespaces", clock, faults)
        terminator = Terminator(cluster, clock, resources, group, isolation)
        await follow(cluster, NAMESPACES, terminator.observe, isolation)


class Terminator:
    """Runs one task per namespace that is on its way out."""

    def __init__(
        self,
        cluster: Cluster,
        clock: Clock,
        resources: Resources,
        group: asyncio.TaskGroup,
        isolation: Isolation | None = None,
    ) -> None:
        self._isolation = isolation or Isolation("namespaces", clock)
        self._cluster = cluster
        self._clock = clock
        self._resources = resources
        self._group = group
        self._running: set[str] = set()

    async def observe(self, event: str, value: bytes) -> None:
        """A namespace appeared or changed."""
        metadata = decode.from_json(value, _Seen).metadata
        if event == "DELETED" or metadata.deletion_timestamp is None or metadata.name in self._running:
            return
        self._running.add(metadata.name)
        self._group.create_task(self._end(metadata.name))

    async def _end(self, name: str) -> None:
        wait, done = FIRST_WAIT_S, False

        async def try_round() -> None:
            nonlocal done
            try:
                done = await self._round(name)
            except NotFound:
                done = True  # somebody else finished it

        try:
            while True:
                await self._isolation.attempt(f"namespaces/{name}", try_round)
                if done:
                    return
                await self._clock.sleep(wait)
                wait = min(wait * 2, LAST_WAIT_S)
        finally:
            self._running.discard(name)

    async def _round(self, name: str) -> bool:
        """Delete what is there; whether the namespace is done with."""
        namespace = msgspec.json.decode(await self._cluster.get(NAMESPACES, "", name))
        if FINALIZER not in namespace.get("spec", {}).get("finalizers", ()):
            return True
        try:
            left = await self._empty(name)
            await self._report(namespace, left)
            if left.objects:
                return False
            await self._release(name)
        except Conflict:
            return False
        except NotFound:
            raise
        except ApiError as error:
            log.warning("namespace not emptied yet", extra={"namespace": name, "error": str(error)})
            return False
        return True

    async def _empty(self, name: str) -> Left:
        left = Left(Counter(), Counter())
        for ref in tuple(self._resources()):
            await self._empty_of(ref, name)
        for ref in tuple(self._resources()):
            await self._count(ref, name, left)
        return left

    async def _empty_of(self, ref: Ref, namespace: str) -> None:
        for metadata in await self._listed(ref, namespace):
            if metadata.deletion_timestamp is None:
                with contextlib.suppress(NotFound, Conflict):
                    options = {"propagationPolicy": "Background", "preconditions": {"uid": metadata.uid}}
                    await self._cluster.delete(ref, namespace, metadata.name, options)

    async def _count(self, ref: Ref, namespace: str, left: Left) -> None:
        found = await self._listed(ref, namespace)
        if found:
            left.objects[f"{ref.plural}.{ref.group}"] = len(found)
        for metadata in found:
            left.finalizers.update(metadata.finalizers)

    async def _listed(self, ref: Ref, namespace: str) -> Sequence[ObjectMeta]:
        listing = await self._cluster.list(ref, namespace)
        return [decode.from_json(item, _Seen).metadata for item in listing.items]

    async def _report(self, namespace: dict[str, Any], left: Left) -> None:
        before = namespace.get("status", {}).get("conditions", [])
        after = conditions(before, left, format_seconds(self._clock.now()))
        if after != before:
            patch = {"status": {"conditions": after}}
            await self._cluster.patch(NAMESPACES, "", namespace["metadata"]["name"], patch, subresource="status")

    async def _release(self, name: str) -> None:
        """Take our finalizer off; with the last one the namespace goes."""
        namespace = msgspec.json.decode(await self._cluster.get(NAMESPACES, "", name))
        held = namespace.get("spec", {}).get("finalizers", [])
        namespace["spec"] = {"finalizers": [item for item in held if item != FINALIZER]}
        await self._cluster.update(NAMESPACES, "", name, namespace, subresource="finalize")


def conditions(before: Sequence[dict[str, Any]], left: Left, now: str) -> list[dict[str, Any]]:
    """The conditions of a terminating namespace; a time changes only with its status."""
    old = {item["type"]: item for item in before}
    return [_condition(old.get(kind, {}), kind, _trouble(kind, left), now) for kind in WELL]


def _condition(old: dict[str, Any], kind: str, trouble: tuple[str, str] | None, now: str) -> dict[str, Any]:
    state = "False" if trouble is None else "True"
    reason, message = trouble or WELL[kind]
    since = old["lastTransitionTime"] if old.get("status") == state else now
    return {"type": kind, "status": state, "lastTransitionTime": since, "reason": reason, "message": message}


def _trouble(kind: str, left: Left) -> tuple[str, str] | None:
    if kind == "NamespaceContentRemaining" and left.objects:
        listed = sorted(f"{name} has {count} resource instances" for name, count in left.objects.items())
        return "SomeResourcesRemain", f"Some resources are remaining: {', '.join(listed)}"
    if kind == "NamespaceFinalizersRemaining" and left.finalizers:
        listed = sorted(f"{name} in {count} resource instances" for name, count in left.finalizers.items())
        text = "Some content in the namespace has finalizers remaining"
        return "SomeFinalizersRemain", f"{text}: {', '.join(listed)}"
    return None
