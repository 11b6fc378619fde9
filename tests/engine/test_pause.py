"""A pause ends with news, or when its time is up."""

import asyncio

import pytest

from flexlet.engine.pause import pause
from flexlet.testing import SimClock, idle, run


async def _ends(news_after_s: float, at_most_s: float | None) -> tuple[bool, float, bool]:
    """Whether the time was up, how long it took, and whether the news are there then."""
    news, clock = asyncio.Event(), SimClock()
    asyncio.get_running_loop().call_later(news_after_s, news.set)
    began = clock.monotonic()
    was_up = await pause(news, clock, at_most_s)
    return was_up, clock.monotonic() - began, news.is_set()


@pytest.mark.parametrize(
    ("news_after_s", "at_most_s", "found"),
    [(2.0, 5.0, (False, 2.0, True)), (5.0, 2.0, (True, 2.0, True)), (5.0, None, (False, 5.0, True))],
)
def test_a_pause_ends_with_whatever_comes_first(
    news_after_s: float, at_most_s: float | None, found: tuple[bool, float, bool]
) -> None:
    assert run(_ends(news_after_s, at_most_s)) == found


async def _leaves_nothing(news: asyncio.Event, at_most_s: float) -> bool:
    news.set()
    assert not await pause(news, SimClock(), at_most_s)
    news.clear()
    await asyncio.sleep(2 * at_most_s)
    await idle()
    return news.is_set()


def test_a_pause_that_is_over_rings_no_more() -> None:
    """Otherwise the next pause would end too early, for nothing."""
    assert not run(_leaves_nothing(asyncio.Event(), 3.0))
