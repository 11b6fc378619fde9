"""Whatever happens, nobody is hurt, and in the end the NodeSizes tell the truth."""

import itertools

import pytest
from tests.campaign import length
from tests.scenarios.nodesize.histories import live

from flexlet.testing.simtime import run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", range(4))
def test_nobody_is_ever_hurt(seed: int) -> None:
    history = run(live(seed, 80))
    assert history.watcher.faults == []
    assert history.watcher.resizes > 5


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_thousands_of_resizes_hurt_nobody() -> None:
    wanted = length(1000, 10_000)
    resizes = refused = kills = 0
    for seed in itertools.count(1000):
        history = run(live(seed, 1000))
        assert history.watcher.faults == [], f"seed {seed}"
        resizes, refused = resizes + history.watcher.resizes, refused + history.answers.refused
        kills += history.kills
        if resizes >= wanted:
            break
    print(f"{resizes} resizes, {refused} wishes refused, {kills} controllers killed, no victim")  # noqa: T201 the figures
    assert min(refused, kills) > wanted // 100
