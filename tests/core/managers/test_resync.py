"""All books together after the machine changed."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.core.managers.numa import Gi, Mi, check_tables, container, free, machine, pod, settings, simple
from tests.core.managers.test_placing import begun, both

from flexlet.api.cpuset import CpuSet
from flexlet.api.quantity import Quantity
from flexlet.core.machine.allocatable import Reservation
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.claims import PodClaim
from flexlet.core.managers.hints import Hint
from flexlet.core.managers.placing import place
from flexlet.core.managers.resync import Move, Resynced, Write, resync
from flexlet.core.managers.settings import (
    BEST_EFFORT,
    MEMORY_STATIC,
    RESTRICTED,
    SINGLE_NUMA_NODE,
    TOPOLOGY_NONE,
    ManagerSettings,
)
from flexlet.core.managers.state import Managers, Refusal

TWO = machine(8 * Gi, 8 * Gi)
HALVES = settings(512 * Mi, 512 * Mi)
P0, P1, P2 = simple("p0", 4 * Gi), simple("p1", 4 * Gi), simple("p2", 5 * Gi)


def test_more_memory_lets_in_who_was_refused() -> None:
    """S17: node 0 grows from 8Gi to 12Gi."""
    before = begun(HALVES, TWO, P0, P1)
    assert isinstance(place(before, HALVES, TWO, P2), Refusal)
    larger = machine(12 * Gi, 8 * Gi)
    done = resync(before, HALVES, TWO, larger, (P0, P1))
    table = done.managers.memory.nodes[0].tables["memory"]
    assert (table.allocatable, table.free) == (12348030976, 8053063680)
    assert (done.victims, done.moved_memory, done.notes, done.cpusets) == ({}, (), (), ())
    placed = place(done.managers, HALVES, larger, P2)
    assert not isinstance(placed, Refusal)
    assert placed.memory.nodes_of("p2", "c") == CpuSet((0,))


def test_less_memory_ends_who_fits_nowhere() -> None:
    """S18: node 0 shrinks to 3Gi, node 1 has too little left for the pod that was there."""
    done = resync(begun(HALVES, TWO, P0, P1), HALVES, TWO, machine(3 * Gi, 8 * Gi), (P0, P1))
    assert done.managers.memory.nodes[0].tables["memory"].allocatable == 2684354560
    assert done.victims == {
        "p0": Refusal(
            "OutOfmemory",
            "Node didn't have enough resource: memory, requested: 4294967296, used: 0, capacity: 2684354560",
        )
    }
    assert free(done.managers) == {0: 2684354560, 1: 3758096384}


def test_a_threshold_in_percent_does_not_break_a_resync() -> None:
    """S20: 5% are kept from eviction, and the machine grows from 8Gi to 16Gi."""
    kept = Reservation(
        kube={"memory": Quantity.of_bytes(512 * Mi)},
        system={"memory": Quantity.of_bytes(512 * Mi)},
        eviction_hard={"memory.available": "5%"},
    )
    config = ManagerSettings(
        memory_policy=MEMORY_STATIC, reserved_memory={0: {"memory": Gi + 429496736}}, reservation=kept
    )
    small, large = machine(8 * Gi), machine(16 * Gi)
    before = begun(config, small)
    assert free(before) == {0: 7086696032}
    grown = resync(before, config, small, large, ())
    assert free(grown.managers) == {0: 15247133888}
    assert resync(grown.managers, config, large, small, ()).managers == before


FOUR = machine(8 * Gi, 8 * Gi, cpus=4)
"""CPUs 0-3 on node 0, of which 0 is reserved, and 4-7 on node 1."""


def test_cpus_and_memory_of_a_node_that_left_are_replaced() -> None:
    """Node 1 goes with CPUs 4-7; what ran there alone finds CPU 3 and the memory of node 0."""
    config = both(BEST_EFFORT)
    stays, moves, shares = (
        simple("stays", Gi, cpus=2),
        simple("moves", 7 * Gi, cpus=1),
        pod("shares", container("c")),
    )
    first = begun(config, FOUR, stays, moves, shares)
    assert (str(first.cpu.cpus_of("moves", "c")), first.memory.nodes_of("moves", "c")) == ("4", CpuSet((1,)))
    done = resync(first, config, FOUR, machine(9 * Gi, cpus=4), (stays, moves, shares))
    assert done == Resynced(
        managers=done.managers,
        reassigned=(Move("moves", "c", CpuSet((4,)), CpuSet((3,))),),
        moved_memory=(Move("moves", "c", CpuSet((1,)), CpuSet((0,))),),
        cpusets=(Write("shares", "c", CpuSet((0,))), Write("moves", "c", CpuSet((3,)))),
    )
    assert (done.managers.numa, done.managers.cpu.shared) == ((0,), CpuSet((0,)))
    assert done.managers.hints == {"stays": first.hints["stays"], "moves": {}, "shares": {}}


def test_hints_that_name_a_node_that_left_are_dropped() -> None:
    config = both(BEST_EFFORT)
    claim = simple("p", Gi, cpus=4)
    before = begun(config, FOUR, claim)
    assert before.hints == {"p": {"c": Hint(CpuSet((1,)), preferred=True)}}
    assert resync(before, config, FOUR, machine(8 * Gi, cpus=8), (claim,)).managers.hints == {"p": {}}
    assert resync(before, config, FOUR, FOUR, (claim,)).managers == before


def test_a_victim_of_one_manager_leaves_the_other_books_too() -> None:
    """Who has no memory any more gives its CPUs back, and runs on the shared ones until it is dead."""
    config = both()
    claim, shares = simple("p", 6 * Gi, cpus=2), pod("shares", container("c"))
    before = begun(config, FOUR, claim, shares)
    done = resync(before, config, FOUR, machine(3 * Gi, 3 * Gi, cpus=4), (claim, shares))
    assert list(done.victims) == ["p"]
    assert (done.managers.cpu.entries, done.managers.memory.entries) == ({}, {})
    assert done.managers.cpu.shared == CpuSet.of(range(8))
    assert {write.uid: str(write.cpus) for write in done.cpusets} == {"p": "0-7", "shares": "0-7"}


def test_memory_of_a_victim_of_the_cpus_serves_another() -> None:
    """The less important pod has no CPUs any more; without it the other one's memory fits after all."""
    config = both()
    first, second = simple("first", 4 * Gi, cpus=2), simple("second", 4 * Gi, cpus=1)
    before = begun(config, FOUR, first, second)
    small = machine(5 * Gi, 2 * Gi, cpus=1)
    done = resync(before, config, FOUR, small, (second, first))
    assert list(done.victims) == ["first"]
    assert done.managers.memory.entries.keys() == {"second"}


def test_alignment_that_is_insisted_on_is_not_spread() -> None:
    claim = simple("p", 4 * Gi, cpus=1)
    small = machine(3 * Gi, 3 * Gi, cpus=4)
    for policy in (RESTRICTED, SINGLE_NUMA_NODE):
        config = both(policy)
        assert list(resync(begun(config, FOUR, claim), config, FOUR, small, (claim,)).victims) == ["p"]
    for policy in (TOPOLOGY_NONE, BEST_EFFORT):
        config = both(policy)
        done = resync(begun(config, FOUR, claim), config, FOUR, small, (claim,))
        assert done.moved_memory == (Move("p", "c", CpuSet((0,)), CpuSet((0, 1))),)


def test_a_node_too_many_is_noted_and_only_shared() -> None:
    config = both(BEST_EFFORT)
    before, after = machine(*[2 * Gi] * 8, cpus=1), machine(*[2 * Gi] * 9, cpus=1)
    done = resync(begun(config, before), config, before, after, ())
    assert done.notes == ("TooManyNUMANodes",)
    assert done.managers.numa == tuple(range(8))
    assert done.managers.cpu.shared == CpuSet.of(range(9))
    back = resync(done.managers, config, after, before, ())
    assert (back.notes, back.managers) == ((), begun(config, before))


def test_a_pod_that_must_not_die_runs_on_and_it_is_noted() -> None:
    done = resync(
        begun(HALVES, TWO, P0, P1), HALVES, TWO, machine(3 * Gi, 8 * Gi), (P0, P1), safe=frozenset({"p0"})
    )
    assert (done.victims, done.notes) == ({}, ("CriticalOverCapacity",))


def test_without_managers_nothing_happens() -> None:
    config = ManagerSettings()
    before = begun(config, TWO)
    assert resync(before, config, TWO, FOUR, (P0,)) == Resynced(managers=before)


sizes = st.integers(2, 40).map(lambda eighths: eighths * Gi // 8)
machines = st.builds(
    lambda sizes, cpus: machine(*sizes, cpus=cpus), st.lists(sizes, min_size=1, max_size=3), st.integers(2, 5)
)
pods = st.lists(st.tuples(st.integers(0, 4), sizes), max_size=6)
policies = st.sampled_from([TOPOLOGY_NONE, BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE])


def filled(config: ManagerSettings, on: Machine, wanted: list[tuple[int, int]]) -> tuple[Managers, list[PodClaim]]:
    managers, placed = begun(config, on), []
    for number, (cpus, size) in enumerate(wanted):
        claim = simple(f"p{number}", size, cpus=cpus, created=f"2026-01-01T00:00:{number:02}Z")
        done = place(managers, config, on, claim)
        if not isinstance(done, Refusal):
            managers = done
            placed.append(claim)
    return managers, placed


def config_of(policy: str, on: Machine) -> ManagerSettings:
    return settings(*[128 * Mi] * len(on.numa), cpu_policy="static", reserved_milli=500, topology_policy=policy)


@given(policies, machines, machines, pods, st.randoms(use_true_random=False))
def test_books_fit_the_machine_whatever_it_became(
    policy: str, old: Machine, new: Machine, wanted: list[Any], chance: Any
) -> None:
    """Nobody holds what is not there, nobody shares what is another's, and who stays has all it asked for."""
    config = config_of(policy, old)
    managers, claims = filled(config, old, wanted)
    chance.shuffle(claims)
    done = resync(managers, config, old, new, claims)
    check_tables(done.managers.memory.nodes)
    owned = [cpu for sets in done.managers.cpu.entries.values() for cpus in sets.values() for cpu in cpus]
    assert len(owned) == len(set(owned))
    assert set(owned) <= set(new.online) - set(done.managers.cpu.shared) - set(done.managers.cpu.reserved)
    for claim in claims:
        held = sum(block.size for block in done.managers.memory.entries.get(claim.uid, {}).get("c", ()))
        cpus = len(done.managers.cpu.cpus_of(claim.uid, "c") or ())
        wanted_now = (
            (0, 0)
            if claim.uid in done.victims
            else (claim.containers[0].memory["memory"], claim.containers[0].cpus)
        )
        assert (held, cpus) == wanted_now
    again = resync(done.managers, config, new, new, [claim for claim in claims if claim.uid not in done.victims])
    assert (again.managers, again.victims, again.cpusets) == (done.managers, {}, ())


@given(policies, machines, st.integers(0, 3), sizes, pods)
def test_plugging_and_unplugging_as_much_restores(
    policy: str, old: Machine, cpus: int, memory: int, wanted: list[Any]
) -> None:
    """Growth disturbs nobody, and after it is taken back the books are as before."""
    config = config_of(policy, old)
    managers, claims = filled(config, old, wanted)
    settled = resync(managers, config, old, old, claims).managers
    more = machine(*(node.memory + memory for node in old.numa), cpus=0)
    extra = [
        cpu.__class__(100 + at, core=100 + at, socket=0, numa=0, cache=0) for at, cpu in enumerate(old.cpus[:cpus])
    ]
    larger = Machine(cpus=(*old.cpus, *extra), memory=more.memory, numa=more.numa)
    grown = resync(settled, config, old, larger, claims)
    assert (grown.victims, grown.reassigned, grown.moved_memory) == ({}, (), ())
    assert grown.managers.cpu.entries == settled.cpu.entries
    assert resync(grown.managers, config, larger, old, claims).managers == settled
