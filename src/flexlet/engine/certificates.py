"""Keeping a certificate current: ask, wait for approval, store, tell, and start again before it ends.

One keeper per certificate, one request at a time. What to do next is decided in `core.certificates.rotation`; here
it is done. Nothing is lost by a crash: an unanswered request is abandoned, and the next start asks anew. Whoever
uses the certificate is told after it is on disk, and before the keeper goes on.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Final

import msgspec

from flexlet.api import age
from flexlet.api.status import ApiError
from flexlet.core.certificates import rotation
from flexlet.core.certificates.answers import Answer, Issued, Pending, Refused, answer, identity
from flexlet.core.certificates.rotation import Abandon, Ask, Asked, Await, Rest, State
from flexlet.core.certificates.wanted import Held, Wanted, request_body
from flexlet.engine.pause import pause
from flexlet.errors import FlexletError
from flexlet.ports.certificates import CertificateStore, Draft
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Change, Cluster, Ref

CSRS: Final = Ref("certificates.k8s.io", "v1", "certificatesigningrequests")
_RETRY_S: Final = 1.0
_LONGEST_REST_S: Final = 3600.0  # a machine that was suspended has not counted the time

log: Final = logging.getLogger(__name__)

OnChange = Callable[[str], Awaitable[None]]
"""Told the path of the file that holds the new pair."""


class CertificateStatistics(msgspec.Struct, frozen=True):
    """What metrics show: when the certificate ends, how often renewing went well and wrong."""

    ends: float | None
    renewals: int
    failures: int


class Keeper:
    """Keeps one certificate current until cancelled.

    `wanted` says what the certificate should be now, None while that is unknown; call `wake` when its answer may
    have changed. `chance` gives numbers from 0 to 1, one for each certificate.
    """

    def __init__(
        self,
        cluster: Cluster,
        clock: Clock,
        store: CertificateStore,
        wanted: Callable[[], Wanted | None],
        *,
        on_change: OnChange,
        chance: Callable[[], float],
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._store = store
        self._wanted = wanted
        self._on_change = on_change
        self._chance = chance
        self._state = State(wanted=None, fraction=chance())
        self._key = b""
        self._woken = asyncio.Event()
        self._renewals = self._failures = 0

    @property
    def held(self) -> Held | None:
        """The current certificate."""
        return self._state.held

    def statistics(self) -> CertificateStatistics:
        """How it went so far."""
        ends = self.held.ends if self.held else None
        return CertificateStatistics(ends, self._renewals, self._failures)

    def wake(self) -> None:
        """Look again at what is wanted."""
        self._woken.set()

    async def run(self) -> None:
        """Until cancelled."""
        self._learn(held=await self._store.load())
        while True:
            self._woken.clear()
            self._learn(wanted=self._wanted())
            match rotation.decide(self._state, self._clock.now()):
                case Rest(until):
                    await self._rest(until)
                case Ask(wanted):
                    await self._ask(wanted)
                case Await(asked):
                    await self._await(asked)
                case Abandon(asked, late):
                    self._abandon(asked, late)

    def _learn(self, **facts: object) -> None:
        self._state = msgspec.structs.replace(self._state, **facts)

    async def _ask(self, wanted: Wanted) -> None:
        try:
            draft = await self._store.draft(wanted)
            asked = await submit(self._cluster, wanted, draft, self._clock.now() + rotation.PATIENCE_S)
        except FlexletError as error:
            self._fail(str(error))
            return
        self._key = draft.key
        self._learn(asked=asked)

    async def _await(self, asked: Asked) -> None:
        async with asyncio.TaskGroup() as group:
            follow = group.create_task(outcome(self._cluster, self._clock, asked))
            alarm = group.create_task(self._rest(asked.until))
            await asyncio.wait((follow, alarm), return_when=asyncio.FIRST_COMPLETED)
            found = follow.result() if follow.done() else Pending()
            follow.cancel()
            alarm.cancel()
        if isinstance(found, Issued):
            await self._store_issued(found)
        elif isinstance(found, Refused):
            self._fail(found.why)

    async def _store_issued(self, issued: Issued) -> None:
        try:
            held = await self._store.save(issued.certificate, self._key)
        except FlexletError as error:
            self._fail(str(error))
            return
        self._renewals += 1
        self._state = State(wanted=self._state.wanted, held=held, fraction=self._chance())
        ends = age.format_seconds(held.ends)
        told = {"path": self._store.path, "ends": held.ends}
        log.info("certificate renewed path=%s ends=%s", self._store.path, ends, extra=told)
        await self._on_change(self._store.path)

    def _abandon(self, asked: Asked, late: bool) -> None:
        if late:
            self._fail(f"nobody approved the request {asked.name}; see `kubectl get csr`")
        else:
            self._learn(asked=None)

    def _fail(self, why: str) -> None:
        self._failures += 1
        now = self._clock.now()
        self._learn(asked=None, failures=self._state.failures + 1, failed_at=now)
        told = {"path": self._store.path, "error": why}
        log.warning('certificate not renewed path=%s error="%s"', self._store.path, why, extra=told)

    async def _rest(self, until: float | None) -> None:
        """Until that time, or until somebody wakes us."""
        seconds = None if until is None else min(max(0.0, until - self._clock.now()), _LONGEST_REST_S)
        await pause(self._woken, self._clock, seconds)


async def submit(cluster: Cluster, wanted: Wanted, draft: Draft, until: float) -> Asked:
    """Send a request; the server's ApiError if it does not take it."""
    raw = await cluster.create(CSRS, "", request_body(wanted, draft.csr, draft.name))
    name, uid = identity(raw)
    return Asked(name=name, uid=uid, wanted=wanted, until=until)


async def outcome(cluster: Cluster, clock: Clock, asked: Asked) -> Answer:
    """Issued or Refused, as soon as it is known; trouble with the server only delays it."""
    while True:
        try:
            found = await _followed(cluster, asked)
        except ApiError as error:
            log.info("waiting for a certificate", extra={"csr": asked.name, "error": str(error)})
        else:
            if not isinstance(found, Pending):
                return found
        await clock.sleep(_RETRY_S)


async def _followed(cluster: Cluster, asked: Asked) -> Answer:
    """List, then watch until the watch ends."""
    selector = f"metadata.name={asked.name}"
    listing = await cluster.list(CSRS, field_selector=selector)
    mine = [raw for raw in listing.items if identity(raw)[0] == asked.name]
    if not mine:
        return Refused(f"somebody deleted the request {asked.name}")
    found = answer(mine[0], asked.name, asked.uid)
    if not isinstance(found, Pending):
        return found
    changes = cluster.watch(CSRS, listing.resource_version, field_selector=selector)
    try:
        async for batch in changes:
            found = _first(batch, asked)
            if not isinstance(found, Pending):
                return found
    finally:
        # The answer comes long before the stream ends: let go of its connection now.
        if isinstance(changes, AsyncGenerator):
            await changes.aclose()
    return Pending()


def _first(batch: Sequence[Change], asked: Asked) -> Answer:
    for change in batch:
        if change.type == "DELETED" and identity(change.object) == (asked.name, asked.uid):
            return Refused(f"somebody deleted the request {asked.name}")
        found = answer(change.object, asked.name, asked.uid)
        if not isinstance(found, Pending):
            return found
    return Pending()
