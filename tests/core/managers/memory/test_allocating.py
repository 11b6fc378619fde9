"""Promises of NUMA memory: the vectors of Kubernetes 1.36.3 and its sentences."""

import functools
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.core.managers.numa import Gi, Mi, check_tables, container, machine, pod, simple

from flexlet.api.cpuset import CpuSet
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.claims import ContainerClaim, PodClaim
from flexlet.core.managers.hints import Hint
from flexlet.core.managers.memory import offers, tables
from flexlet.core.managers.memory.allocating import allocate, release
from flexlet.core.managers.state import Block, MemoryState, Refusal

CASES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("refusals.yaml").read_text())
ANYWHERE = Hint(None, preferred=False)
TWO = machine(8 * Gi, 8 * Gi)
THREE = machine(4 * Gi, 4 * Gi, 4 * Gi)
HALF = {node: {"memory": 512 * Mi} for node in (0, 1)}


def book(on: Machine = TWO) -> MemoryState:
    return MemoryState(policy="Static", nodes=tables.empty(on, HALF if on is TWO else {}))


def numa(state: MemoryState) -> tuple[int, ...]:
    return tuple(sorted(state.nodes))


def served(state: MemoryState, claim: PodClaim, hint: Hint = ANYWHERE) -> MemoryState:
    for each in claim.containers:
        done = allocate(state, numa(state), claim, each, hint)
        assert not isinstance(done, Refusal), done
        state = done
    return state


def refused(state: MemoryState, claim: PodClaim, hint: Hint = ANYWHERE) -> str:
    done = allocate(state, numa(state), claim, claim.containers[0], hint)
    assert isinstance(done, Refusal)
    assert done.reason == "UnexpectedAdmissionError"
    head, tail = "Allocate failed due to [memorymanager] ", ", which is unexpected"
    assert done.message.startswith(head)
    assert done.message.endswith(tail)
    return done.message.removeprefix(head).removesuffix(tail)


def test_vectors_of_two_nodes() -> None:
    """Two nodes of 8Gi, 512Mi reserved on each: 4Gi on node 0, 4Gi on node 1, no group of both afterwards."""
    first = served(book(), simple("p0", 4 * Gi))
    assert first.nodes_of("p0", "c") == CpuSet((0,))
    second = served(first, simple("p1", 4 * Gi))
    assert second.nodes_of("p1", "c") == CpuSet((1,))
    assert [second.nodes[node].tables["memory"].free for node in (0, 1)] == [3758096384, 3758096384]
    assert refused(second, simple("p2", 5 * Gi)) == (
        "failed to get the default NUMA affinity, no NUMA nodes with enough memory is available"
    )


def test_a_pod_that_is_known_or_asks_for_nothing_changes_nothing() -> None:
    state = served(book(), simple("p0", Gi))
    assert served(state, simple("p0", Gi)) is state
    assert served(state, pod("p1", container("c"))) is state


def test_what_no_node_holds_alone_goes_to_a_group_and_the_group_stays() -> None:
    state = served(book(THREE), simple("wide", 6 * Gi))
    assert state.nodes_of("wide", "c") == CpuSet((0, 1))
    alone = served(state, simple("alone", Gi))
    assert alone.nodes_of("alone", "c") == CpuSet((2,))
    together = served(alone, simple("more", 2 * Gi), Hint(CpuSet((0,)), preferred=False))
    assert together.nodes_of("more", "c") == CpuSet((0, 1))
    emptied = release(release(release(together, "wide"), "more"), "alone")
    assert emptied == book(THREE)


def test_a_hint_with_too_little_is_widened() -> None:
    state = book(THREE)
    done = served(state, simple("p", 6 * Gi), Hint(CpuSet((1,)), preferred=False))
    assert done.nodes_of("p", "c") == CpuSet((0, 1))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_refusals_are_upstream_s(case: dict[str, Any]) -> None:
    """Three nodes of 4Gi, some of it promised."""
    state = book(THREE)
    for at, (nodes, size) in enumerate(case["before"]):
        state = served(state, simple(f"before{at}", int(size * Gi)), Hint(CpuSet.parse(nodes), preferred=False))
    nodes = None if case["nodes"] == "any" else CpuSet.parse(case["nodes"])
    done = allocate(state, numa(state), *wish(case["wanted"]), Hint(nodes, case["preferred"]))
    if "placed" in case:
        assert not isinstance(done, Refusal)
        assert done.nodes_of("p", "c") == CpuSet.parse(case["placed"])
    else:
        message = f"Allocate failed due to [memorymanager] {case['refused']}, which is unexpected"
        assert done == Refusal("UnexpectedAdmissionError", message)


def wish(size: float) -> tuple[PodClaim, ContainerClaim]:
    claim = simple("p", int(size * Gi))
    return claim, claim.containers[0]


def test_what_init_containers_leave_is_used_again() -> None:
    """The blocks of a pod add up to what the tables hold for it, whoever of its containers they are written to."""
    claim = pod(
        "p",
        container("first", 2 * Gi, kind="init"),
        container("sidecar", Gi, kind="sidecar"),
        container("second", 3 * Gi, kind="init"),
        container("main", 2 * Gi),
        container("beside", 2 * Gi),
    )
    state = served(book(), claim)
    sizes = {name: blocks[0].size // Gi for name, blocks in state.entries["p"].items()}
    assert sizes == {"first": 0, "sidecar": 1, "second": 0, "main": 2, "beside": 2}
    assert state.nodes[0].tables["memory"].reserved == 5 * Gi
    assert state.nodes[0].assignments == 5
    assert release(state, "p") == book()


def test_an_init_container_that_needs_more_than_the_rest_keeps_the_difference() -> None:
    claim = pod("p", container("first", 4 * Gi, kind="init"), container("main", Gi))
    state = served(book(), claim)
    assert state.entries["p"] == {
        "first": (Block(nodes=(0,), type="memory", size=3 * Gi),),
        "main": (Block(nodes=(0,), type="memory", size=Gi),),
    }


def test_a_wish_of_a_pod_is_what_it_needs_at_one_time() -> None:
    claim = pod(
        "p",
        container("sidecar", Gi, kind="sidecar"),
        container("first", 5 * Gi, kind="init"),
        container("main", 2 * Gi, pages=4 * Mi),
        container("beside", 2 * Gi),
    )
    assert offers.pod_request(claim) == {"memory": 6 * Gi, "hugepages-2Mi": 4 * Mi}


def test_offers_are_narrow_first_and_preferred_if_nothing_narrower_could_ever_do() -> None:
    state = served(book(THREE), simple("before", 3 * Gi))
    claim = simple("p", 2 * Gi)
    assert offers.hints(state, (0, 1, 2), claim, claim.containers[0]) == {
        "memory": (
            Hint(CpuSet((1,)), preferred=True),
            Hint(CpuSet((2,)), preferred=True),
            Hint(CpuSet((1, 2)), preferred=False),
        )
    }


def test_a_kind_of_memory_that_a_node_lacks_is_not_offered_there() -> None:
    state = MemoryState(policy="Static", nodes=tables.empty(machine(4 * Gi, 4 * Gi, pages={1: 512}), {}))
    claim = pod("p", container("c", Gi, pages=512 * Mi))
    found = offers.hints(state, (0, 1), claim, claim.containers[0])
    assert found["memory"] == (Hint(CpuSet((1,)), preferred=True), Hint(CpuSet((0, 1)), preferred=False))
    assert found["hugepages-2Mi"] == found["memory"]
    placed = served(state, claim)
    assert placed.entries["p"]["c"] == (
        Block(nodes=(1,), type="hugepages-2Mi", size=512 * Mi),
        Block(nodes=(1,), type="memory", size=Gi),
    )


def test_no_offer_at_all_is_no_wish() -> None:
    """As upstream has it: alignment passes, and the allocation then says why not."""
    claim = simple("p", 20 * Gi)
    assert offers.hints(book(), (0, 1), claim, claim.containers[0]) == {}


def test_a_wide_machine_is_looked_at_only_as_far_as_needed() -> None:
    """All subsets of 40 nodes would take for ever."""
    state = MemoryState(policy="Static", nodes=tables.empty(machine(*[Gi] * 40), {}))
    assert served(state, simple("p", 2 * Gi)).nodes_of("p", "c") == CpuSet((0, 1))


kinds = st.sampled_from(["init", "sidecar", "container"])
sizes = st.integers(0, 40).map(lambda eighths: eighths * Gi // 8)
pods = st.lists(st.lists(st.tuples(kinds, sizes), min_size=1, max_size=4), max_size=6)
machines = st.lists(st.integers(0, 32).map(lambda eighths: eighths * Gi // 8), min_size=1, max_size=4)


def claimed(number: int, containers: list[tuple[Any, int]]) -> PodClaim:
    ordered = sorted(containers, key=lambda each: each[0] == "container")
    return pod(f"p{number}", *(container(f"c{at}", size, kind=kind) for at, (kind, size) in enumerate(ordered)))


@given(machines, pods, st.randoms(use_true_random=False))
def test_books_balance_whatever_comes_and_goes(on: list[int], wanted: list[Any], chance: Any) -> None:
    """Tables add up, each pod's blocks are what it needs at least, and all is as before when everybody left."""
    start = MemoryState(policy="Static", nodes=tables.empty(machine(*on), {0: {"memory": Gi}}))
    state = start
    for number, containers in enumerate(wanted):
        claim = claimed(number, containers)
        begin: tuple[PodClaim, MemoryState | Refusal] = (claim, state)
        tried = functools.reduce(_then, claim.containers, begin)[1]
        state = state if isinstance(tried, Refusal) else tried
        check_tables(state.nodes)
        if not isinstance(tried, Refusal):
            held = sum(block.size for blocks in state.entries.get(claim.uid, {}).values() for block in blocks)
            assert held >= offers.pod_request(claim).get("memory", 0)
    booked = sum(each.tables["memory"].reserved for each in state.nodes.values())
    assert booked == sum(b.size for held in state.entries.values() for blocks in held.values() for b in blocks)
    leaving = sorted(state.entries)
    chance.shuffle(leaving)
    for uid in leaving:
        state = release(state, uid)
        check_tables(state.nodes)
    assert state == start


def _then(
    so_far: tuple[PodClaim, MemoryState | Refusal], each: ContainerClaim
) -> tuple[PodClaim, MemoryState | Refusal]:
    claim, state = so_far
    return claim, state if isinstance(state, Refusal) else allocate(state, numa(state), claim, each, ANYWHERE)
