from hypothesis import given
from hypothesis import strategies as st
from tests.core.managers.cpu import model
from tests.core.managers.cpu.grounds import cpus, machine

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.cpu.distribution import distributed, imbalance
from flexlet.core.managers.cpu.packing import packed
from flexlet.core.managers.cpu.topology import Topology
from flexlet.core.managers.state import Refusal

FOUR_NODES = Topology(machine(8, 2, 2, nodes=4).cpus)
TWO_NODES = Topology(machine(4, 2, 2).cpus)


def test_one_node_is_enough() -> None:
    assert distributed(TWO_NODES, cpus("0-15"), 8) == cpus("0-3,8-11")


def test_two_nodes_give_the_same() -> None:
    assert distributed(TWO_NODES, cpus("0-15"), 10) == cpus("0-2,4-6,8-9,12-13")


def test_the_rest_goes_where_it_balances() -> None:
    """Nine CPUs from two nodes of 7 and 8: four each, and one more from the emptier of them."""
    got = distributed(TWO_NODES, cpus("1-15"), 9)
    assert got == cpus("1-2,4-6,9-10,12-13")


def test_groups_stay_together() -> None:
    """Groups of two threads: a request that is not a number of groups is packed."""
    assert distributed(TWO_NODES, cpus("0-15"), 10, group=2) == cpus("0-2,4-5,8-10,12-13")
    assert distributed(TWO_NODES, cpus("0-15"), 9, group=2) == packed(TWO_NODES, cpus("0-15"), 9)


def test_nothing_even_is_packed() -> None:
    """Two CPUs here and eight there cannot give four each."""
    assert distributed(TWO_NODES, cpus("0-1,4-7,12-15"), 9) == cpus("0,4-7,12-15")


def test_too_many() -> None:
    got = distributed(TWO_NODES, cpus("0-3"), 5)
    assert isinstance(got, Refusal)
    assert "requested=5, available=4" in got.message


def test_imbalance_is_rounded_to_three_digits() -> None:
    assert (imbalance([4, 4]), imbalance([1, 2, 2]), imbalance([3])) == (0, 0.471, 0)


@given(st.data(), st.sampled_from([1, 2]))
def test_as_even_as_possible(data: st.DataObject, group: int) -> None:
    taken = data.draw(st.sets(st.sampled_from(list(range(32))), max_size=12))
    free = CpuSet.of(range(32)) - CpuSet.of(taken)
    need = data.draw(st.integers(1, len(free) // group)) * group
    got = distributed(FOUR_NODES, free, need, group=group)
    assert isinstance(got, CpuSet)
    assert (len(got), got.issubset(free)) == (need, True)
    if got != packed(FOUR_NODES, free, need):
        assert model.is_even_split(FOUR_NODES, set(free), set(got), group)
