"""Random lives: whatever happens in whatever order, a pod never has less than its guest."""

import pytest
from tests.core.vm.lives import Life


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 60, 15))
def test_a_pod_never_has_less_than_its_guest(start: int) -> None:
    for seed in range(start, start + 15):
        life = Life(seed)
        life.begin()
        for _ in range(120):
            life.step()
        life.calm()
        assert (seed, life.faults, life.violations, life.complaint()) == (seed, [], 0, "")
