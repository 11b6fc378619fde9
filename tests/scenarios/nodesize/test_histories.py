"""Whatever happens, nobody is hurt, and in the end the NodeSizes tell the truth."""

import itertools

import pytest
from tests.scenarios.nodesize.histories import live

from flexlet.testing.simtime import run


@pytest.mark.parametrize("seed", range(4))
def test_nobody_is_ever_hurt(seed: int) -> None:
    history = run(live(seed, 80))
    assert history.watcher.faults == []
    assert history.watcher.resizes > 5


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_ten_thousand_resizes_hurt_nobody() -> None:
    resizes = refused = kills = 0
    for seed in itertools.count(1000):
        history = run(live(seed, 1000))
        assert history.watcher.faults == [], f"seed {seed}"
        resizes, refused = resizes + history.watcher.resizes, refused + history.answers.refused
        kills += history.kills
        if resizes >= 10_000:
            break
    print(f"{resizes} resizes, {refused} wishes refused, {kills} controllers killed, no victim")  # noqa: T201 the figures
    assert min(refused, kills) > 100
