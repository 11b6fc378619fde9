"""The memory manager's tables: how much of each kind of memory a NUMA node has, and how much of it is promised.

Must stay true of every table: free and reserved together are allocatable, and nothing is below zero. Upstream lets
a node that is smaller than its reservation wrap around to 16 EiB; here it has nothing to give.

Memory that spans nodes is taken from the lowest node first, and given back in the same order.
"""

from collections.abc import Iterable, Mapping

import msgspec

from flexlet.api.quantity import Quantity
from flexlet.core.machine.machine import Machine, NumaNode
from flexlet.core.managers.state import Block, MemoryTable, NumaState
from flexlet.core.resources.names import HUGEPAGES_PREFIX, MEMORY

Nodes = dict[int, NumaState]
Reserved = Mapping[int, Mapping[str, int]]
"""Bytes kept for the system, by NUMA node and kind of memory."""
_NOTHING = MemoryTable()


def empty(machine: Machine, reserved: Reserved) -> Nodes:
    """The tables of a machine on which nobody has been promised anything."""
    return {node.id: _empty(node, reserved.get(node.id, {})) for node in machine.numa}


def _empty(node: NumaNode, reserved: Mapping[str, int]) -> NumaState:
    pages = {page_kind(size): size * count for size, count in sorted(node.hugepages.items())}
    tables = {kind: _table(total, reserved.get(kind, 0)) for kind, total in pages.items()}
    tables[MEMORY] = _table(node.memory, reserved.get(MEMORY, 0), sum(pages.values()))
    return NumaState(tables=tables, cells=(node.id,))


def _table(total: int, reserved: int, pages: int = 0) -> MemoryTable:
    left = max(0, total - reserved - pages)
    return MemoryTable(total=total, system_reserved=reserved, allocatable=left, free=left)


def page_kind(size: int) -> str:
    """The name of huge pages of this many bytes: ``hugepages-2Mi``."""
    return f"{HUGEPAGES_PREFIX}{Quantity.of_bytes(size)}"


def free(nodes: Nodes, mask: Iterable[int], kind: str) -> int:
    """What these nodes together can still promise; a node that is gone can promise nothing."""
    return sum(nodes[node].tables.get(kind, _NOTHING).free for node in mask if node in nodes)


def allocatable(nodes: Nodes, mask: Iterable[int], kind: str) -> int:
    """What these nodes together could ever promise."""
    return sum(nodes[node].tables.get(kind, _NOTHING).allocatable for node in mask if node in nodes)


def taken(nodes: Nodes, mask: Iterable[int], kind: str) -> int:
    """What these nodes together have promised."""
    return sum(nodes[node].tables.get(kind, _NOTHING).reserved for node in mask if node in nodes)


def is_open(nodes: Nodes, mask: tuple[int, ...]) -> bool:
    """Whether these nodes may serve somebody together: a node is used alone or in one group, never both."""
    if len(mask) == 1:
        return len(nodes[mask[0]].cells) == 1
    return all(nodes[node].assignments == 0 or nodes[node].cells == mask for node in mask)


def take(nodes: Nodes, block: Block, size: int | None = None) -> Nodes:
    """The tables after a promise; `size` is how much of the block must be found anew, all of it by default."""
    missing = block.size if size is None else size
    result = dict(nodes)
    for node in block.nodes:
        table = nodes[node].tables.get(block.type, _NOTHING)
        part = min(missing, table.free)
        missing -= part
        result[node] = _moved(nodes[node], block.type, part, assignments=1, cells=block.nodes)
    return result


def give_back(nodes: Nodes, block: Block) -> Nodes:
    """The tables after a promise ended; a node on which nobody is left belongs to no group."""
    rest = block.size
    result = dict(nodes)
    for node in block.nodes:
        table = nodes[node].tables.get(block.type, _NOTHING)
        part = min(rest, table.reserved)
        rest -= part
        alone = nodes[node].assignments == 1
        cells = (node,) if alone else nodes[node].cells
        result[node] = _moved(nodes[node], block.type, -part, assignments=-1, cells=cells)
    return result


def _moved(node: NumaState, kind: str, size: int, *, assignments: int, cells: tuple[int, ...]) -> NumaState:
    tables = node.tables
    if size:
        table = tables[kind]
        moved = msgspec.structs.replace(table, reserved=table.reserved + size, free=table.free - size)
        tables = tables | {kind: moved}
    return NumaState(assignments=node.assignments + assignments, tables=tables, cells=cells)
