"""Taking pods in with all managers together."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.managers.numa import Gi, Mi, check_tables, container, free, machine, pod, settings, simple

from flexlet.api.cpuset import CpuSet
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.claims import PodClaim
from flexlet.core.managers.files import Files
from flexlet.core.managers.hints import Hint
from flexlet.core.managers.placing import cpus_of, nodes_of, place, release
from flexlet.core.managers.settings import (
    BEST_EFFORT,
    CPU_STATIC,
    FULL_PCPUS_ONLY,
    RESTRICTED,
    SCOPE_POD,
    SINGLE_NUMA_NODE,
    TOPOLOGY_NONE,
    ManagerSettings,
)
from flexlet.core.managers.starting import start
from flexlet.core.managers.state import Managers, Refusal

TWO = machine(8 * Gi, 8 * Gi, cpus=4)
NOT_ALIGNED = Refusal("TopologyAffinityError", "Resources cannot be allocated with Topology locality")


def both(policy: str = TOPOLOGY_NONE, **others: Any) -> ManagerSettings:
    """Static CPUs (one is reserved) and static memory, 512Mi reserved on each of two nodes."""
    return settings(
        512 * Mi, 512 * Mi, cpu_policy=CPU_STATIC, reserved_milli=1000, topology_policy=policy, **others
    )


def begun(config: ManagerSettings, on: Machine = TWO, *claims: PodClaim) -> Managers:
    managers = start(config, on, Files(), {}, ()).managers
    for claim in claims:
        done = place(managers, config, on, claim)
        assert not isinstance(done, Refusal), done
        managers = done
    return managers


def where(managers: Managers, config: ManagerSettings, uid: str, name: str = "c") -> tuple[str, str]:
    return str(cpus_of(managers, config, uid, name)), str(nodes_of(managers, config, uid, name))


@pytest.mark.parametrize("policy", [TOPOLOGY_NONE, BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE])
def test_a_pod_gets_cpus_and_memory_of_one_node(policy: str) -> None:
    """CPU 0 is reserved, so only node 1 has four CPUs; without alignment nobody asks where the memory is."""
    config = both(policy)
    managers = begun(config, TWO, simple("a", 4 * Gi, cpus=2), simple("b", 2 * Gi, cpus=4))
    assert where(managers, config, "a") == ("1-2", "0")
    if policy == TOPOLOGY_NONE:
        assert where(managers, config, "b") == ("4-7", "0")
        assert managers.hints == {}
    else:
        assert where(managers, config, "b") == ("4-7", "1")
        assert managers.hints["b"] == {"c": Hint(CpuSet((1,)), preferred=True)}


def test_what_does_not_agree_is_refused_or_spread() -> None:
    """Node 0 has memory and no CPUs left, node 1 has CPUs and no memory."""
    before = (simple("a", Gi, cpus=3), simple("b", 7 * Gi, cpus=1))
    wish = simple("p", 2 * Gi, cpus=2)
    for policy in (RESTRICTED, SINGLE_NUMA_NODE):
        assert place(begun(both(policy), TWO, *before), both(policy), TWO, wish) == NOT_ALIGNED
    config = both(BEST_EFFORT)
    done = begun(config, TWO, *before, wish)
    assert where(done, config, "p") == ("5-6", "0")


def test_in_scope_pod_all_containers_share_the_nodes() -> None:
    """Each container would fit on node 0 with its own, but not both of them."""
    claim = pod("p", container("x", Gi, cpus=2), container("y", Gi, cpus=2))
    alone, together = both(SINGLE_NUMA_NODE), both(SINGLE_NUMA_NODE, topology_scope=SCOPE_POD)
    apart = begun(alone, TWO, claim)
    assert [where(apart, alone, "p", name) for name in "xy"] == [("1-2", "0"), ("4-5", "1")]
    joined = begun(together, TWO, claim)
    assert [where(joined, together, "p", name) for name in "xy"] == [("4-5", "1"), ("6-7", "1")]


def test_a_pod_that_shares_is_never_refused() -> None:
    """Burstable pods have no wish, whatever the policy; where they run is what nobody has alone."""
    for policy in (TOPOLOGY_NONE, BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE):
        config = both(policy)
        managers = begun(config, TWO, simple("a", Gi, cpus=3), pod("p", container("c")))
        assert where(managers, config, "p") == ("0,4-7", "None")


def test_refusals_of_each_manager_pass_through_and_nothing_is_kept() -> None:
    config = both()
    managers = begun(config)
    assert place(managers, config, TWO, simple("p", Gi, cpus=8)) == Refusal(
        "UnexpectedAdmissionError",
        "Allocate failed due to not enough cpus available to satisfy request: requested=8, available=7, "
        "which is unexpected",
    )
    half = pod("p", container("x", Gi, cpus=2), container("y", 20 * Gi, cpus=2))
    assert place(managers, config, TWO, half) == Refusal(
        "UnexpectedAdmissionError",
        "Allocate failed due to [memorymanager] failed to get the default NUMA affinity, "
        "no NUMA nodes with enough memory is available, which is unexpected",
    )


def test_half_a_core_is_refused_where_whole_cores_are_the_rule() -> None:
    config = both(cpu_options=frozenset({FULL_PCPUS_ONLY}))
    threads = tuple(
        cpu.__class__(cpu.id, core=cpu.id - cpu.id % 2, socket=cpu.socket, numa=cpu.numa, cache=cpu.cache)
        for cpu in TWO.cpus
    )
    smt = Machine(cpus=threads, memory=TWO.memory, numa=TWO.numa)
    assert place(begun(config, smt), config, smt, simple("p", Gi, cpus=3)) == Refusal(
        "SMTAlignmentError", "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"
    )


def test_asking_again_changes_nothing() -> None:
    config = both(BEST_EFFORT)
    claim = simple("p", Gi, cpus=2)
    managers = begun(config, TWO, claim)
    assert place(managers, config, TWO, claim) is managers


def test_without_managers_nothing_is_said() -> None:
    config = ManagerSettings()
    managers = begun(config, TWO, simple("p", Gi, cpus=2))
    assert managers == Managers(numa=(0, 1))
    assert (cpus_of(managers, config, "p", "c"), nodes_of(managers, config, "p", "c")) == (None, None)


def test_a_node_too_many_is_only_shared() -> None:
    """Nine nodes: the ninth is left out of alignment, its CPUs run whoever shares."""
    wide = machine(*[8 * Gi] * 9, cpus=2)
    config = both(BEST_EFFORT)
    managers = begun(config, wide, *(simple(f"p{at}", Gi, cpus=2) for at in range(7)))
    refused = place(managers, config, wide, simple("p7", Gi, cpus=2))
    assert isinstance(refused, Refusal)
    assert cpus_of(managers, config, "other", "c") == CpuSet((0, 1, 16, 17))


def test_memory_only_nodes_serve_memory_where_nobody_aligns() -> None:
    """Node 2 has memory and no CPUs, so alignment cannot end there; that is upstream's word for it."""
    extra = machine(8 * Gi, ids=(2,)).numa
    on = Machine(cpus=TWO.cpus, memory=TWO.memory, numa=(*TWO.numa, *extra))
    first, second, third = (simple(uid, 7 * Gi, cpus=1) for uid in "abc")
    config = both()
    managers = begun(config, on, first, second, third)
    assert [nodes_of(managers, config, uid, "c") for uid in "abc"] == [CpuSet((at,)) for at in range(3)]
    assert managers.numa == (0, 1, 2)
    aligning = both(BEST_EFFORT)
    assert place(begun(aligning, on, first, second), aligning, on, third) == Refusal(
        "UnexpectedAdmissionError",
        "Allocate failed due to [memorymanager] preferred hint violates NUMA node allocation, which is unexpected",
    )


policies = st.sampled_from([TOPOLOGY_NONE, BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE])
scopes = st.sampled_from(["container", "pod"])
containers = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 40)), min_size=1, max_size=3)


@given(policies, scopes, st.lists(containers, max_size=6), st.randoms(use_true_random=False))
def test_pods_come_and_go_and_leave_no_trace(policy: str, scope: str, wanted: list[Any], chance: Any) -> None:
    """No CPU has two owners, tables add up, aligned pods are on the nodes they were promised."""
    config = both(policy, topology_scope=scope)
    start_state = managers = begun(config)
    placed = []
    for number, sizes in enumerate(wanted):
        claim = claimed(number, sizes)
        done = place(managers, config, TWO, claim)
        if isinstance(done, Refusal):
            continue
        managers = done
        placed.append(claim.uid)
        check_tables(managers.memory.nodes)
        owned = [cpu for sets in managers.cpu.entries.values() for cpus in sets.values() for cpu in cpus]
        assert len(owned) == len(set(owned))
        assert not set(owned) & set(managers.cpu.shared | managers.cpu.reserved)
        if policy == SINGLE_NUMA_NODE:
            _check_single(managers, claim)
    chance.shuffle(placed)
    for uid in placed:
        managers = release(managers, config, TWO, uid)
    assert managers == start_state
    assert free(managers) == {0: 7680 * Mi, 1: 7680 * Mi}


def claimed(number: int, sizes: list[tuple[int, int]]) -> PodClaim:
    wanted = [container(f"c{at}", size * Gi // 8, cpus=cpus) for at, (cpus, size) in enumerate(sizes)]
    return pod(f"p{number}", *wanted)


def _check_single(managers: Managers, claim: PodClaim) -> None:
    home = {cpu.id: cpu.numa for cpu in TWO.cpus}
    for each in claim.containers:
        nodes = {home[cpu] for cpu in managers.cpu.cpus_of(claim.uid, each.name) or ()}
        assert len(nodes | set(managers.memory.nodes_of(claim.uid, each.name) or ())) == 1
