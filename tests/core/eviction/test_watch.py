from hypothesis import given
from hypothesis import strategies as st
from tests.core.eviction.candidates import MIB, NOW, below

from flexlet.core.eviction.signals import Level, Levels
from flexlet.core.eviction.watch import Watch, advance, is_crossed, pressures

HARD = below("memory.available", "100Mi")
SOFT = below("memory.available", "200Mi", grace=60)
DISK = below("nodefs.available", "10%")


def memory(mib: int, time: float = NOW) -> Levels:
    return {"memory.available": Level(mib * MIB, 1000 * MIB, time)}


def test_less_than_the_threshold_is_too_little() -> None:
    """Exactly as much is enough; what was not measured crosses nothing."""
    assert [is_crossed(HARD, memory(mib)) for mib in (99, 100)] == [True, False]
    disk = [is_crossed(DISK, {"nodefs.available": Level(left, 1000, NOW)}) for left in (99, 100)]
    assert disk == [True, False]
    assert not is_crossed(DISK, memory(1))
    assert not is_crossed(below("containerfs.available", "1Gi"), {"containerfs.available": Level(0, 1, NOW)})


def test_hard_thresholds_act_at_once_and_soft_ones_after_their_grace() -> None:
    watch, acting = advance(Watch(), [HARD, SOFT], memory(150), NOW)
    assert acting == ()
    watch, acting = advance(watch, [HARD, SOFT], memory(150, NOW + 59), NOW + 59)
    assert acting == ()
    watch, acting = advance(watch, [HARD, SOFT], memory(150, NOW + 60), NOW + 60)
    assert acting == (SOFT,)
    watch, acting = advance(watch, [HARD, SOFT], memory(50, NOW + 70), NOW + 70)
    assert acting == (HARD, SOFT)


def test_a_soft_threshold_that_recovers_starts_anew() -> None:
    watch, _ = advance(Watch(), [SOFT], memory(150), NOW)
    watch, _ = advance(watch, [SOFT], memory(300, NOW + 30), NOW + 30)
    _, acting = advance(watch, [SOFT], memory(150, NOW + 60), NOW + 60)
    assert acting == ()


def test_pressure_lasts_a_while() -> None:
    """From the first crossing, grace or not, until the transition period after the last."""
    watch, _ = advance(Watch(), [SOFT], memory(150), NOW)
    assert pressures(watch, 300, NOW) == {"MemoryPressure"}
    watch, _ = advance(watch, [SOFT], memory(300, NOW + 10), NOW + 10)
    assert [sorted(pressures(watch, 300, NOW + after)) for after in (299, 300)] == [["MemoryPressure"], []]


def test_a_minimum_is_won_back() -> None:
    """Once acted upon, a threshold counts until so much more is left."""
    greedy = below("memory.available", "100Mi", reclaim="50Mi")
    watch, acting = advance(Watch(), [greedy], memory(99), NOW)
    assert acting == (greedy,)
    watch, acting = advance(watch, [greedy], memory(149, NOW + 10), NOW + 10)
    assert acting == (greedy,)
    watch, acting = advance(watch, [greedy], memory(150, NOW + 20), NOW + 20)
    assert acting == ()
    assert advance(watch, [greedy], memory(149, NOW + 30), NOW + 30)[1] == ()


def test_a_measurement_counts_once() -> None:
    watch, acting = advance(Watch(), [HARD], memory(50), NOW)
    assert acting == (HARD,)
    watch, acting = advance(watch, [HARD], memory(50), NOW + 10)
    assert acting == ()
    assert advance(watch, [HARD], memory(50, NOW + 20), NOW + 20)[1] == (HARD,)


def test_memory_is_more_urgent() -> None:
    all_low = {**memory(1), "nodefs.available": Level(0, 1000, NOW)}
    assert advance(Watch(), [DISK, HARD], all_low, NOW)[1] == (HARD, DISK)


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 400)), max_size=30))
def test_a_node_that_acts_says_so(history: list[tuple[int, int]]) -> None:
    """Whoever is evicted for memory is evicted from a node with MemoryPressure."""
    watch, now = Watch(), NOW
    thresholds = [HARD, SOFT, below("memory.available", "300Mi", grace=5, reclaim="10%")]
    for seconds, mib in history:
        now += seconds
        watch, acting = advance(watch, thresholds, memory(mib, now), now)
        assert not acting or pressures(watch, 1, now) == {"MemoryPressure"}
        assert all(mib < 400 and now - watch.crossed_at[each] >= each.grace_s for each in acting)
