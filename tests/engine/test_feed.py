"""What a feed tells, whatever happens to its watch."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.engine.fakes import FakeClock, FakeCluster

from flexlet.api import status
from flexlet.core.faults import Faults
from flexlet.core.observations import Observation, Seen, Vanished
from flexlet.core.views import objects
from flexlet.core.views.objects import ObjectView, Viewer
from flexlet.engine.feed import Feed
from flexlet.ports.cluster import PODS

TRIPLE = ("", "v1", "pods")


def pod(name: str, uid: str = "") -> dict[str, object]:
    return {"metadata": {"name": name, "namespace": "default", "uid": uid or f"uid-{name}"}}


def told(batch: list[Observation]) -> list[tuple[str, str]]:
    """Kind and uid of what was told."""
    found = []
    for one in batch:
        assert isinstance(one, Seen | Vanished)
        uid = one.uid if isinstance(one, Vanished) else one.view.uid if one.view else ""
        found.append((type(one).__name__, uid))
    return found


class Listener:
    """Collects batches until the test has seen enough."""

    def __init__(self) -> None:
        self.batches: list[list[Observation]] = []

    async def listen(self, feed: Feed) -> None:
        async for batch in feed.batches():
            self.batches.append(batch)

    async def next(self) -> list[Observation]:
        for _ in range(100):
            if self.batches:
                return self.batches.pop(0)
            await asyncio.sleep(0)
        raise AssertionError("nothing was told")

    async def quiet(self) -> bool:
        for _ in range(50):
            await asyncio.sleep(0)
        return not self.batches


@asynccontextmanager
async def listening(
    cluster: FakeCluster, clock: FakeClock, faults: Faults | None = None, viewer: Viewer = objects.view
) -> AsyncIterator[Listener]:
    listener = Listener()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(listener.listen(Feed(cluster, clock, PODS, faults=faults, viewer=viewer)))
        yield listener
        task.cancel()


async def test_the_first_batch_is_the_list_and_changes_follow() -> None:
    cluster = FakeCluster()
    raw = cluster.put("pods", pod("a"))
    async with listening(cluster, FakeClock()) as listener:
        first = await listener.next()
        assert told(first) == [("Seen", "uid-a")]
        assert isinstance(first[0], Seen)
        assert (first[0].ref, first[0].raw, first[0].revision) == (TRIPLE, raw, 1)
        cluster.put("pods", pod("b"))
        assert told(await listener.next()) == [("Seen", "uid-b")]
        cluster.drop("pods", "default", "a")
        assert await listener.next() == [Vanished(TRIPLE, "default", "a", "uid-a")]


async def test_an_empty_list_is_told_too() -> None:
    """Otherwise a loop could not know that everything was listed."""
    async with listening(FakeCluster(), FakeClock()) as listener:
        assert await listener.next() == []


async def test_a_watch_that_ends_goes_on_where_it_was() -> None:
    """Servers end watches every few minutes; listing ten thousand pods each time would be waste."""
    cluster, clock = FakeCluster(), FakeClock()
    async with listening(cluster, clock) as listener:
        await listener.next()
        cluster.put("pods", pod("a"))
        await listener.next()
        cluster.refuse["list"] = status.failure(500)
        cluster.end_watches()
        cluster.put("pods", pod("b"))
        assert told(await listener.next()) == [("Seen", "uid-b")]


async def test_a_watch_that_ends_at_once_is_followed_by_a_list() -> None:
    """Its version may be too old to be watched from."""
    cluster = FakeCluster()
    cluster.put("pods", pod("a"))
    cluster.put("pods", pod("b"))
    async with listening(cluster, FakeClock()) as listener:
        await listener.next()
        cluster.end_watches()
        cluster.objects.pop(("pods", "default", "a"))
        assert told(await listener.next()) == [("Vanished", "uid-a"), ("Seen", "uid-b")]


async def test_a_name_taken_over_vanishes_before_its_successor_is_seen() -> None:
    cluster = FakeCluster()
    cluster.put("pods", pod("a", uid="old"))
    async with listening(cluster, FakeClock()) as listener:
        await listener.next()
        cluster.end_watches()
        cluster.objects["pods", "default", "a"]["metadata"]["uid"] = "new"
        assert told(await listener.next()) == [("Vanished", "old"), ("Seen", "new")]


async def test_pauses_grow_while_the_server_is_in_trouble() -> None:
    cluster, clock = FakeCluster(), FakeClock()
    cluster.refuse["list"] = status.failure(503)
    async with listening(cluster, clock) as listener:
        assert await listener.quiet()
        del cluster.refuse["list"]
        assert await listener.next() == []
    assert clock.slept[:5] == [0.05, 0.1, 0.2, 0.4, 0.8]
    assert max(clock.slept) <= 10.0


def picky(raw: bytes) -> tuple[ObjectView, int]:
    """A view that did not foresee pods called bad."""
    view, revision = objects.view(raw)
    if view.name == "bad":
        raise KeyError("spec")
    return view, revision


async def test_an_object_that_cannot_be_read_is_left_out_and_not_gone() -> None:
    """In the list, in the watch and in the list after it; a feed goes on where it was."""
    cluster, faults = FakeCluster(), Faults()
    for name in ("bad", "a"):
        cluster.put("pods", pod(name))
    async with listening(cluster, FakeClock(), faults, picky) as listener:
        assert told(await listener.next()) == [("Seen", "uid-a")]
        cluster.put("pods", pod("bad"), "MODIFIED")
        assert await listener.next() == []
        cluster.put("pods", pod("b"))
        assert told(await listener.next()) == [("Seen", "uid-b")]
        cluster.end_watches()
        cluster.put("pods", pod("c"))
        assert told(await listener.next()) == [("Seen", "uid-c")]
    assert (faults.count("feed of pods"), faults.held("feed of pods")) == (2, frozenset({"default/bad"}))


async def test_what_became_unreadable_is_not_taken_for_gone() -> None:
    """A pod that was shown once and cannot be read in the next list stays as it was shown."""
    cluster, faults, is_picky = FakeCluster(), Faults(), False

    def viewer(raw: bytes) -> tuple[ObjectView, int]:
        return picky(raw) if is_picky else objects.view(raw)

    for name in ("bad", "a"):
        cluster.put("pods", pod(name))
    async with listening(cluster, FakeClock(), faults, viewer) as listener:
        assert told(await listener.next()) == [("Seen", "uid-bad"), ("Seen", "uid-a")]
        is_picky = True
        cluster.end_watches()
        assert told(await listener.next()) == [("Seen", "uid-a")]
    assert faults.held("feed of pods") == frozenset({"default/bad"})


async def test_bytes_that_are_no_object_end_no_feed() -> None:
    """Nobody knows which object it was, so none is taken for gone."""
    cluster, faults = FakeCluster(), Faults()
    cluster.put("pods", pod("a"))
    cluster.put("pods", pod("odd"))
    async with listening(cluster, FakeClock(), faults) as listener:
        assert told(await listener.next()) == [("Seen", "uid-a"), ("Seen", "uid-odd")]
        cluster.objects["pods", "default", "odd"] = {"metadata": 7}
        cluster.end_watches()
        assert told(await listener.next()) == [("Seen", "uid-a")]
    assert faults.held("feed of pods") == frozenset({"<unreadable>"})
