"""Fold, decide, act: one loop per decider.

The loop waits until every feed has listed, folds whatever has arrived, decides, runs the plan's actions to the
end, folds the answers, and only then looks at the feeds again. So a decider never decides on a world that lacks
the results of its own last plan. A round in which every action failed is followed by a pause that grows while the
failures last, so that a server in trouble is not hammered.
"""

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol

from flexlet.core.actions import ApiPlan
from flexlet.core.observations import Failed, Observation
from flexlet.engine.executor import Executor
from flexlet.engine.feed import Feed
from flexlet.ports.clock import Clock

_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 5.0


class Decider(Protocol):
    """A controller's pure half."""

    name: str

    def fold(self, observation: Observation) -> None:
        """Learn one thing."""
        ...

    def decide(self, now: float) -> ApiPlan:
        """What to do now; `now` is wall-clock seconds since the epoch."""
        ...


class Loop:
    """Runs one decider over its feeds."""

    def __init__(self, decider: Decider, feeds: Sequence[Feed], executor: Executor, clock: Clock) -> None:
        self._decider = decider
        self._feeds = feeds
        self._executor = executor
        self._clock = clock
        self._inbox: list[Observation] = []
        self._arrived = asyncio.Event()
        self._unlisted = len(feeds)
        self._pause = 0.0
        self.rounds = 0

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for feed in self._feeds:
                group.create_task(self._pump(feed))
            await self._drive()

    async def _pump(self, feed: Feed) -> None:
        first = True
        async for batch in feed.batches():
            self._inbox.extend(batch)
            if first:
                self._unlisted -= 1
                first = False
            if not self._unlisted:
                self._arrived.set()

    async def _drive(self) -> None:
        await self._arrived.wait()
        while True:
            self._arrived.clear()
            inbox, self._inbox = self._inbox, []
            self._fold_all(inbox)
            plan = self._decider.decide(self._clock.now())
            self.rounds += 1
            if plan.actions:
                results = await self._executor.run(plan.actions)
                self._fold_all(results)
                await self._back_off(sum(isinstance(r, Failed) for r in results) == len(plan.actions))
            elif not self._inbox:
                await self._sleep_until(plan.wake_at)
            await asyncio.sleep(0)

    async def _back_off(self, failed: bool) -> None:
        self._pause = min(max(self._pause * 2, _FIRST_PAUSE_S), _LONGEST_PAUSE_S) if failed else 0.0
        if failed:
            await self._clock.sleep(self._pause)

    def _fold_all(self, observations: Sequence[Observation]) -> None:
        for observation in observations:
            self._decider.fold(observation)

    async def _sleep_until(self, wake_at: float | None) -> None:
        """Until something arrives, or the time the decider asked for (wall-clock seconds)."""
        arrived = asyncio.ensure_future(self._arrived.wait())
        waits: set[asyncio.Future[object]] = {arrived}  # type: ignore[arg-type]
        if wake_at is not None:
            pause = max(0.0, wake_at - self._clock.now())
            waits.add(asyncio.ensure_future(self._clock.sleep(pause)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
