"""From what was read to a Machine: the one place that knows what the texts of /proc and /sys mean.

A reading that cannot be true (no MemTotal, no CPU online) raises HostError, and whoever asked keeps the machine of
the reading before. Everything that merely is not there (no NUMA, no swap, no DMI) is a machine without it.
Follows node-resize.md §1.1.
"""

import re
from typing import Final

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.api.units import Bytes
from flexlet.core.machine import identity, sources, topology
from flexlet.core.machine.machine import Cgroups, HalfPlugged, Machine, NumaNode, Pages
from flexlet.core.machine.snapshot import Snapshot
from flexlet.errors import HostError

_HUGEPAGES: Final = re.compile(rf"{sources.HUGEPAGES}/hugepages-(\d+)kB/nr_hugepages")
_NODE_HUGEPAGES: Final = re.compile(rf"{sources.NODE}/node(\d+)/hugepages/hugepages-(\d+)kB/nr_hugepages")
_BLOCK: Final = re.compile(rf"{sources.MEMORY}/memory(\d+)/state")
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
        auto_online=snapshot.text(sources.AUTO_ONLINE) or "",
        identity=identity.identity(snapshot),
        cgroups=_cgroups(snapshot),
        half_plugged=_half_plugged(snapshot, CpuSet.of(cpu.id for cpu in cpus)),
    )
    return measured(known, snapshot, storage_path)


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
        hugepages={int(match[1]) * 1024: _count(match[0], text) for match, text in sizes.matching(_HUGEPAGES)},
        numa=_measured_nodes(known.numa, sizes),
        pids=_pid_limit(sizes),
        storage=None if storage is None else Bytes(storage.capacity),
    )
    return known if found == known else found


def _totals(meminfo: str) -> dict[str, Bytes]:
    return {name: Bytes(int(count) * 1024) for name, count in _TOTAL.findall(meminfo)}


def _numa(snapshot: Snapshot, ids: list[int]) -> tuple[NumaNode, ...]:
    return tuple(NumaNode(id=node, distances=_distances(snapshot, node, ids)) for node in ids)


def _measured_nodes(nodes: tuple[NumaNode, ...], sizes: Snapshot) -> tuple[NumaNode, ...]:
    pages: dict[int, Pages] = {}
    for match, text in sizes.matching(_NODE_HUGEPAGES):
        pages.setdefault(int(match[1]), {})[int(match[2]) * 1024] = _count(match[0], text)
    return tuple(
        msgspec.structs.replace(
            node,
            memory=_totals(sizes.text(f"{sources.NODE}/node{node.id}/meminfo") or "").get("MemTotal", Bytes(0)),
            hugepages=pages.get(node.id, {}),
        )
        for node in nodes
    )


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
