"""How fast requests may follow one another."""

import asyncio

import pytest
from tests.engine.fakes import FakeClock, ManualClock

from flexlet.adapters.kube.pace import Pace


async def test_a_burst_goes_through_and_the_rest_keeps_the_rate() -> None:
    clock = ManualClock()
    pace = Pace(2, 3, clock)
    sent: list[float] = []

    async def send() -> None:
        await pace.turn()
        sent.append(clock.now() - start)

    start = clock.now()
    tasks = [asyncio.create_task(send()) for _ in range(6)]
    for _ in range(4):
        await asyncio.sleep(0)
        clock.advance(0.5)
    await asyncio.gather(*tasks)
    assert sent == [0, 0, 0, 0.5, 1.0, 1.5]


async def test_the_bucket_holds_no_more_than_a_burst() -> None:
    clock = FakeClock()
    pace = Pace(1, 2, clock)
    clock.time += 1000
    for _ in range(3):
        await pace.turn()
    assert clock.slept == [1.0]


@pytest.mark.parametrize("rate", [0, -1])
async def test_no_rate_slows_nobody(rate: float) -> None:
    clock = FakeClock()
    pace = Pace(rate, 1, clock)
    for _ in range(10):
        await pace.turn()
    assert clock.slept == []
