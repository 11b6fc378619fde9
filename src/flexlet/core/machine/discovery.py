"""From what was read to a Machine: the one place that knows what the texts of /proc and /sys mean.

A reading that cannot be true (no MemTotal, no CPU online) raises HostError, and whoever asked keeps the machine of
the reading before. Everything that merely is not there (no NUMA, no swap, no DMI) is a machine without it.
Follows node-resize.md §1.1.
"""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.api.units import Bytes
from flexlet.core.machine import identity, sources, topology
from flexlet.core.machine.machine import Cgroups, HalfPlugged, Machine, NumaNode, Pages
from flexlet.core.machine.snapshot import Snapshot
from flexlet.errors import HostError

_HUGEPAGES: Final = re.compile(rf"{sources.HUGEPAGES}/hugepages-(\d+)kB/(nr|surplus)_hugepages")
_NODE_HUGEPAGES: Final = re.compile(
    rf"{sources.NODE}/node(\d+)/hugepages/hugepages-(\d+)kB/(nr|surplus)_hugepages"
)
_BLOCK: Final = re.compile(rf"{sources.MEMORY}/memory(\d+)/state")
_NODE_BLOCK: Final = re.compile(rf"{sources.NODE}/node(\d+)/memory(\d+)")
_BLOCK_ZONES: Final = re.compile(rf"{sources.MEMORY}/memory(\d+)/valid_zones")
_ZONE: Final = re.compile(r"^Node \d+, zone +(\S+)$(?:\n +.*)*?\n +managed +(\d+)$", re.MULTILINE)
_SWAP_LIMIT: Final = re.compile(rf"{sources.CGROUP}/[^/]+/memory\.swap\.max")
_TOTAL: Final = re.compile(r"^(?:Node \d+ )?(MemTotal|SwapTotal):\s+(\d+) kB$", re.MULTILINE)


def machine(snapshot: Snapshot, storage_path: str = "") -> Machine:
    """The machine of a whole snapshot; `storage_path` is the directory whose filesystem pods share."""
    cpus = topology.cpus(snapshot)
    known = Machine(
        cpus=cpus,
        possible=_listed(snapshot, sources.CPUS_POSSIBLE),
        numa=_numa(snapshot, topology.numa_ids(snapshot, cpus)),
        block_size=Bytes(int(snapshot.text(sources.BLOCK_SIZE) or "0", 16)),
        blocks=tuple(sorted(int(match[1]) for match, _ in snapshot.matching(_BLOCK))),
        movable_blocks=_movable_blocks(snapshot),
        auto_online=snapshot.text(sources.AUTO_ONLINE) or "",
        identity=identity.identity(snapshot),
        cgroups=_cgroups(snapshot),
        half_plugged=_half_plugged(snapshot, CpuSet.of(cpu.id for cpu in cpus)),
    )
    found = measured(known, snapshot, storage_path)
    return msgspec.structs.replace(found, movable=_movable(snapshot, found.memory))


def measured(known: Machine, sizes: Snapshot, storage_path: str = "") -> Machine:
    """A known machine after its sizes alone were read again; the very same one if nothing changed."""
    totals = _totals(sizes.text(sources.MEMINFO) or "")
    if not totals.get("MemTotal"):
        reason = sizes.unreadable.get(sources.MEMINFO, "it has no MemTotal")
        raise HostError(f"cannot measure memory: {sources.MEMINFO}: {reason}")
    storage = sizes.filesystems.get(storage_path)
    found = msgspec.structs.replace(
        known,
        memory=totals["MemTotal"],
        swap=totals.get("SwapTotal", Bytes(0)),
        hugepages=_pages(
            (match[1], match[2], _count(match[0], text)) for match, text in sizes.matching(_HUGEPAGES)
        ),
        numa=_measured_nodes(known.numa, sizes),
        pids=_pid_limit(sizes),
        storage=None if storage is None else Bytes(storage.capacity),
    )
    return known if found == known else found


def _totals(meminfo: str) -> dict[str, Bytes]:
    return {name: Bytes(int(count) * 1024) for name, count in _TOTAL.findall(meminfo)}


def _numa(snapshot: Snapshot, ids: list[int]) -> tuple[NumaNode, ...]:
    blocks: dict[int, list[int]] = {}
    for match, _ in snapshot.matching(_NODE_BLOCK):
        blocks.setdefault(int(match[1]), []).append(int(match[2]))
    return tuple(
        NumaNode(
            id=node,
            distances=_distances(snapshot, node, ids),
            blocks=tuple(sorted(blocks.get(node, ()))),
        )
        for node in ids
    )


def _measured_nodes(nodes: tuple[NumaNode, ...], sizes: Snapshot) -> tuple[NumaNode, ...]:
    counts: dict[int, list[tuple[str, str, int]]] = {}
    for match, text in sizes.matching(_NODE_HUGEPAGES):
        counts.setdefault(int(match[1]), []).append((match[2], match[3], _count(match[0], text)))
    return tuple(
        msgspec.structs.replace(
            node,
            memory=_totals(sizes.text(f"{sources.NODE}/node{node.id}/meminfo") or "").get("MemTotal", Bytes(0)),
            hugepages=_pages(counts.get(node.id, ())),
        )
        for node in nodes
    )


def _pages(counts: Iterable[tuple[str, str, int]]) -> Pages:
    """Pages that stay, by size in bytes: a decrease below use leaves surplus pages until they are freed."""
    pages: Pages = {}
    for kib, kind, count in counts:
        size = int(kib) * 1024
        pages[size] = pages.get(size, 0) + (count if kind == "nr" else -count)
    return {size: max(0, count) for size, count in pages.items()}


def _movable(snapshot: Snapshot, memory: Bytes) -> Bytes:
    """Zones are counted in pages, and all of them together are the memory, whatever the size of a page."""
    zones = [(name, int(pages)) for name, pages in _ZONE.findall(snapshot.text(sources.ZONES) or "")]
    movable, everything = (sum(n for name, n in zones if name in wanted) for wanted in ({"Movable"}, dict(zones)))
    return Bytes(memory * movable // everything if everything else 0)


def _movable_blocks(snapshot: Snapshot) -> tuple[int, ...]:
    """A block that is online names the one zone it is in; one that is offline names all that it could go to."""
    states = {int(match[1]): text for match, text in snapshot.matching(_BLOCK)}
    zones = ((int(match[1]), text) for match, text in snapshot.matching(_BLOCK_ZONES))
    return tuple(sorted(block for block, zone in zones if zone == "Movable" and states.get(block) == "online"))


def _distances(snapshot: Snapshot, node: int, ids: list[int]) -> dict[int, int]:
    """The file lists online nodes in the order of their ids, so the position is not the id."""
    text = snapshot.text(f"{sources.NODE}/node{node}/distance") or ""
    online = _listed(snapshot, sources.NODES_ONLINE) or CpuSet.of(ids)
    numbers = text.split()
    return dict(zip(online, map(int, numbers), strict=False)) if all(map(str.isdigit, numbers)) else {}


def _pid_limit(snapshot: Snapshot) -> int:
    limits = [snapshot.text(path) or "" for path in (sources.PID_MAX, sources.THREADS_MAX)]
    return min((int(limit) for limit in limits if limit.isdigit()), default=0)


def _half_plugged(snapshot: Snapshot, counted: CpuSet) -> HalfPlugged:
    online = topology.online_cpus(snapshot)
    present = _listed(snapshot, sources.CPUS_PRESENT)
    states = sorted((int(match[1]), text) for match, text in snapshot.matching(_BLOCK))
    return HalfPlugged(
        offline_cpus=present - online,
        settling_cpus=online - counted,
        offline_blocks=tuple(block for block, state in states if state == "offline"),
        leaving_blocks=tuple(block for block, state in states if state == "going-offline"),
    )


def _cgroups(snapshot: Snapshot) -> Cgroups:
    controllers = snapshot.text(sources.CONTROLLERS)
    return Cgroups(
        unified=controllers is not None,
        controllers=frozenset((controllers or "").split()),
        swap=any(True for _ in snapshot.matching(_SWAP_LIMIT)),
    )


def _listed(snapshot: Snapshot, path: str) -> CpuSet:
    return topology.cpu_list(snapshot.text(path) or "", path)


def _count(path: str, text: str) -> int:
    if not text.isdigit():
        raise HostError(f"cannot read {path}: expected a number of pages, found {text!r}")
    return int(text)
