"""Whatever happens, nobody is hurt, and in the end the NodeSizes tell the truth."""

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
    resizes, seed = 0, 1000
    while resizes < 10_000:
        history = run(live(seed, 1000))
        assert history.watcher.faults == [], f"seed {seed}"
        resizes, seed = resizes + history.watcher.resizes, seed + 1
