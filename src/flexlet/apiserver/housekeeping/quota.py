"""Keeps the status of ResourceQuotas true.

Admission charges what is created; here usage comes down again when objects finish, shrink or go, and a new or
changed quota comes into force. Usage is counted from scratch, never by differences, so every round also repairs
whatever went wrong before.

Three kinds of tasks: one follows the quotas, one follows each resource that some quota limits, one counts. The
followers only mark quotas; the counter takes all marks at once, lists each resource of a namespace once and
rests for a while after each round, so a storm of changes costs a bounded share of the time. A status is written
against the version it was counted for: if admission charged meanwhile, the write conflicts and is counted again.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from flexlet.api.decode import from_json, from_value, to_value
from flexlet.api.meta import KubeStruct, ObjectMeta
from flexlet.api.pod import Pod
from flexlet.api.quota import ResourceQuota
from flexlet.api.status import ApiError, Conflict, NotFound, qualified
from flexlet.core.quota.claim import Claim, Counting, count_claim, pod_claim, service_claim
from flexlet.core.quota.measure import is_current, measure, resources_to_count
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Change, Cluster, Ref

QUOTAS: Final = Ref("", "v1", "resourcequotas")
UNCOUNTED: Final = frozenset({"events", "events.events.k8s.io"})

RESYNC_S: Final = 60.0
"""Some changes make no event: a pod that should have ended but did not stops counting by the clock."""
REST_S: Final = 0.1
REST_FACTOR: Final = 5
RECONNECT_S: Final = 1.0
BREATH: Final = 200
"""Objects counted before other tasks get a turn."""

_log: Final = logging.getLogger(__name__)


class _Named(KubeStruct, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()


class QuotaKeeper:
    """Counts usage through the same port that clients use; `resources` lists what is served, CRDs included."""

    def __init__(
        self, cluster: Cluster, clock: Clock, resources: Callable[[], Iterable[Ref]], counting: Counting
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._resources = resources
        self._counting = counting
        self._quotas: dict[str, dict[str, ResourceQuota]] = {}
        self._followed: set[str] = set()
        self._marked: set[str] = set()
        self._wake = asyncio.Event()

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow(QUOTAS, lambda change: self._quota_changed(change, group)))
            group.create_task(self._count_marked())
            group.create_task(self._mark_now_and_then())

    def _served(self) -> Mapping[str, Ref]:
        return {
            resource: ref
            for ref in self._resources()
            if (resource := qualified(ref.plural, ref.group)) not in UNCOUNTED
        }

    async def _follow(self, ref: Ref, changed: Callable[[Change], None]) -> None:
        """Report every object and every change; what was missed between two watches comes with the next list."""
        while True:
            try:
                listing = await self._cluster.list(ref)
                for item in listing.items:
                    changed(Change("ADDED", item))
                async for changes in self._cluster.watch(ref, listing.resource_version):
                    for change in changes:
                        changed(change)
            except NotFound:
                # The resource is not served any more; a quota that names it later has it followed again.
                self._followed.discard(qualified(ref.plural, ref.group))
                return
            except ApiError as error:
                _log.warning("cannot follow %s: %s; trying again", ref.plural, error)
            await self._clock.sleep(RECONNECT_S)

    def _quota_changed(self, change: Change, group: asyncio.TaskGroup) -> None:
        quota = from_json(change.object, ResourceQuota)
        namespace, name = quota.metadata.namespace, quota.metadata.name
        if change.type == "DELETED":
            self._quotas.get(namespace, {}).pop(name, None)
            return
        self._quotas.setdefault(namespace, {})[name] = quota
        served = self._served()
        for resource in sorted(resources_to_count(quota, served) - self._followed):
            self._followed.add(resource)
            group.create_task(self._follow(served[resource], self._marker_of(resource)))
        if not is_current(quota, served):
            self._mark(namespace)

    def _marker_of(self, resource: str) -> Callable[[Change], None]:
        def changed(change: Change) -> None:
            namespace = from_json(change.object, _Named).metadata.namespace
            quotas = self._quotas.get(namespace)
            if quotas and any(resources_to_count(quota, {resource}) for quota in quotas.values()):
                self._mark(namespace)

        return changed

    def _mark(self, namespace: str) -> None:
        self._marked.add(namespace)
        self._wake.set()

    async def _mark_now_and_then(self) -> None:
        while True:
            await self._clock.sleep(RESYNC_S)
            for namespace in [namespace for namespace, quotas in self._quotas.items() if quotas]:
                self._mark(namespace)

    async def _count_marked(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            marked, self._marked = self._marked, set()
            began = self._clock.monotonic()
            for namespace in sorted(marked):
                await self._count(namespace)
            await self._clock.sleep(max(REST_S, REST_FACTOR * (self._clock.monotonic() - began)))

    async def _count(self, namespace: str) -> None:
        try:
            stored = await self._cluster.list(QUOTAS, namespace)
            quotas = [msgspec.json.decode(item) for item in stored.items]
            served = self._served()
            needed = {
                resource
                for quota in quotas
                for resource in resources_to_count(from_value(quota, ResourceQuota), served)
            }
            claims = [
                claim for resource in sorted(needed) for claim in await self._claims(served[resource], namespace)
            ]
            for quota in quotas:
                await self._write(quota, claims, served)
        except Conflict:
            self._mark(namespace)
        except ApiError as error:
            _log.warning("cannot count the quotas of namespace %s: %s; trying again", namespace, error)
            await self._clock.sleep(RECONNECT_S)
            self._mark(namespace)

    async def _claims(self, ref: Ref, namespace: str) -> list[Claim]:
        listing = await self._cluster.list(ref, namespace)
        claims = []
        for index, item in enumerate(listing.items, start=1):
            claims.append(self._claim(ref, item))
            if index % BREATH == 0:
                await asyncio.sleep(0)
        return claims

    def _claim(self, ref: Ref, item: bytes) -> Claim:
        resource = qualified(ref.plural, ref.group)
        if resource == "pods":
            return pod_claim(from_json(item, Pod), self._clock.now(), self._counting)
        if resource == "services":
            return service_claim(msgspec.json.decode(item).get("spec") or {})
        return count_claim(resource)

    async def _write(self, stored: dict[str, Any], claims: list[Claim], served: Mapping[str, Ref]) -> None:
        quota = from_value(stored, ResourceQuota)
        measured = measure(quota, claims, served)
        if measured == quota.status and is_current(quota, served):
            return
        amounts = {key: dict(sorted(part.items())) for key, part in to_value(measured).items()}
        body = {**stored, "status": amounts}
        try:
            await self._cluster.update(
                QUOTAS, quota.metadata.namespace, quota.metadata.name, body, subresource="status"
            )
        except NotFound:
            return
