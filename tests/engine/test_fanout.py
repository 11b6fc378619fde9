"""One feed for many."""

import asyncio

from tests.engine.fakes import FakeClock, FakeCluster

from flexlet.core.observations import Observation
from flexlet.engine.fanout import Fanout
from flexlet.engine.feed import Feed
from flexlet.ports.cluster import PODS


class Listener:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.heard: list[Observation] = []

    def hear(self, batch: list[Observation]) -> None:
        self.heard += batch


async def test_every_reader_is_told_the_same_objects_once_decoded() -> None:
    """The cost of a change must not depend on the number of deciders."""
    cluster = FakeCluster()
    cluster.put("pods", {"metadata": {"name": "a", "namespace": "default"}})
    fanout = Fanout(Feed(cluster, FakeClock(), PODS))
    first, second = Listener(), Listener()
    fanout.join(first.hear)
    fanout.join(second.hear)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(fanout.run())
        for _ in range(10):
            await asyncio.sleep(0)
        task.cancel()
    assert len(first.heard) == 1
    assert first.heard[0] is second.heard[0]
    assert fanout.ref == PODS
