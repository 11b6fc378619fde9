"""Promising memory to a container, and taking the promise back.

Upstream's sentences, each wrapped as admission shows them. What init containers leave behind is used first, and
comes off their blocks, so that the blocks of a pod add up to what the tables hold for it.
"""

from collections.abc import Iterable, Iterator

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.claims import ContainerClaim, PodClaim
from flexlet.core.managers.hints import Hint
from flexlet.core.managers.memory import tables
from flexlet.core.managers.memory.offers import offers, spare
from flexlet.core.managers.state import Block, MemoryState, Refusal

_FRACTIONAL = "failed to represent quantity as int64"
_NO_NODES = "failed to get the default NUMA affinity, no NUMA nodes with enough memory is available"
_NO_PREFERRED = "failed to find the default preferred hint"
_NO_EXTENSION = "failed to find NUMA nodes to extend the current topology hint"
_NO_PREFERRED_EXTENSION = "failed to find the extended preferred hint"
_MIXED = "preferred hint violates NUMA node allocation"


def allocate(
    state: MemoryState, numa: tuple[int, ...], claim: PodClaim, container: ContainerClaim, hint: Hint
) -> MemoryState | Refusal:
    """The book with this container in it; unchanged if it asks for nothing or is there already."""
    if not container.memory or container.name in state.entries.get(claim.uid, {}):
        return state
    chosen = _FRACTIONAL if container.fractional else _chosen(state, numa, claim, container, hint)
    if isinstance(chosen, str):
        return Refusal(
            "UnexpectedAdmissionError", f"Allocate failed due to [memorymanager] {chosen}, which is unexpected"
        )
    return _booked(state, claim, container, chosen)


def release(state: MemoryState, uid: str) -> MemoryState:
    """The book without this pod."""
    nodes = state.nodes
    for blocks in state.entries.get(uid, {}).values():
        for block in blocks:
            nodes = tables.give_back(nodes, block)
    entries = {other: held for other, held in state.entries.items() if other != uid}
    whole = {other: blocks for other, blocks in state.pod_entries.items() if other != uid}
    return msgspec.structs.replace(state, nodes=nodes, entries=entries, pod_entries=whole)


def _chosen(
    state: MemoryState, numa: tuple[int, ...], claim: PodClaim, container: ContainerClaim, hint: Hint
) -> tuple[int, ...] | str:
    """The nodes to use: those of the hint or the best offer, widened if they have too little."""
    left = spare(state, claim)
    best: Hint | None = hint
    if hint.nodes is None:
        best = next(offers(state.nodes, numa, container.memory, left), None)
    if best is None or best.nodes is None:
        return _NO_NODES
    if hint.preferred and not best.preferred:
        return _NO_PREFERRED
    if not _will_do(state, best.nodes, container):
        found = offers(state.nodes, numa, container.memory, left)
        wider = next((each for each in found if each.nodes and best.nodes.issubset(each.nodes)), None)
        if wider is None or wider.nodes is None:
            return _NO_EXTENSION
        return _NO_PREFERRED_EXTENSION if best.preferred and not wider.preferred else wider.nodes.ids
    # A hint of one node is not asked whether that node is in a group.
    may = len(best.nodes) == 1 or tables.is_open(state.nodes, best.nodes.ids)
    return best.nodes.ids if may else _MIXED


def _will_do(state: MemoryState, nodes: CpuSet, container: ContainerClaim) -> bool:
    """Whether these have enough, without what init containers leave behind."""
    return all(tables.free(state.nodes, nodes, kind) >= wanted for kind, wanted in container.memory.items())


def _booked(state: MemoryState, claim: PodClaim, container: ContainerClaim, mask: tuple[int, ...]) -> MemoryState:
    left = spare(state, claim)
    nodes, blocks = state.nodes, []
    for kind, wanted in sorted(container.memory.items()):
        block = Block(nodes=mask, type=kind, size=wanted)
        blocks.append(block)
        nodes = tables.take(nodes, block, max(0, wanted - left.get((mask, kind), 0)))
    held = dict(_used_up(state, claim, blocks))
    held[container.name] = tuple(blocks)
    return msgspec.structs.replace(state, nodes=nodes, entries=state.entries | {claim.uid: held})


def _used_up(
    state: MemoryState, claim: PodClaim, blocks: Iterable[Block]
) -> Iterator[tuple[str, tuple[Block, ...]]]:
    """The pod's blocks after these took what they could from its init containers, the first one first."""
    wanted = {(block.nodes, block.type): block.size for block in blocks}
    ending = {each.name for each in claim.containers if each.kind == "init"}
    for name, held in state.entries.get(claim.uid, {}).items():
        yield name, tuple(_lent(block, wanted) if name in ending else block for block in held)


def _lent(block: Block, wanted: dict[tuple[tuple[int, ...], str], int]) -> Block:
    key = block.nodes, block.type
    part = min(block.size, wanted.get(key, 0))
    wanted[key] = wanted.get(key, 0) - part
    return msgspec.structs.replace(block, size=block.size - part)
