import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.managers.cpu import model
from tests.core.managers.cpu.grounds import cpus, machine, only

from flexlet.api.cpuset import CpuSet
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.cpu.packing import packed
from flexlet.core.managers.cpu.topology import Topology
from flexlet.core.managers.state import Refusal

SMALL = {
    "4 cores, 2 threads": machine(4, 2),
    "2 sockets, 2 cores, 2 threads": machine(2, 2, 2),
    "2 sockets, 4 nodes": machine(4, 1, 2, nodes=4),
    "2 sockets on one node": machine(2, 2, 2, nodes=1),
    "2 caches": machine(4, 2, caches=2),
    "2 sockets, 4 caches": machine(4, 1, 2, caches=4),
}
LARGE = [
    machine(12, 2, 2, caches=6),
    machine(8, 2, 2, nodes=4, caches=8),
    machine(4, 4, 4),
    machine(16, 1, 1, nodes=4),
    machine(6, 2, 3),
]


@pytest.mark.parametrize("by_cache", [False, True])
@pytest.mark.parametrize("of", SMALL.values(), ids=SMALL)
def test_every_request_of_a_small_machine(of: Machine, *, by_cache: bool) -> None:
    """All sets of free CPUs and all requests, against the second opinion."""
    topology = Topology(of.cpus)
    for size in range(len(of.cpus) + 1):
        for free in itertools.combinations(range(len(of.cpus)), size):
            for need in range(size + 1):
                expected = CpuSet.of(model.chosen(topology, set(free), need, by_cache=by_cache))
                assert packed(topology, CpuSet.of(free), need, by_cache=by_cache) == expected


@given(st.sampled_from(LARGE), st.booleans(), st.data())
def test_requests_of_large_machines(of: Machine, by_cache: bool, data: st.DataObject) -> None:
    topology = Topology(of.cpus)
    taken = data.draw(st.sets(st.sampled_from(list(of.online)), max_size=len(of.cpus) - 1))
    free = of.online - CpuSet.of(taken)
    need = data.draw(st.integers(0, len(free)))
    expected = CpuSet.of(model.chosen(topology, set(free), need, by_cache=by_cache))
    assert packed(topology, free, need, by_cache=by_cache) == expected


@given(st.data(), st.booleans(), st.booleans())
def test_an_uneven_machine_gives_what_is_free_and_no_more(
    data: st.DataObject, by_cache: bool, spread: bool
) -> None:
    whole = machine(4, 2, 2, caches=4)
    online = CpuSet.of(data.draw(st.sets(st.sampled_from(list(whole.online)), min_size=1)))
    free = CpuSet.of(data.draw(st.sets(st.sampled_from(list(online)))))
    need = data.draw(st.integers(0, len(free)))
    topology = Topology(only(whole, online).cpus)
    got = packed(topology, free, need, by_cache=by_cache, spread=spread)
    assert isinstance(got, CpuSet)
    assert (len(got), got.issubset(free)) == (need, True)


def test_threads_of_different_cores_where_packing_is_not_wanted() -> None:
    topology = Topology(machine(4, 2).cpus)
    assert packed(topology, cpus("0-7"), 3, spread=True) == cpus("0-2")
    assert packed(topology, cpus("1-2,5-6"), 3, spread=True) == cpus("1-2,5")


def test_part_of_a_cache() -> None:
    """Two whole caches, then the first cache whose lowest cores cover the rest exactly."""
    topology = Topology(machine(16, 1, caches=4).cpus)
    assert packed(topology, cpus("1-15"), 10, by_cache=True) == cpus("1-2,4-11")
    smt = Topology(machine(4, 2, caches=2).cpus)
    assert packed(smt, cpus("0-7"), 3, by_cache=True) == cpus("0-1,4")


def test_too_many() -> None:
    message = "not enough cpus available to satisfy request: requested=3, available=2"
    assert packed(Topology(machine(4).cpus), cpus("1-2"), 3) == Refusal(
        "UnexpectedAdmissionError", f"Allocate failed due to {message}, which is unexpected"
    )


def test_half_a_core_is_not_a_core() -> None:
    """With CPU 7 offline core 3 has one thread: it serves single CPUs first, never a pair."""
    topology = Topology(only(machine(4, 2), cpus("0-6")).cpus)
    assert (topology.threads, topology.in_whole_cores(cpus("0-6"))) == (2, cpus("0-2,4-6"))
    assert packed(topology, cpus("1-3,5-6"), 2) == cpus("1,5")
    assert packed(topology, cpus("1-3,5-6"), 1) == cpus("3")
