"""Noticing what happens in the runtime."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from tests.engine.fakes import ManualClock

from flexlet.core.runtime.shown import Glimpse
from flexlet.engine.agent.watching import Watching
from flexlet.errors import RuntimeFault


class Runtime:
    """Shows what it is told to; its events come from a queue, None ends the stream."""

    def __init__(self) -> None:
        self.shown: tuple[Glimpse, ...] = ()
        self.away = False
        self.queue: asyncio.Queue[str | None] = asyncio.Queue()
        self.looks = 0

    async def overview(self) -> tuple[Glimpse, ...]:
        self.looks += 1
        if self.away:
            raise RuntimeFault("away")
        return self.shown

    async def events(self) -> AsyncIterator[str]:
        while (uid := await self.queue.get()) is not None:
            yield uid
        raise RuntimeFault("the stream broke")


def glimpse(uid: str, state: str = "RUNNING") -> Glimpse:
    return Glimpse(uid=uid, id=f"id-{uid}", state=state)


class Watch:
    """A watching, its runtime, and who was looked at."""

    def __init__(self) -> None:
        self.runtime = Runtime()
        self.clock = ManualClock()
        self.looked: list[str] = []
        self.fails = False
        given: Any = self.runtime
        self.watching = Watching(given, self.clock, self.look)

    async def look(self, uid: str) -> None:
        if self.fails:
            raise RuntimeFault("away")
        self.looked.append(uid)

    async def seen(self, *shown: Glimpse) -> list[str]:
        """Who is looked at when the runtime shows this."""
        self.runtime.shown = shown
        self.looked.clear()
        await self.watching.look_over()
        return sorted(self.looked)


async def test_the_first_look_is_only_remembered_and_later_ones_find_what_changed() -> None:
    watch = Watch()
    found = [
        await watch.seen(glimpse("a"), glimpse("b")),
        await watch.seen(glimpse("b"), glimpse("a")),
        await watch.seen(glimpse("a", "EXITED"), glimpse("b"), glimpse("c")),
        await watch.seen(glimpse("c")),
    ]
    assert (found, watch.watching.known) == ([[], [], ["a", "c"], ["a", "b"]], ("c",))


async def test_a_runtime_that_does_not_answer_is_asked_again_and_its_silence_is_known() -> None:
    watch = Watch()
    await watch.seen(glimpse("a"))
    before = watch.watching.last_look_at
    watch.clock.advance(60)
    watch.runtime.away = True
    assert (await watch.seen(), watch.watching.last_look_at, watch.watching.known) == ([], before, ("a",))
    watch.runtime.away = False
    assert (await watch.seen(), watch.watching.last_look_at) == (["a"], before + 60)


async def test_a_pod_that_could_not_be_looked_at_is_looked_at_the_next_time() -> None:
    watch = Watch()
    await watch.seen()
    watch.fails = True
    assert await watch.seen(glimpse("a")) == []
    watch.fails = False
    assert await watch.seen(glimpse("a")) == ["a"]


async def test_events_are_followed_at_once_and_while_they_flow_looks_are_rare() -> None:
    watch = Watch()
    task = asyncio.ensure_future(watch.watching.run())

    async def settle() -> None:
        for _ in range(10):
            await asyncio.sleep(0)

    await settle()
    watch.runtime.queue.put_nowait("a")
    await settle()
    assert (watch.looked, watch.runtime.looks) == (["a"], 1)
    watch.clock.advance(1.0)
    await settle()
    assert watch.runtime.looks == 2
    watch.clock.advance(5.0)
    await settle()
    assert watch.runtime.looks == 2
    watch.clock.advance(5.0)
    await settle()
    assert watch.runtime.looks == 3
    # The stream breaks: the next look still comes after the long pause, later ones every second.
    watch.runtime.queue.put_nowait(None)
    await settle()
    watch.clock.advance(10.0)
    await settle()
    watch.clock.advance(1.0)
    await settle()
    assert watch.runtime.looks == 5
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
