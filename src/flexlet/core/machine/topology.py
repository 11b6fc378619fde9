"""Where CPUs sit: NUMA node, socket, core and last-level cache, from the texts of sysfs.

A CPU counts if it is online and the kernel has said where it sits; one that is online without that is settling and
will count with the next reading. On a kernel that tells nothing about any CPU each one is a core of its own.

Follows cAdvisor, with a position of our own: without NUMA directories upstream counts offline CPUs too, which
would offer pods what nobody can run on; here they never count.
"""

import re
from collections.abc import Iterable
from typing import Final

from flexlet.api.cpuset import CpuSet
from flexlet.core.machine.machine import Cpu
from flexlet.core.machine.snapshot import Snapshot
from flexlet.core.machine.sources import CORE_PARTS, CPU, CPUS_ONLINE, CPUS_PRESENT, NODE
from flexlet.errors import HostError, InputError

Core = tuple[int, ...]

_NODE_CPU: Final = re.compile(rf"{NODE}/node(\d+)/cpu(\d+)")
_NODE: Final = re.compile(rf"{NODE}/node(\d+)(?:/.*)?")
_TOPOLOGY: Final = re.compile(rf"{CPU}/cpu(\d+)/topology/({'|'.join(CORE_PARTS)})")
_CACHE: Final = re.compile(rf"{CPU}/cpu(\d+)/cache/index(\d+)/(level|id|shared_cpu_list)")


def cpus(snapshot: Snapshot) -> tuple[Cpu, ...]:
    """The CPUs that count, by id; HostError if there are none."""
    online, seats = online_cpus(snapshot), _seats(snapshot)
    if not seats:
        return tuple(Cpu(cpu, core=cpu, socket=0, numa=0, cache=0) for cpu in online)
    nodes = _nodes_of_cpus(snapshot)
    homes = {cpu: nodes[cpu] if nodes else seat[0] for cpu, seat in seats.items() if not nodes or cpu in nodes}
    counted = [cpu for cpu in online if cpu in homes]
    if not counted:
        raise HostError(f"cannot count CPUs: none of {online} says under {CPU} on which socket it sits")
    cores = _cores((homes[cpu], seats[cpu], cpu) for cpu in counted)
    caches = _caches(snapshot, homes, counted)
    return tuple(
        Cpu(
            cpu,
            core=core,
            socket=seats[cpu][0],
            numa=homes[cpu],
            cache=caches.get(core, seats[cpu][0]),
        )
        for cpu in counted
        for core in (cores[homes[cpu], seats[cpu]],)
    )


def numa_ids(snapshot: Snapshot, counted: Iterable[Cpu]) -> list[int]:
    """The NUMA nodes, with and without CPUs; on a kernel without NUMA the sockets stand for them."""
    found = {int(match[1]) for match, _ in snapshot.matching(_NODE)}
    return sorted(found or {cpu.numa for cpu in counted})


def online_cpus(snapshot: Snapshot) -> CpuSet:
    """The kernel's list; on one that cannot take CPUs offline, those that are there."""
    text = snapshot.text(CPUS_ONLINE)
    if text is None:
        text = snapshot.text(CPUS_PRESENT)
    if text is None:
        return CpuSet.of(_seats(snapshot))
    online = cpu_list(text, CPUS_ONLINE)
    if not online:
        raise HostError(f"cannot count CPUs: {CPUS_ONLINE} lists none")
    return online


def cpu_list(text: str, path: str) -> CpuSet:
    """A list of CPUs that was read from `path`; HostError if it is not one."""
    try:
        return CpuSet.parse(text)
    except InputError as error:
        raise HostError(f"cannot read {path}: {error.message}") from None


def _seats(snapshot: Snapshot) -> dict[int, Core]:
    """Per CPU what together names its core, the socket first; only CPUs of which socket and core are known."""
    parts: dict[int, dict[str, int]] = {}
    for match, text in snapshot.matching(_TOPOLOGY):
        if text.removeprefix("-").isdigit():
            parts.setdefault(int(match[1]), {})[match[2]] = int(text)
    return {
        cpu: tuple(known.get(part, 0) for part in CORE_PARTS)
        for cpu, known in parts.items()
        if CORE_PARTS[0] in known and CORE_PARTS[-1] in known
    }


def _nodes_of_cpus(snapshot: Snapshot) -> dict[int, int]:
    return {int(match[2]): int(match[1]) for match, _ in snapshot.matching(_NODE_CPU)}


def _cores(threads: Iterable[tuple[int, Core, int]]) -> dict[tuple[int, Core], int]:
    """The lowest thread of each core; cores of equal name on two NUMA nodes are two."""
    lowest: dict[tuple[int, Core], int] = {}
    for home, seat, cpu in threads:
        lowest.setdefault((home, seat), cpu)
    return lowest


def _caches(snapshot: Snapshot, homes: dict[int, int], counted: list[int]) -> dict[int, int]:
    """The id of the last-level cache per CPU, where it serves only part of the NUMA node."""
    entries: dict[tuple[int, int], dict[str, str]] = {}
    for match, text in snapshot.matching(_CACHE):
        entries.setdefault((int(match[1]), int(match[2])), {})[match[3]] = text
    threads: dict[int, int] = {}
    for cpu in counted:
        threads[homes[cpu]] = threads.get(homes[cpu], 0) + 1
    found: dict[int, int] = {}
    for (cpu, _), entry in sorted(entries.items()):
        served = _partial_cache(entry, threads.get(homes.get(cpu, -1), 0))
        if served is not None:
            found.setdefault(cpu, served)
    return found


def _partial_cache(entry: dict[str, str], threads: int) -> int | None:
    level, name, shared = (entry.get(part, "") for part in ("level", "id", "shared_cpu_list"))
    if not level.isdigit() or int(level) <= 2 or not name.isdigit():
        return None
    return None if len(cpu_list(shared, "shared_cpu_list")) == threads else int(name)
