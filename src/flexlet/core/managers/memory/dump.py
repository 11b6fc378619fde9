"""The checksum of ``memory_manager_state``: FNV-1a over the struct as Go's dumper shows it, with names and types.

It is always taken under the struct's first name, whatever the version; for some months kubelets used another one.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from flexlet.core import fnv
from flexlet.core.managers.state import Block, Blocks, MemoryState, MemoryTable, NumaState

NAME: Final = "MemoryManagerCheckpoint"
OLD_NAME: Final = "MemoryManagerCheckpointV1"


def checksum(state: MemoryState, *, version: int, name: str = NAME) -> int:
    """The checksum of version 1 or 2."""
    pods = f" PodEntries:(state.PodMemoryAssignments){_dump_pods(state.pod_entries)}" if version == 2 else ""
    dumped = (
        f"(*state.{name}){{PolicyName:(string){state.policy} MachineState:(state.NUMANodeMap)"
        f"{_dump_map((str(node), _dump_node(state.nodes[node])) for node in sorted(state.nodes))} "
        f"Entries:(state.ContainerMemoryAssignments){_dump_entries(state.entries)}{pods} "
        "Checksum:(checksum.Checksum)0}"
    )
    return fnv.fnv1a(dumped.encode())


def _dump_map(pairs: Iterable[tuple[str, str]]) -> str:
    return f"map[{' '.join(f'{key}:{value}' for key, value in pairs)}]"


def _dump_node(node: NumaState) -> str:
    tables = _dump_map((kind, _dump_table(table)) for kind, table in sorted(node.tables.items()))
    return (
        f"<*>{{NumberOfAssignments:(int){node.assignments} MemoryMap:(map[v1.ResourceName]*state.MemoryTable)"
        f"{tables} Cells:([]int){_dump_ints(node.cells)}}}"
    )


def _dump_table(table: MemoryTable) -> str:
    return (
        f"<*>{{TotalMemSize:(uint64){table.total} SystemReserved:(uint64){table.system_reserved} "
        f"Allocatable:(uint64){table.allocatable} Reserved:(uint64){table.reserved} Free:(uint64){table.free}}}"
    )


def _dump_entries(entries: Blocks) -> str:
    return _dump_map(
        (uid, _dump_map((name, _dump_blocks(held[name])) for name in sorted(held)))
        for uid, held in sorted(entries.items())
    )


def _dump_pods(pods: Mapping[str, tuple[Block, ...]]) -> str:
    return _dump_map(
        (uid, f"{{MemoryBlocks:([]state.Block){_dump_blocks(blocks)}}}") for uid, blocks in sorted(pods.items())
    )


def _dump_blocks(blocks: Iterable[Block]) -> str:
    dumped = (
        f"{{NUMAAffinity:([]int){_dump_ints(block.nodes)} Type:(v1.ResourceName){block.type} "
        f"Size:(uint64){block.size}}}"
        for block in blocks
    )
    return f"[{' '.join(dumped)}]"


def _dump_ints(numbers: Iterable[int]) -> str:
    return f"[{' '.join(map(str, numbers))}]"
