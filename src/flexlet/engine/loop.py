"""Fold, decide, act: one loop per decider.

What feeds bring is folded at once, in the one thread of all loops, so nothing piles up. Deciding starts when every
feed has listed. Then, round by round: decide, run the plan's actions to the end, fold the answers, decide again;
so a decider never decides on a world that lacks the results of its own last plan, nor on one that was turned back
by news older than these (`freshness`). A round without actions ends in waiting for a feed or for the time the
plan names.

A fault is an object's, not the loop's: an observation that the decider cannot take is left out, a look that fails
is named by the plan, and a decision that fails as a whole is made again after a pause; each is counted and told of
once per back-off.

A round in which every action failed is followed by a pause that grows while the failures last, so that a server
in trouble is not hammered; news from a feed, the sign that it is well, ends the pause.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, Protocol

import msgspec

from flexlet.core.actions import ApiPlan
from flexlet.core.actions import Ref as Triple
from flexlet.core.faults import Faults, LookFault
from flexlet.core.observations import Failed, Observation
from flexlet.engine.executor import Executor
from flexlet.engine.fanout import Fanout
from flexlet.engine.feed import Feed
from flexlet.engine.freshness import Freshness
from flexlet.engine.guard import Guard, name_of
from flexlet.engine.pause import pause
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Ref

_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 5.0
DECIDING: Final = "the decision"
"""Stands where an object's name does when deciding itself failed: what it failed on is not known."""


class Decider(Protocol):
    """A controller's pure half."""

    name: str

    def fold(self, observation: Observation) -> None:
        """Learn one thing."""
        ...

    def decide(self, now: float) -> ApiPlan:
        """What to do now; `now` is wall-clock seconds since the epoch."""
        ...


class LoopStatistics(msgspec.Struct, frozen=True):
    """How much a loop has done."""

    rounds: int
    actions: int
    failures: int


class Loop:
    """Runs one decider over feeds of its own and shared ones.

    With `pace_s` a loop that was woken waits that long before it decides, so that a burst of changes is one round.
    `open_feed` serves plans that ask to follow further resources.
    """

    def __init__(
        self,
        decider: Decider,
        feeds: Sequence[Feed],
        executor: Executor,
        clock: Clock,
        *,
        shared: Sequence[Fanout] = (),
        pace_s: float = 0.0,
        open_feed: Callable[[Triple], Feed] | None = None,
        faults: Faults | None = None,
    ) -> None:
        self._guard = Guard(decider.name, clock, faults)
        self.name = decider.name
        self._decider = decider
        self._feeds = feeds
        self._executor = executor
        self._clock = clock
        self._pace_s = pace_s
        self._open_feed = open_feed
        self._arrived = asyncio.Event()
        self._unlisted: set[object] = {*feeds, *shared}
        self._followed = {_triple(feed.ref) for feed in feeds} | {_triple(fanout.ref) for fanout in shared}
        self._freshness = Freshness(self._followed)
        self._pause = 0.0
        self.rounds = self._actions = self._failures = 0
        for fanout in shared:
            fanout.join(partial(self._take, fanout))

    def statistics(self) -> LoopStatistics:
        """Rounds, actions and failures so far."""
        return LoopStatistics(self.rounds, self._actions, self._failures)

    def wake(self) -> None:
        """Decide soon: the decider has learned something on another way than by a feed."""
        if not self._unlisted:
            self._arrived.set()

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for feed in self._feeds:
                group.create_task(self._pump(feed))
            await self._drive(group)

    async def _pump(self, feed: Feed) -> None:
        async for batch in feed.batches():
            self._take(feed, batch)

    def _take(self, source: object, batch: Iterable[Observation]) -> None:
        for observation in batch:
            if self._freshness.admits(observation):
                self._fold(observation)
        self._unlisted.discard(source)
        if not self._unlisted:
            self._arrived.set()

    def _fold(self, observation: Observation) -> None:
        with self._guard.over(name_of(observation)):
            self._decider.fold(observation)

    def _decide(self) -> ApiPlan | None:
        """A plan, None where deciding failed."""
        plans: list[ApiPlan] = []
        with self._guard.over(DECIDING):
            plans.append(self._decider.decide(self._clock.now()))
        return plans[0] if plans else None

    async def _drive(self, group: asyncio.TaskGroup) -> None:
        if self._unlisted:
            await self._arrived.wait()
        while True:
            self._arrived.clear()
            plan = self._decide()
            self.rounds += 1
            if plan is None:
                await self._back_off(failed=True)
                continue
            self._note(plan.faults)
            self._follow(plan.follow, group)
            if plan.actions:
                await self._act(plan)
            elif not self._arrived.is_set():
                await self._sleep_until(plan.wake_at)
                await self._keep_pace()
            await asyncio.sleep(0)

    def _note(self, faults: Iterable[LookFault]) -> None:
        for key, error in faults:
            if error is None:
                self._guard.ended(key)
            else:
                self._guard.take(key, error)

    async def _act(self, plan: ApiPlan) -> None:
        self._freshness.take_off()
        answers = await self._executor.run(plan.actions)
        failures = sum(isinstance(answer, Failed) for answer in answers)
        self._actions += len(plan.actions)
        self._failures += failures
        for answer in self._freshness.land(answers):
            self._fold(answer)
        await self._back_off(failures == len(plan.actions))

    def _follow(self, refs: Iterable[Triple], group: asyncio.TaskGroup) -> None:
        for ref in refs:
            if ref not in self._followed and self._open_feed is not None:
                self._followed.add(ref)
                group.create_task(self._pump(self._open_feed(ref)))

    async def _back_off(self, failed: bool) -> None:
        self._pause = min(max(self._pause * 2, _FIRST_PAUSE_S), _LONGEST_PAUSE_S) if failed else 0.0
        if failed and not self._arrived.is_set():
            await self._sleep_until(self._clock.now() + self._pause)

    async def _keep_pace(self) -> None:
        if self._pace_s:
            await self._clock.sleep(self._pace_s)

    async def _sleep_until(self, wake_at: float | None) -> None:
        """Until something arrives, or the time the decider asked for (wall-clock seconds)."""
        seconds = None if wake_at is None else max(0.0, wake_at - self._clock.now())
        await pause(self._arrived, self._clock, seconds)


def _triple(ref: Ref) -> Triple:
    return ref.group, ref.version, ref.plural
