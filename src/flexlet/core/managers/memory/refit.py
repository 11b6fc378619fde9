"""The memory manager's book after the machine changed: everybody keeps their nodes as long as those can hold them.

Who matters more keeps its place first. Whoever no longer fits is tried on another node, then, where the policy
allows it, on several; without room anywhere it is a victim. In the end everything is booked once more, oldest pods
first: which node of a group gives how much depends on the order, so the order must always be the same.
"""

import functools
from collections.abc import Mapping, Sequence

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.claims import PodClaim
from flexlet.core.managers.memory import tables
from flexlet.core.managers.memory.offers import offers
from flexlet.core.managers.memory.tables import Nodes
from flexlet.core.managers.state import Block, Blocks, MemoryState, Refusal
from flexlet.core.managers.topology.refusals import NOT_ALIGNED
from flexlet.core.resources.names import MEMORY

Held = Mapping[str, tuple[Block, ...]]
"""The blocks of one pod, by container."""


class MemoryMove(msgspec.Struct, frozen=True):
    """A container whose memory must move (``cpuset.mems``)."""

    uid: str
    container: str
    before: CpuSet
    after: CpuSet


class Refit(msgspec.Struct, frozen=True, kw_only=True):
    """The new book and what follows from it."""

    state: MemoryState
    moved: tuple[MemoryMove, ...] = ()
    victims: dict[str, Refusal] = {}
    """By pod uid, most important first; they are out of the book."""
    unbound: tuple[str, ...] = ()
    """Pods that must not be victims and have no room: out of the book, and left to run."""


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """Where memory may go: the NUMA nodes that count, and whether a container may be spread over several."""

    numa: tuple[int, ...]
    widens: bool = True
    bound: frozenset[str] = frozenset()
    """Pods whose memory must stay where their CPUs are, by uid."""


def refit(
    state: MemoryState,
    empty: Nodes,
    room: Room,
    holders: Sequence[PodClaim],
    safe: frozenset[str] = frozenset(),
) -> Refit:
    """The book on these empty tables; `holders` are the pods that stay, most important first."""
    nodes, settled, loose = _settle(state, empty, holders)
    homeless: list[str] = []
    for uid, held in loose.items():
        home = _resettled(nodes, room, held, bound=uid in room.bound)
        if home is None:
            nodes = functools.reduce(_given_back, settled.pop(uid).values(), nodes)
            homeless.append(uid)
        else:
            nodes, settled[uid] = home[0], settled[uid] | home[1]
    for uid in tuple(homeless):  # Whoever gave up after them may have left enough.
        home = _resettled(nodes, room, state.entries[uid], bound=uid in room.bound)
        if home is not None:
            nodes, settled[uid] = home
            homeless.remove(uid)
    victims = {uid: _why(nodes, room, uid, state.entries[uid]) for uid in homeless if uid not in safe}
    entries = {claim.uid: settled[claim.uid] for claim in holders if settled.get(claim.uid)}
    booked = MemoryState(
        policy=state.policy,
        nodes=replayed(empty, entries, holders),
        entries=entries,
        pod_entries={each.uid: state.pod_entries[each.uid] for each in holders if each.uid in state.pod_entries},
    )
    moved = tuple(_moves(state, entries))
    return Refit(state=booked, moved=moved, victims=victims, unbound=tuple(uid for uid in homeless if uid in safe))


def _settle(
    state: MemoryState, empty: Nodes, holders: Sequence[PodClaim]
) -> tuple[Nodes, dict[str, dict[str, tuple[Block, ...]]], dict[str, Held]]:
    """Everybody where they are, as far as there is room; then who is left over, by pod and container."""
    nodes = empty
    settled: dict[str, dict[str, tuple[Block, ...]]] = {}
    loose: dict[str, Held] = {}
    for claim in holders:
        held = state.entries.get(claim.uid, {})
        settled[claim.uid] = {}
        for name, blocks in held.items():
            if holds(nodes, blocks):
                nodes = _taken(nodes, blocks)
                settled[claim.uid][name] = blocks
        rest = {name: blocks for name, blocks in held.items() if name not in settled[claim.uid]}
        if rest:
            loose[claim.uid] = rest
    return nodes, settled, loose


def _why(nodes: Nodes, room: Room, uid: str, held: Held) -> Refusal:
    """There is no room at all, or only where it must not be."""
    elsewhere = uid in room.bound and _resettled(nodes, room, held, bound=False) is not None
    return NOT_ALIGNED if elsewhere else _refusal(nodes, held)


def _resettled(
    nodes: Nodes, room: Room, held: Held, *, bound: bool
) -> tuple[Nodes, dict[str, tuple[Block, ...]]] | None:
    """All of these somewhere, or None: where they were if that is free now, or else, unless bound, on an offer."""
    found: dict[str, tuple[Block, ...]] = {}
    for name, blocks in held.items():
        there = blocks if fits(nodes, blocks) else None if bound else _elsewhere(nodes, room, blocks)
        if there is None:
            return None
        nodes = _taken(nodes, there)
        found[name] = there
    return nodes, found


def _elsewhere(nodes: Nodes, room: Room, blocks: Sequence[Block]) -> tuple[Block, ...] | None:
    request = _sizes(blocks)
    for offer in offers(nodes, room.numa, request):
        if offer.nodes is not None and (room.widens or len(offer.nodes) == 1):
            mask = offer.nodes.ids
            return tuple(msgspec.structs.replace(block, nodes=mask) for block in blocks)
    return None


def fits(nodes: Nodes, blocks: Sequence[Block]) -> bool:
    """Whether these can be booked in full where they were, beside others who came in the meantime."""
    return holds(nodes, blocks) and all(tables.is_open(nodes, block.nodes) for block in blocks)


def holds(nodes: Nodes, blocks: Sequence[Block]) -> bool:
    """Whether there is room for these where they are; that they may be there was decided long ago."""
    if any(node not in nodes for block in blocks for node in block.nodes):
        return False
    return all(tables.free(nodes, block.nodes, block.type) >= block.size for block in blocks)


def replayed(empty: Nodes, entries: Blocks, holders: Sequence[PodClaim]) -> Nodes:
    """The tables with everything booked, by age of the pod, its uid and the container's name."""
    created = {claim.uid: claim.created for claim in holders}
    nodes = empty
    for uid in sorted(entries, key=lambda uid: (created.get(uid, ""), uid)):
        for name in sorted(entries[uid]):
            nodes = _taken(nodes, entries[uid][name])
    return nodes


def _taken(nodes: Nodes, blocks: Sequence[Block]) -> Nodes:
    for block in blocks:
        nodes = tables.take(nodes, block)
    return nodes


def _given_back(nodes: Nodes, blocks: Sequence[Block]) -> Nodes:
    for block in blocks:
        nodes = tables.give_back(nodes, block)
    return nodes


def _sizes(blocks: Sequence[Block]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for block in blocks:
        sizes[block.type] = sizes.get(block.type, 0) + block.size
    return sizes


def _refusal(nodes: Nodes, held: Held) -> Refusal:
    """What the pod's own nodes lack, memory first."""
    blocks = [block for each in held.values() for block in each]
    mask = CpuSet.of(node for block in blocks for node in block.nodes)
    wanted = _sizes(blocks)
    kinds = sorted(wanted, key=lambda kind: (kind != MEMORY, kind))
    kind = next((each for each in kinds if wanted[each] > tables.free(nodes, mask, each)), kinds[0])
    used, capacity = tables.taken(nodes, mask, kind), tables.allocatable(nodes, mask, kind)
    return Refusal(
        f"OutOf{kind}",
        f"Node didn't have enough resource: {kind}, requested: {wanted[kind]}, used: {used}, capacity: {capacity}",
    )


def _moves(state: MemoryState, entries: Blocks) -> list[MemoryMove]:
    after = MemoryState(entries=entries)
    return [
        MemoryMove(uid, name, was, now)
        for uid, held in entries.items()
        for name in held
        if (was := state.nodes_of(uid, name)) is not None
        and (now := after.nodes_of(uid, name)) is not None
        and was != now
    ]
