"""Runs something only while this process leads (`flexlet.core.nodesize.leading`)."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from flexlet.api.status import ApiError, NotFound
from flexlet.core.nodesize import leading
from flexlet.core.nodesize.leading import LeaseSpec, Watched
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import LEASES, Cluster

log: Final = logging.getLogger(__name__)


class Leadership:
    """One candidate for one lease."""

    def __init__(self, cluster: Cluster, clock: Clock, namespace: str, name: str, me: str) -> None:
        self._cluster = cluster
        self._clock = clock
        self._place = namespace, name
        self._me = me
        self._seen: Watched | None = None

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Until cancelled: wait for the lease, lead as long as it is ours, then wait again."""
        while True:
            await self._until_taken()
            log.info("leading", extra={"lease": self._place[1], "identity": self._me})
            async with asyncio.TaskGroup() as group:
                work = group.create_task(_run(lead))
                await self._while_held(work)
                work.cancel()

    async def release(self) -> None:
        """Let the next one begin at once."""
        with contextlib.suppress(ApiError):
            if self._seen is not None and self._seen.spec.holder_identity == self._me:
                await self._cluster.patch(LEASES, *self._place, {"spec": {"holderIdentity": ""}})

    async def _until_taken(self) -> None:
        while not await self._try():
            await self._clock.sleep(leading.RENEW_S)

    async def _while_held(self, work: "asyncio.Task[None]") -> None:
        renewed = self._clock.monotonic()
        while not work.done() and self._clock.monotonic() < renewed + leading.DEADLINE_S:
            await self._clock.sleep(leading.RENEW_S)
            if await self._try():
                renewed = self._clock.monotonic()
            elif self._seen is not None and self._seen.spec.holder_identity not in {"", self._me}:
                return

    async def _try(self) -> bool:
        """Take or renew the lease; False if it is somebody's or the server cannot be asked."""
        try:
            return await self._take()
        except ApiError as error:
            log.debug("cannot hold the lease: %s", error)
            return False

    async def _take(self) -> bool:
        now = self._clock.now()
        try:
            lease = leading.read(await self._cluster.get(LEASES, *self._place))
        except NotFound:
            return await self._make(now)
        self._seen = leading.watched(self._seen, lease.spec, now)
        if not leading.may_take(self._seen, self._me, now):
            return False
        spec = leading.claim(lease.spec, self._me, now)
        body: dict[str, Any] = {"metadata": {"resourceVersion": lease.metadata.resource_version}, "spec": spec}
        taken = leading.read(await self._cluster.patch(LEASES, *self._place, body))
        self._seen = Watched(taken.spec, now)
        return True

    async def _make(self, now: float) -> bool:
        namespace, name = self._place
        spec = leading.claim(LeaseSpec(), self._me, now)
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}, "spec": spec}
        made = leading.read(await self._cluster.create(LEASES, namespace, body))
        self._seen = Watched(made.spec, now)
        return True


async def _run(lead: Callable[[], Awaitable[None]]) -> None:
    await lead()
