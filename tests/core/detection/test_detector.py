import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.detection.life import ON, Life, machine, waiting

from flexlet.api.cpuset import CpuSet
from flexlet.api.quantity import Quantity
from flexlet.api.units import GIB, MIB, Bytes
from flexlet.core.detection.observations import Deaf
from flexlet.core.detection.steps import Apply
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.machine.difference import key
from flexlet.core.machine.machine import Machine, NumaNode

BIGGER = machine("0-7", 16 * GIB)
SMALLER = machine("0-2", 6 * GIB)
RESERVED = {"memory": Quantity.of_bytes(1124 * MIB), "cpu": Quantity.of_milli(1000)}


def test_growth_is_applied_after_half_a_second_of_quiet() -> None:
    """One quick look at the first hint, one thorough look when it is quiet."""
    life = Life()
    life.become(BIGGER)
    life.pass_to(0.3)
    life.hint()
    life.pass_to(5)
    assert life.steps == [(0.8, Apply(machine=BIGGER, seen_at=0.0))]
    assert life.looks == [(0.0, "sizes"), (0.8, "everything")]


def test_a_decrease_has_less_time() -> None:
    life = Life()
    life.become(SMALLER)
    life.pass_to(5)
    assert life.steps == [(0.1, Apply(machine=SMALLER, seen_at=0.0))]


def test_the_first_look_decides_how_urgent_it_is() -> None:
    """A hint may come before the change can be seen; then there is the usual time."""
    life = Life()
    life.hint()
    life.machine = SMALLER
    life.pass_to(5)
    assert life.steps == [(0.5, Apply(machine=SMALLER, seen_at=0.0))]


def test_a_constant_stream_is_acted_on_after_three_seconds() -> None:
    life = Life()
    for step in range(100):
        life.pass_to(step * 0.04)
        life.become(BIGGER)
    life.pass_to(10)
    assert life.applied == [(3.0, BIGGER)]


def test_a_storm_is_one_change() -> None:
    """5,000 events cost two looks and bring one machine."""
    life = Life()
    life.machine = BIGGER
    life.hint(5000)
    life.pass_to(5)
    assert life.applied == [(0.5, BIGGER)]
    assert len(life.looks) == 2


@pytest.mark.parametrize("first", [8, 16])
@pytest.mark.parametrize("lag", [0.0, 0.01])
def test_flapping(first: int, lag: float) -> None:
    """20 alternations in 2 s are at most two generations, and the last one is true (S15)."""
    life = Life(machine(memory=first * GIB))
    for turn in range(1, 21):
        life.pass_to(turn * 0.1 + (lag if turn % 2 else 0))
        life.become(machine(memory=(first if turn % 2 == 0 else 24 - first) * GIB))
    life.become(BIGGER)
    life.pass_to(20)
    assert 1 <= len(life.applied) <= 2
    assert life.applied[-1][1] == BIGGER


def test_what_nobody_tells_is_found_by_looking() -> None:
    """Every ten seconds, sizes only; then the change has the same quiet as with a hint."""
    life = Life()
    life.machine = machine(memory=9 * GIB)
    life.pass_to(31)
    assert life.steps == [(10.5, Apply(machine=machine(memory=9 * GIB), seen_at=10.0))]
    assert life.looks == [(10.0, "sizes"), (10.5, "everything"), (20.0, "sizes"), (30.0, "sizes")]


@pytest.mark.parametrize(("sway", "first"), [(-1, 9.0), (0.5, 10.5), (1, 11.0), (7, 11.0)])
def test_nodes_do_not_all_look_at_once(sway: float, first: float) -> None:
    life = Life(sway=sway)
    life.pass_to(12)
    assert life.looks == [(first, "sizes")]


def test_without_events_each_look_is_thorough() -> None:
    """Blocks that were plugged and are offline show in no size."""
    life = Life()
    life.detector.learn(Deaf())
    life.pass_to(12)
    assert life.looks == [(10.0, "everything")]


def test_another_cpu_of_the_same_number_is_a_change() -> None:
    """S12."""
    life = Life(
        waiting(machine("0-3"), offline_cpus=CpuSet.of([4])), msgspec.structs.replace(ON, online_policy="none")
    )
    after = waiting(machine("0-2,4"), offline_cpus=CpuSet.of([3]))
    life.become(after)
    life.pass_to(5)
    assert life.applied == [(0.5, after)]


def test_little_growth_adds_up() -> None:
    """Compared with what was applied, so slow drift is noticed; a decrease always counts."""
    life = Life()
    for step in range(1, 8):
        life.become(machine(memory=8 * GIB + step * 10 * MIB))
        life.pass_to(step)
    drifted = machine(memory=8 * GIB + 70 * MIB)
    assert life.applied == [(6.5, drifted)]
    less = machine(memory=8 * GIB + 69 * MIB)
    life.become(less)
    life.pass_to(8)
    assert life.applied == [(6.5, drifted), (7.1, less)]


def test_little_growth_comes_along() -> None:
    """With any other change all of it counts; memory that moved between nodes is no jitter."""
    life = Life()
    both = machine("0-4", 8 * GIB + MIB)
    life.become(both)
    life.pass_to(1)
    nodes = (NumaNode(id=0, memory=Bytes(7 * GIB)), NumaNode(id=1, memory=Bytes(GIB + 2 * MIB)))
    moved = msgspec.structs.replace(both, memory=Bytes(8 * GIB + 2 * MIB), numa=nodes)
    life.become(moved)
    life.pass_to(2)
    assert [found for _, found in life.applied] == [both, moved]


@pytest.mark.parametrize("after", [machine(memory=GIB), machine("0", 8 * GIB), machine(memory=4 * GIB - 1)])
def test_what_is_hard_to_believe_is_read_three_times(after: Machine) -> None:
    """Below reservations or below half: three reads over five seconds (S19)."""
    life = Life(reserved=RESERVED)
    life.become(after)
    life.pass_to(9)
    assert life.steps == [(5.1, Apply(machine=after, seen_at=0.0, confirmed=True))]
    assert life.looks == [(0.0, "sizes"), (0.1, "everything"), (2.6, "everything"), (5.1, "everything")]


@pytest.mark.parametrize(
    "after",
    [
        machine(memory=4 * GIB),
        machine("0-1"),
        msgspec.structs.replace(machine(), swap=0),
        msgspec.structs.replace(machine(), hugepages={2 * MIB: 0}),
    ],
)
def test_ordinary_decreases_are_believed(after: Machine) -> None:
    """Half is enough; swap and huge pages may go altogether."""
    life = Life(msgspec.structs.replace(machine(), swap=4 * GIB, hugepages={2 * MIB: 512}), reserved=RESERVED)
    life.become(after)
    life.pass_to(1)
    assert life.applied == [(0.1, after)]


def test_growth_below_reservations_is_believed() -> None:
    life = Life(machine(memory=GIB // 2), reserved=RESERVED)
    life.become(machine(memory=GIB))
    life.pass_to(1)
    assert life.applied == [(0.5, machine(memory=GIB))]


def test_a_glitch_passes() -> None:
    """Events meanwhile do not make it look more true."""
    life = Life(reserved=RESERVED)
    life.become(machine(memory=GIB))
    for step in range(1, 20):
        life.pass_to(step * 0.2)
        life.hint()
    life.become(machine())
    life.pass_to(20)
    assert life.applied == []


def test_doubt_ends_when_more_is_left() -> None:
    life = Life(reserved=RESERVED)
    life.become(machine(memory=GIB))
    life.pass_to(1)
    life.become(machine(memory=6 * GIB))
    life.pass_to(20)
    assert life.steps == [(1.1, Apply(machine=machine(memory=6 * GIB), seen_at=0.0))]


def test_a_reading_that_cannot_be_true_changes_nothing() -> None:
    """It is tried again each second; the change keeps the time at which it was first noticed."""
    life = Life()
    life.become(BIGGER)
    life.broken = "no MemTotal"
    life.pass_to(2)
    assert (life.applied, life.detector.applied) == ([], machine())
    life.broken = ""
    life.pass_to(9)
    assert life.steps == [(2.5, Apply(machine=BIGGER, seen_at=0.0))]
    assert life.looks == [(0.0, "sizes"), (0.5, "everything"), (1.5, "everything"), (2.5, "everything")]


def test_a_failed_look_now_and_then_is_tried_again() -> None:
    life = Life()
    life.broken = "no MemTotal"
    life.pass_to(12.5)
    life.broken = ""
    life.pass_to(25)
    assert [at for at, _ in life.looks] == [10.0, 11.0, 12.0, 13.0, 23.0]


def test_without_the_gate_nothing_happens() -> None:
    """S22."""
    life = Life(settings=ResizeSettings())
    life.become(BIGGER)
    assert life.settle() is None
    life.pass_to(100)
    assert (life.looks, life.steps) == ([], [])


machines = st.builds(
    machine, st.sampled_from(["0-3", "0-7", "0", "0-2,5"]), st.integers(1, 40).map(lambda n: n * GIB / 2)
)
happenings = st.lists(
    st.tuples(st.floats(0, 4), st.one_of(st.just("hint"), st.just("break"), machines)), max_size=25
)


@given(happenings, st.floats(-1, 1))
def test_the_last_machine_is_applied_in_the_end(
    happenings: list[tuple[float, str | Machine]], sway: float
) -> None:
    """Whatever is hinted, read or unreadable, and in whatever order: after quiet the node is what the machine is.

    Silent changes are found by looking; nothing is applied twice, and time never runs backwards.
    """
    life = Life(reserved=RESERVED, sway=sway)
    for wait, what in happenings:
        life.pass_to(life.now + wait)
        if isinstance(what, Machine):
            life.machine, life.broken = what, ""
        elif what == "break":
            life.broken = "no MemTotal"
        else:
            life.hint()
    life.broken = ""
    life.pass_to(life.now + 30)
    assert life.detector.applied is not None
    assert key(life.detector.applied) == key(life.machine)
    assert all(
        key(one) != key(other) for (_, one), (_, other) in itertools.pairwise([(0, machine()), *life.applied])
    )
    looks = len(life.looks)
    life.pass_to(life.now + 100)
    assert len(life.looks) - looks <= 12


@given(st.lists(st.tuples(st.floats(0, 0.09), machines), min_size=1, max_size=60))
def test_no_more_than_one_change_in_a_stream(stream: list[tuple[float, Machine]]) -> None:
    """Events that follow one another closely are one change per three seconds at most."""
    life = Life()
    for wait, what in stream:
        life.pass_to(life.now + wait)
        life.become(what)
    life.pass_to(life.now + 30)
    assert len(life.applied) <= 2 + life.now / 3
    assert life.detector.applied == life.machine
