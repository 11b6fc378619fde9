"""Waiting for news, but not longer than for a while."""

import asyncio

from flexlet.ports.clock import Clock


async def pause(news: asyncio.Event, clock: Clock, at_most_s: float | None) -> bool:
    """Wait for news; None: however long it takes. True if the time was up, which then counts as news."""
    if at_most_s is None:
        await news.wait()
        return False
    alarm = asyncio.ensure_future(_ring(news, clock, at_most_s))
    try:
        await news.wait()
        return alarm.done()
    finally:
        alarm.cancel()


async def _ring(news: asyncio.Event, clock: Clock, seconds: float) -> None:
    await clock.sleep(seconds)
    news.set()
