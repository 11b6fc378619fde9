"""The state file ``memory_manager_state``, byte for byte as kubelets of 1.36 and 1.37 write it.

Version 1 is the common one, 2 knows pods with memory of their own, 3 holds all of it once more as text (``data``),
and that text is what counts.
"""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from flexlet.api import decode, gotext
from flexlet.core import fnv
from flexlet.core.managers.memory import dump
from flexlet.core.managers.state import Block, MemoryState, MemoryTable, NumaState
from flexlet.errors import InputError

NEWEST: Final = 3


class MemoryFile(msgspec.Struct, frozen=True):
    """A file that can be believed: its version (1 to 3) and the book in it."""

    version: int
    state: MemoryState


class SpoiledMemory(msgspec.Struct, frozen=True):
    """A file that cannot be believed, and why."""

    why: str


class _Table(msgspec.Struct, frozen=True, rename="camel"):
    total: int
    system_reserved: int
    allocatable: int
    reserved: int
    free: int


class _Node(msgspec.Struct, frozen=True, rename="camel"):
    number_of_assignments: int = 0
    memory_map: dict[str, _Table] = {}
    cells: list[int] = []


class _Block(msgspec.Struct, frozen=True, rename="camel"):
    numa_affinity: list[int] = []
    type: str = ""
    size: int = 0


class _Pod(msgspec.Struct, frozen=True, rename="camel"):
    memory_blocks: list[_Block] = []


class _Book(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    policy_name: str = ""
    machine_state: dict[int, _Node] | None = None
    entries: dict[str, dict[str, list[_Block]]] | None = None
    pod_entries: dict[str, _Pod] | None = None


class _File(_Book, frozen=True, kw_only=True, rename="camel"):
    checksum: int = 0
    data: str | None = None
    data_checksum: int = 0


def read(text: str) -> MemoryFile | SpoiledMemory:
    """The file, if its checksum is right; a checksum of 0 is older than checksums and is believed."""
    try:
        found = decode.from_json(text, _File)
        if found.data:
            return _from_data(found.data, found.data_checksum)
    except InputError as error:
        return SpoiledMemory(f"cannot be read: {error}")
    state = _state(found)
    version = _version(state, found.checksum)
    if version is None:
        wanted = dump.checksum(state, version=1)
        return SpoiledMemory(f"checkpoint is corrupted: its checksum is {found.checksum} and should be {wanted}")
    return MemoryFile(version, state)


def _from_data(data: str, claimed: int) -> MemoryFile | SpoiledMemory:
    wanted = data_checksum(data)
    if claimed != wanted:
        return SpoiledMemory(
            f"checkpoint is corrupted: the checksum of its data is {claimed} and should be {wanted}"
        )
    return MemoryFile(NEWEST, _state(decode.from_json(data, _Book)))


def _version(state: MemoryState, claimed: int) -> int | None:
    if claimed in (0, dump.checksum(state, version=1), dump.checksum(state, version=1, name=dump.OLD_NAME)):
        return 1
    return 2 if claimed == dump.checksum(state, version=2) else None


def write(state: MemoryState, version: int = NEWEST) -> str:
    """The text of the file."""
    document = _book(state, pods=version == 2)
    document["checksum"] = dump.checksum(state, version=2 if version == 2 else 1)
    if version == NEWEST:
        data = gotext.json_text(_book(state, pods=True))
        document |= {"data": data, "dataChecksum": data_checksum(data)}
    return gotext.json_text(document)


def data_checksum(data: str) -> int:
    """The checksum of the text in a file of version 3."""
    return fnv.fnv1a(f"(string){data}".encode())


def _book(state: MemoryState, *, pods: bool) -> dict[str, Any]:
    """The fields as JSON; Go sorts the keys of maps as texts, numbers too, and leaves out empty maps."""
    book: dict[str, Any] = {
        "policyName": state.policy,
        "machineState": {str(node): _node_json(state.nodes[node]) for node in sorted(state.nodes, key=str)},
    }
    if state.entries:
        book["entries"] = {
            uid: {name: _blocks_json(held[name]) for name in sorted(held)}
            for uid, held in sorted(state.entries.items())
        }
    if pods and state.pod_entries:
        book["podEntries"] = {
            uid: {"memoryBlocks": _blocks_json(blocks)} for uid, blocks in sorted(state.pod_entries.items())
        }
    return book


def _node_json(node: NumaState) -> dict[str, Any]:
    return {
        "numberOfAssignments": node.assignments,
        "memoryMap": {
            kind: {
                "total": table.total,
                "systemReserved": table.system_reserved,
                "allocatable": table.allocatable,
                "reserved": table.reserved,
                "free": table.free,
            }
            for kind, table in sorted(node.tables.items())
        },
        "cells": list(node.cells),
    }


def _blocks_json(blocks: Iterable[Block]) -> list[dict[str, Any]]:
    return [{"numaAffinity": list(block.nodes), "type": block.type, "size": block.size} for block in blocks]


def _state(book: _Book) -> MemoryState:
    return MemoryState(
        policy=book.policy_name,
        nodes={
            node: NumaState(
                assignments=each.number_of_assignments,
                tables={kind: _table(table) for kind, table in each.memory_map.items()},
                cells=tuple(each.cells),
            )
            for node, each in (book.machine_state or {}).items()
        },
        entries={
            uid: {name: _blocks(blocks) for name, blocks in held.items()}
            for uid, held in (book.entries or {}).items()
        },
        pod_entries={uid: _blocks(pod.memory_blocks) for uid, pod in (book.pod_entries or {}).items()},
    )


def _table(table: _Table) -> MemoryTable:
    return MemoryTable(
        total=table.total,
        system_reserved=table.system_reserved,
        allocatable=table.allocatable,
        reserved=table.reserved,
        free=table.free,
    )


def _blocks(blocks: Iterable[_Block]) -> tuple[Block, ...]:
    return tuple(Block(nodes=tuple(each.numa_affinity), type=each.type, size=each.size) for each in blocks)
