"""One of several leads, and another one takes over when it is gone."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from flexlet.engine.nodesize.leadership import Leadership
from flexlet.ports.cluster import LEASES
from flexlet.testing.cluster import SimCluster, serving
from flexlet.testing.simtime import SimClock, run

PLACE = ("kube-system", "flexlet-nodesize-controller")


class Candidate:
    """A process that notes when it leads."""

    def __init__(self, sim: SimCluster, name: str, log: list[str]) -> None:
        self.name = name
        self._log = log
        self.leadership = Leadership(sim.cluster, sim.clock, *PLACE, name)
        self.task = asyncio.create_task(self.leadership.run(self._lead))

    async def _lead(self) -> None:
        self._log.append(f"{self.name} leads")
        try:
            await asyncio.Event().wait()
        finally:
            self._log.append(f"{self.name} stops")

    async def die(self) -> None:
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.task


def told(story: Callable[[SimCluster, list[str]], Awaitable[None]]) -> list[str]:
    async def stage() -> list[str]:
        log: list[str] = []
        async with serving(SimClock()) as sim:
            await story(sim, log)
        return log

    return run(stage())


def test_the_second_waits_until_the_first_is_silent_for_long() -> None:
    async def story(sim: SimCluster, log: list[str]) -> None:
        first = Candidate(sim, "a", log)
        await sim.clock.sleep(1)
        second = Candidate(sim, "b", log)
        await sim.clock.sleep(60)
        log.append("a dies")
        await first.die()
        await sim.clock.sleep(10)
        log.append("10 s later")
        await sim.clock.sleep(10)
        await second.die()

    assert told(story) == ["a leads", "a dies", "a stops", "10 s later", "b leads", "b stops"]


def test_who_goes_politely_is_followed_at_once() -> None:
    async def story(sim: SimCluster, log: list[str]) -> None:
        first, second = Candidate(sim, "a", log), Candidate(sim, "b", log)
        await sim.clock.sleep(5)
        await first.die()
        await first.leadership.release()
        await sim.clock.sleep(3)
        await second.die()

    assert told(story) == ["a leads", "a stops", "b leads", "b stops"]


def test_a_leader_whose_lease_was_taken_stops() -> None:
    async def story(sim: SimCluster, log: list[str]) -> None:
        first = Candidate(sim, "a", log)
        await sim.clock.sleep(5)
        taken = {"spec": {"holderIdentity": "thief", "renewTime": "2027-01-15T09:00:00.000000Z"}}
        await sim.cluster.patch(LEASES, *PLACE, taken)
        await sim.clock.sleep(5)
        log.append("5 s later")
        await first.die()

    assert told(story) == ["a leads", "a stops", "5 s later"]
