"""Keeps an agent to its share of a host that has several, as their common ledger has it (balloon.md §10).

The ledger is asked when pods or the size of the node have changed, and now and then to renew the lease. What it
grants is told to whoever decides about pods after it is on disk, and what is given back, before. An agent that
cannot reach it until its lease has ended lets nobody in: others may have taken its share.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

import msgspec

from flexlet.api.pod import ResourceList
from flexlet.core.agent import ballooning
from flexlet.core.agent.world import World
from flexlet.core.machine.sharing import Share
from flexlet.core.nodesize import sizes
from flexlet.core.nodesize.sizes import Amounts
from flexlet.core.resize import triggers
from flexlet.core.shares import ledger
from flexlet.core.shares.ledger import Claim
from flexlet.engine.agent.loop import AgentLoop, Change
from flexlet.engine.agent.resizing.publishing import applied
from flexlet.engine.pause import pause
from flexlet.errors import FlexletError
from flexlet.ports.clock import Clock
from flexlet.ports.hostledger import HostLedger

log: Final = logging.getLogger(__name__)

_AGAIN_S: Final = 5.0

Asking = Callable[[bytes | None], Claim]
"""What to ask for, of the ledger as it is."""


class Hosting:
    """One agent's entry in the ledger. `begin` before pods are decided about, `run` when all of them are known."""

    def __init__(self, name: str, book: HostLedger, part: Share, loop: AgentLoop, clock: Clock) -> None:
        self._name = name
        self._book = book
        self._part = part
        self._loop = loop
        self._clock = clock
        self._granted: Amounts = dict(sizes.NOTHING)
        self._wanted: Amounts = {}
        self._until = 0.0
        self._changed = asyncio.Event()
        self._seen: tuple[object, ...] = ()
        loop.watchers.append(self._look)

    async def begin(self, allocatable: ResourceList) -> None:
        """Take up the share of an agent before this one, or a first one; HostError, InputError if that fails."""
        whole, now = sizes.of(allocatable), self._clock.now()
        await self._ask(lambda raw: ledger.begun(raw, self._name, whole, self._part, now))

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            self._changed.clear()
            try:
                await self._keep()
            except FlexletError as error:
                log.warning("cannot claim this agent's share of the host, trying again: %s", error)
                self._expire()
                await pause(self._changed, self._clock, _AGAIN_S)
            else:
                # Who did not get all of it asks again soon: another agent may give some back.
                is_short = self._granted != self._wanted
                await pause(self._changed, self._clock, _AGAIN_S if is_short else ledger.RENEW_S)

    async def _keep(self) -> None:
        claim = self._claim()
        is_fresh = self._clock.now() < self._until - ledger.LEASE_S + ledger.RENEW_S
        if is_fresh and claim.wanted == self._wanted == self._granted:
            return
        less = sizes.smallest(claim.wanted, self._granted)
        if less != self._granted:
            # Whoever was let in before this was known keeps what it has.
            await applied(self._loop, _claimed(less))
            claim = self._claim()
        await self._ask(lambda _: claim)

    def _claim(self) -> Claim:
        world = self._loop.world
        whole = sizes.of(world.setup.allocatable)
        effective = ballooning.effective(world) if ballooning.balloons(world) else None
        wanted = ledger.wanted(effective, ballooning.workload(world), whole, self._part)
        return Claim(agent=self._name, whole=whole, wanted=wanted)

    async def _ask(self, asked: Asking) -> None:
        now = self._clock.now()
        granted: Amounts = {}

        def change(raw: bytes | None) -> bytes:
            nonlocal granted
            claim = asked(raw)
            self._wanted = claim.wanted
            data, granted = ledger.claimed(raw, claim, now)
            return data

        await self._book.change(change)
        self._until = now + ledger.LEASE_S
        self._tell(granted)

    def _expire(self) -> None:
        if self._clock.now() >= self._until and any(self._granted.values()):
            log.warning("the lease on this agent's share of the host has ended: nobody is let in")
            self._tell(dict(sizes.NOTHING))

    def _tell(self, granted: Amounts) -> None:
        self._granted = granted
        self._loop.tell(_claimed(granted))

    def _look(self, before: World, after: World) -> None:
        """Only pods and the size of the node matter."""
        del before
        seen = (after.pods, after.setup.allocatable)
        if not self._seen or any(a is not b for a, b in zip(seen, self._seen, strict=True)):
            self._seen = seen
            self._changed.set()


def _claimed(granted: Amounts) -> Change:
    """Waiting resizes are looked at when there is more."""

    def change(world: World) -> World:
        known = world.claim
        if known == granted:
            return world
        grew = known is not None and any(granted[name] > known.get(name, 0) for name in granted)
        told = msgspec.structs.replace(world, claim=granted)
        return told.because(triggers.NODE_RESIZED if grew else None)

    return change
