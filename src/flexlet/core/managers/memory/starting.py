"""The memory manager's book of a node that starts.

The kubelet compares its file with the machine byte for byte, and does not start if anything differs; memory
differs after a mere reboot. Here whatever differs is mended, and said; what matches goes on as it is.
"""

import functools
from collections.abc import Iterator, Sequence

import msgspec

from flexlet.core.machine.machine import Machine
from flexlet.core.managers.claims import PodClaim
from flexlet.core.managers.memory import reserving, tables
from flexlet.core.managers.memory.allocating import release
from flexlet.core.managers.memory.refit import Refit, Room, refit, replayed
from flexlet.core.managers.memory.tables import Nodes
from flexlet.core.managers.settings import ManagerSettings
from flexlet.core.managers.state import Block, MemoryState, MemoryTable


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """The book, and what was mended."""

    state: MemoryState
    repairs: tuple[str, ...] = ()


def fresh(settings: ManagerSettings, machine: Machine) -> MemoryState:
    """The book of a node on which nothing runs; ConfigError for reservations that cannot work."""
    if not settings.pins_memory:
        return MemoryState(policy=settings.memory_policy)
    return MemoryState(
        policy=settings.memory_policy, nodes=tables.empty(machine, reserving.configured(settings, machine))
    )


def restore(
    settings: ManagerSettings,
    machine: Machine,
    room: Room,
    found: MemoryState,
    holders: Sequence[PodClaim],
    safe: frozenset[str] = frozenset(),
) -> Begun:
    """The book that was read, made to match the machine; ConfigError as `fresh`."""
    if found.policy != settings.memory_policy:
        words = (
            f'configured policy "{settings.memory_policy}" differs from state checkpoint policy "{found.policy}"'
        )
        return Begun(state=fresh(settings, machine), repairs=(f"{words}: it is begun anew",))
    if not settings.pins_memory:
        return Begun(state=MemoryState(policy=found.policy))
    empty = tables.empty(machine, reserving.found(settings, machine, found.nodes))
    if _is_sound(found, empty):
        return Begun(state=_without_strangers(found, holders))
    done = refit(found, empty, room, holders, safe)
    return Begun(state=done.state, repairs=(*_problems(found, empty), *_mended(done)))


def _is_sound(found: MemoryState, empty: Nodes) -> bool:
    """Whether the kubelet would go on with this book as it is: what it holds adds up to what its entries say."""
    gone = any(node not in empty for block in _blocks(found) for node in block.nodes)
    return not gone and _summed(found.nodes) == _summed(replayed(empty, found.entries, ()))


def _blocks(found: MemoryState) -> Iterator[Block]:
    return (block for held in found.entries.values() for blocks in held.values() for block in blocks)


def _summed(nodes: Nodes) -> dict[int, tuple[int, tuple[int, ...], dict[str, tuple[int, ...]]]]:
    """Each node; who gave how much within a group depends on the order and does not count."""
    return {
        node: (
            state.assignments,
            state.cells,
            {
                kind: (
                    *_size(table),
                    tables.free(nodes, state.cells, kind),
                    tables.taken(nodes, state.cells, kind),
                )
                for kind, table in state.tables.items()
            },
        )
        for node, state in nodes.items()
    }


def _without_strangers(found: MemoryState, holders: Sequence[PodClaim]) -> MemoryState:
    known = {claim.uid for claim in holders}
    strangers = [uid for uid in dict.fromkeys((*found.entries, *found.pod_entries)) if uid not in known]
    return functools.reduce(release, strangers, found)


def _problems(found: MemoryState, empty: Nodes) -> list[str]:
    """What the kubelet would not start with, in its words."""
    gone = [
        f"[memorymanager] (pod: {uid}, container: {name}) the memory assignment uses the NUMA that does not exist"
        for uid, held in sorted(found.entries.items())
        for name, blocks in sorted(held.items())
        if any(node not in empty for block in blocks for node in block.nodes)
    ]
    if gone or not found.nodes or _sizes(found.nodes) == _sizes(empty):
        return gone
    return ["[memorymanager] the expected machine state is different from the real one"]


def _sizes(nodes: Nodes) -> dict[int, dict[str, tuple[int, int, int]]]:
    return {node: {kind: _size(table) for kind, table in state.tables.items()} for node, state in nodes.items()}


def _size(table: MemoryTable) -> tuple[int, int, int]:
    return table.total, table.system_reserved, table.allocatable


def _mended(done: Refit) -> list[str]:
    moved = [
        f"the memory of container {move.container} of pod {move.uid} moves from NUMA nodes {move.before} to "
        f"{move.after}"
        for move in done.moved
    ]
    lost = [
        f"pod {uid} has no room for its memory any more: {refusal.message}"
        for uid, refusal in done.victims.items()
    ]
    unbound = [f"pod {uid} has no room for its memory any more and runs on without" for uid in done.unbound]
    return [*moved, *lost, *unbound]
