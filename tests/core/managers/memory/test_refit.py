"""Promises of memory after the machine changed: who stays, who moves, who goes."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.core.managers.numa import Gi, Mi, check_tables, container, machine, pod, simple

from flexlet.api.cpuset import CpuSet
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.claims import PodClaim
from flexlet.core.managers.hints import Hint
from flexlet.core.managers.memory import tables
from flexlet.core.managers.memory.allocating import allocate, release
from flexlet.core.managers.memory.refit import Held, MemoryMove, Refit, Room, _resettled, refit
from flexlet.core.managers.state import Block, MemoryState, Refusal
from flexlet.core.managers.topology.refusals import NOT_ALIGNED

HALF = {node: {"memory": 512 * Mi} for node in range(8)}
P0 = simple("p0", 4 * Gi, created="2026-01-01T00:00:00Z")
P1 = simple("p1", 4 * Gi, created="2026-01-02T00:00:00Z")


def book(on: Machine, *claims: PodClaim, wide: tuple[int, ...] = ()) -> MemoryState:
    state = MemoryState(policy="Static", nodes=tables.empty(on, HALF))
    hint = Hint(CpuSet(wide) if wide else None, preferred=False)
    for claim in claims:
        for each in claim.containers:
            done = allocate(state, tuple(sorted(state.nodes)), claim, each, hint)
            assert not isinstance(done, Refusal)
            state = done
    return state


def after(
    state: MemoryState, on: Machine, *claims: PodClaim, widens: bool = True, safe: str = "", bound: str = ""
) -> Refit:
    numa = tuple(node.id for node in on.numa)
    room = Room(numa=numa, widens=widens, bound=frozenset(bound.split()))
    return refit(state, tables.empty(on, HALF), room, claims, frozenset(safe.split()))


def short(requested: int, used: int, capacity: int, kind: str = "memory") -> Refusal:
    numbers = f"requested: {requested}, used: {used}, capacity: {capacity}"
    return Refusal(f"OutOf{kind}", f"Node didn't have enough resource: {kind}, {numbers}")


TWO = machine(8 * Gi, 8 * Gi)


def test_a_node_that_grows_has_more_to_give() -> None:
    done = after(book(TWO, P0, P1), machine(12 * Gi, 8 * Gi), P0, P1)
    table = done.state.nodes[0].tables["memory"]
    assert (table.allocatable, table.free) == (12348030976, 8053063680)
    assert done.state.entries == book(TWO, P0, P1).entries
    assert (done.moved, done.victims) == ((), {})


def test_who_fits_nowhere_any_more_is_a_victim() -> None:
    done = after(book(TWO, P0, P1), machine(3 * Gi, 8 * Gi), P0, P1)
    assert done.victims == {"p0": short(4294967296, 0, 2684354560)}
    assert done.state == book(machine(3 * Gi, 8 * Gi), P1)


def test_another_node_with_room_takes_it() -> None:
    done = after(book(TWO, P0), machine(3 * Gi, 8 * Gi), P0)
    assert done.moved == (MemoryMove("p0", "c", CpuSet((0,)), CpuSet((1,))),)
    assert done.state.entries["p0"]["c"] == (Block(nodes=(1,), type="memory", size=4 * Gi),)


def test_memory_that_belongs_to_cpus_does_not_move_away_from_them() -> None:
    """Whoever has room elsewhere is not aligned, whoever has none at all is out of memory."""
    small = machine(3 * Gi, 8 * Gi)
    assert after(book(TWO, P0), small, P0, widens=False, bound="p0").victims == {"p0": NOT_ALIGNED}
    full = after(book(TWO, P0, P1), small, P0, P1, widens=False, bound="p0 p1")
    assert full.victims == {"p0": short(4294967296, 0, 2684354560)}
    assert full.state == book(small, P1)


def test_several_nodes_take_it_only_if_alignment_is_not_insisted_on() -> None:
    small = machine(3 * Gi, 3 * Gi)
    assert after(book(TWO, P0), small, P0).moved == (MemoryMove("p0", "c", CpuSet((0,)), CpuSet((0, 1))),)
    assert after(book(TWO, P0), small, P0, widens=False).victims == {"p0": short(4 * Gi, 0, 2684354560)}


def test_the_more_important_pod_keeps_its_place() -> None:
    """Both were on node 0, which now holds one of them; age does not matter here."""
    before = book(machine(9 * Gi, 2 * Gi), P0, P1)
    small = machine(5 * Gi, 2 * Gi)
    assert list(after(before, small, P1, P0).victims) == ["p0"]
    assert list(after(before, small, P0, P1).victims) == ["p1"]


def test_what_a_victim_leaves_serves_the_next() -> None:
    """The large pod has two containers, of which one would still fit; without it the small pod stays."""
    large = pod("large", container("a", 3 * Gi), container("b", 3 * Gi))
    small = simple("small", 2 * Gi)
    before = book(machine(9 * Gi), large, small)
    done = after(before, machine(4 * Gi), large, small)
    assert done.victims == {"large": short(6 * Gi, 2 * Gi, 3584 * Mi)}
    assert done.state == book(machine(4 * Gi), small)


def test_who_matters_more_is_asked_again_when_another_gave_up() -> None:
    """The first pod finds no room while the second holds half of what it needs; then the second gives up."""
    first = simple("first", 5 * Gi)
    second = pod("second", container("a", 3 * Gi), container("b", 4 * Gi))
    state = MemoryState(
        policy="Static",
        entries={
            "first": {"c": (Block(nodes=(0,), type="memory", size=5 * Gi),)},
            "second": {
                "a": (Block(nodes=(1,), type="memory", size=3 * Gi),),
                "b": (Block(nodes=(0,), type="memory", size=4 * Gi),),
            },
        },
    )
    done = after(state, machine(2 * Gi, 6 * Gi + 512 * Mi), first, second)
    assert done.moved == (MemoryMove("first", "c", CpuSet((0,)), CpuSet((1,))),)
    assert list(done.victims) == ["second"]


def test_a_node_that_is_gone_is_left_for_another() -> None:
    done = after(book(TWO, P0, P1), machine(9 * Gi), P0, P1)
    assert done.moved == (MemoryMove("p1", "c", CpuSet((1,)), CpuSet((0,))),)
    assert sorted(done.state.nodes) == [0]


def test_a_group_stays_a_group() -> None:
    wide = simple("wide", 10 * Gi)
    done = after(book(TWO, wide), machine(6 * Gi, 8 * Gi), wide)
    assert done.moved == ()
    assert [done.state.nodes[node].cells for node in (0, 1)] == [(0, 1), (0, 1)]
    assert [done.state.nodes[node].tables["memory"].free for node in (0, 1)] == [0, 3 * Gi]


def test_huge_pages_that_go_are_named() -> None:
    claim = pod("p", container("c", Gi, pages=512 * Mi))
    before = book(machine(8 * Gi, pages={0: 512}), claim)
    done = after(before, machine(8 * Gi, pages={0: 128}), claim)
    assert done.victims == {"p": short(512 * Mi, 0, 256 * Mi, "hugepages-2Mi")}


def test_who_must_not_die_runs_on_without_a_promise() -> None:
    done = after(book(TWO, P0, P1), machine(3 * Gi, 8 * Gi), P0, P1, safe="p0")
    assert (done.victims, done.unbound) == ({}, ("p0",))
    assert sorted(done.state.entries) == ["p1"]


def test_who_is_not_named_gives_everything_back() -> None:
    assert after(book(TWO, P0, P1), TWO, P1).state.entries == {"p1": book(TWO, P0, P1).entries["p1"]}


def test_what_a_kubelet_noted_of_whole_pods_stays_as_long_as_the_pods() -> None:
    blocks = (Block(nodes=(0,), type="memory", size=Gi),)
    state = MemoryState(policy="Static", pod_entries={"p0": blocks, "gone": blocks})
    done = after(state, TWO, P0).state
    assert done.pod_entries == {"p0": blocks}
    assert release(done, "p0").pod_entries == {}


def test_a_group_is_filled_in_the_same_order_whoever_matters_more() -> None:
    young = simple("a", 6 * Gi, created="2026-02-01T00:00:00Z")
    old = simple("b", 3 * Gi, created="2026-01-01T00:00:00Z")
    before = book(TWO, young, old, wide=(0, 1))
    larger = machine(9 * Gi, 9 * Gi)
    assert after(before, larger, young, old).state.nodes == after(before, larger, old, young).state.nodes


eighths = st.integers(0, 32).map(lambda count: count * Gi // 8)
machines = st.lists(eighths, min_size=1, max_size=4)
pods = st.lists(st.lists(eighths.filter(bool), min_size=1, max_size=3), max_size=6)


def full(on: Machine, sizes: list[list[int]]) -> tuple[MemoryState, list[PodClaim]]:
    """A machine with as many of these pods as fit."""
    state, placed = MemoryState(policy="Static", nodes=tables.empty(on, {})), []
    numa = tuple(sorted(state.nodes))
    for number, wanted in enumerate(sizes):
        containers = [container(f"c{at}", size) for at, size in enumerate(wanted)]
        claim = pod(f"p{number}", *containers, created=f"2026-01-01T00:00:{number:02}Z")
        done: MemoryState | Refusal = state
        for each in containers:
            if not isinstance(done, Refusal):
                done = allocate(done, numa, claim, each, Hint(None, preferred=False))
        if not isinstance(done, Refusal):
            state = done
            placed.append(claim)
    return state, placed


@given(machines, machines, pods, st.booleans(), st.randoms(use_true_random=False))
def test_nobody_goes_who_has_room(
    old: list[int], new: list[int], sizes: list[list[int]], widens: bool, chance: Any
) -> None:
    """Tables add up, whoever stays has all it had, and no victim would find room in the end."""
    state, claims = full(machine(*old), sizes)
    chance.shuffle(claims)
    empty = tables.empty(machine(*new), {})
    numa = tuple(range(len(new)))
    done = refit(state, empty, Room(numa=numa, widens=widens), claims)
    check_tables(done.state.nodes)
    assert {claim.uid for claim in claims} == done.state.entries.keys() | done.victims.keys()
    for uid, held in done.state.entries.items():
        assert _sizes(held) == _sizes(state.entries[uid])
    booked = sum(node.tables["memory"].reserved for node in done.state.nodes.values())
    assert booked == sum(size for held in done.state.entries.values() for size in _sizes(held).values())
    for uid in done.victims:
        room = Room(numa=numa, widens=widens)
        assert _resettled(done.state.nodes, room, state.entries[uid], bound=False) is None


def _sizes(held: Held) -> dict[str, int]:
    return {name: sum(block.size for block in blocks) for name, blocks in held.items()}


@given(machines, machines, pods)
def test_plugging_and_unplugging_as_much_restores(old: list[int], more: list[int], sizes: list[list[int]]) -> None:
    """Growth touches nobody; and when it is taken back, everything is as it was."""
    state, claims = full(machine(*old), sizes)
    room = Room(numa=tuple(range(len(old))))
    start = refit(state, tables.empty(machine(*old), {}), room, claims)
    assert (start.moved, start.victims) == ((), {})
    sizes_after = [size + (more[at] if at < len(more) else 0) for at, size in enumerate(old)]
    grown = refit(start.state, tables.empty(machine(*sizes_after), {}), room, claims)
    assert (grown.moved, grown.victims, grown.state.entries) == ((), {}, start.state.entries)
    assert refit(grown.state, tables.empty(machine(*old), {}), room, claims) == start
