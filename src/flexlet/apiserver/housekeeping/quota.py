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
import contextlib
import functools
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from flexlet.api.decode import from_json, from_value, to_value
from flexlet.api.meta import KubeStruct, ObjectMeta
from flexlet.api.pod import Pod
from flexlet.api.quota import ResourceQuota
from flexlet.api.status import ApiError, Conflict, NotFound, qualified
from flexlet.apiserver.housekeeping.follow import RETRY_S, follow, follow_once
from flexlet.apiserver.housekeeping.isolation import Isolation
from flexlet.core.faults import Faults
from flexlet.core.quota.claim import Claim, Counting, count_claim, pod_claim, service_claim
from flexlet.core.quota.measure import is_current, measure, resources_to_count
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Cluster, Ref

QUOTAS: Final = Ref("", "v1", "resourcequotas")
UNCOUNTED: Final = frozenset({"events", "events.events.k8s.io"})

RESYNC_S: Final = 60.0
"""Some changes make no event: a pod that should have ended but did not stops counting by the clock."""
REST_S: Final = 0.1
REST_FACTOR: Final = 5
BREATH: Final = 200
"""Objects counted before other tasks get a turn."""

_log: Final = logging.getLogger(__name__)


class _Named(KubeStruct, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()


class QuotaKeeper:
    """Counts usage through the same port that clients use; `resources` lists what is served, CRDs included."""

    def __init__(
        self,
        cluster: Cluster,
        clock: Clock,
        resources: Callable[[], Iterable[Ref]],
        counting: Counting,
        faults: Faults | None = None,
    ) -> None:
        self._isolation = Isolation("resourcequotas", clock, faults)
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
            handle = functools.partial(self._quota_changed, group)
            group.create_task(follow(self._cluster, QUOTAS, handle, self._isolation))
            group.create_task(self._count_marked())
            group.create_task(self._mark_now_and_then())

    def _served(self) -> Mapping[str, Ref]:
        return {
            resource: ref
            for ref in self._resources()
            if (resource := qualified(ref.plural, ref.group)) not in UNCOUNTED
        }

    async def _follow(self, resource: str, ref: Ref) -> None:
        """Mark the quotas of a namespace whenever something in it that they limit may take less than before.

        Not when something is created: admission has charged it already, and counting at that moment may miss what
        another request has charged and not stored yet.
        """

        async def changed(event: str, value: bytes) -> None:
            if event == "ADDED":
                return
            self._mark_for(resource, from_json(value, _Named).metadata.namespace)

        while resource in self._served():
            await self._isolation.attempt(resource, functools.partial(follow_once, self._cluster, ref, changed))
            await self._clock.sleep(RETRY_S)
            for namespace in tuple(self._quotas):  # what went by unseen may have taken less
                self._mark_for(resource, namespace)
        # A quota that names it after it is served again has it followed again.
        self._followed.discard(resource)

    async def _quota_changed(self, group: asyncio.TaskGroup, event: str, value: bytes) -> None:
        quota = from_json(value, ResourceQuota)
        namespace, name = quota.metadata.namespace, quota.metadata.name
        if event == "DELETED":
            self._quotas.get(namespace, {}).pop(name, None)
            return
        self._quotas.setdefault(namespace, {})[name] = quota
        served = self._served()
        for resource in sorted(resources_to_count(quota, served) - self._followed):
            self._followed.add(resource)
            group.create_task(self._follow(resource, served[resource]))
        if not is_current(quota, served):
            self._mark(namespace)

    def _mark_for(self, resource: str, namespace: str) -> None:
        quotas = self._quotas.get(namespace, {}).values()
        if any(resources_to_count(quota, {resource}) for quota in quotas):
            self._mark(namespace)

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
            counted = [await self._count_isolated(namespace) for namespace in sorted(marked)]
            rest = REST_S if all(counted) else RETRY_S
            await self._clock.sleep(max(rest, REST_FACTOR * (self._clock.monotonic() - began)))

    async def _count_isolated(self, namespace: str) -> bool:
        """Like `_count`; a namespace that nobody can count is left to the next look at all of them."""
        counted = True

        async def count() -> None:
            nonlocal counted
            counted = await self._count(namespace)

        await self._isolation.attempt(namespace, count)
        return counted

    async def _count(self, namespace: str) -> bool:
        """Bring the quotas of a namespace up to date; False if that has to be tried again later."""
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
            _log.warning("counting again", extra={"namespace": namespace, "error": str(error)})
            self._mark(namespace)
            return False
        return True

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
        with contextlib.suppress(NotFound):
            metadata = quota.metadata
            await self._cluster.update(QUOTAS, metadata.namespace, metadata.name, body, subresource="status")
