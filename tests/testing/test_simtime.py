"""Time that jumps: nobody waits, and everything happens when it is due."""

import asyncio

import pytest

from flexlet.errors import InvariantBroken
from flexlet.testing import SimClock, idle, run
from flexlet.testing.simtime import EPOCH


def test_sleepers_wake_in_the_order_of_time() -> None:
    """At exactly their time, however far that is."""

    async def story() -> list[tuple[str, float]]:
        clock, woken = SimClock(), list[tuple[str, float]]()

        async def sleep(name: str, seconds: float) -> None:
            await clock.sleep(seconds)
            woken.append((name, clock.now() - EPOCH))

        await asyncio.gather(sleep("day", 86400), sleep("second", 1), sleep("minute", 60))
        return woken

    assert run(story()) == [("second", 1.0), ("minute", 60.0), ("day", 86400.0)]


def test_time_stands_still_while_somebody_can_work() -> None:
    """`idle` returns when everybody has done what can be done now."""

    async def story() -> tuple[int, float]:
        clock, done = SimClock(), list[int]()

        async def work() -> None:
            for number in range(100):
                await asyncio.sleep(0)
                done.append(number)

        working = asyncio.ensure_future(work())
        await idle()
        await working
        return len(done), clock.monotonic()

    assert run(story()) == (100, 0.0)


def test_timeouts_are_in_simulated_time() -> None:
    """Whatever asyncio does with time is done with this one."""

    async def story() -> float:
        clock = SimClock()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3600):
                await asyncio.Event().wait()
        return clock.monotonic()

    assert run(story()) == 3600.0


def test_work_for_threads_is_done_on_the_spot() -> None:
    """Errors come back to whoever waits, as from a thread."""

    async def story() -> tuple[int, str]:
        found = await asyncio.to_thread(lambda: 6 * 7)
        with pytest.raises(ZeroDivisionError) as raised:
            await asyncio.to_thread(lambda: 1 // 0)
        return found, str(raised.value)

    assert run(story()) == (42, "integer division or modulo by zero")


def test_nobody_waits_for_ever() -> None:
    """A story in which nothing can happen any more is a mistake, not a hang."""

    async def story() -> None:
        await asyncio.Event().wait()

    with pytest.raises(InvariantBroken, match="will never happen"):
        run(story())
