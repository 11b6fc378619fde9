"""Whatever happens, a pod holds what its machine has, and in the end FlexVMs tell the truth."""

import pytest
from tests.campaign import length
from tests.scenarios.vm.histories import live

from flexlet.testing.simtime import run


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_the_pod_always_holds_its_machine(seed: int) -> None:
    history = run(live(seed, 40))
    assert history.stage.eyes.faults == []
    assert "flexlet_vm_invariant_violations_total 0\n" in history.stage.metrics()


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_lives_hold() -> None:
    wishes = kills = resets = crashes = cuts = moves = 0
    ends: dict[str, int] = {}
    lives = length(12, 60)
    for seed in range(1000, 1000 + lives):
        history = run(live(seed, 200))
        assert history.stage.eyes.faults == [], f"seed {seed}"
        assert "flexlet_vm_invariant_violations_total 0\n" in history.stage.metrics()
        wishes, kills, resets = wishes + history.wishes, kills + history.kills, resets + history.resets
        crashes, cuts, moves = crashes + history.crashes, cuts + history.cuts, moves + history.arrived
        ends = {phase: ends.get(phase, 0) + history.ends.get(phase, 0) for phase in {*ends, *history.ends}}
    told = f"{wishes} wishes, {kills} controllers killed, {cuts} lines cut, {resets} reboots, {crashes} crashes"
    told += f", {moves} moves"
    print(f"{told}: {ends}")  # noqa: T201 the figures
    assert min(wishes, kills, resets, crashes, cuts, moves) > lives
