"""Where CPUs sit, as groups: the cores, caches, sockets and NUMA nodes with the CPUs that each has online.

Upstream works with averages (CPUs by cores), which go wrong as soon as one thread of a core is offline: it then
takes half cores for whole ones and hands out reserved CPUs. Here a core is whole if it has as many threads as the
largest core, and a group is free if all CPUs that it really has are free; on an even machine that is the same.
"""

import functools
from collections.abc import Iterable
from typing import Literal

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.core.machine.machine import Cpu

Level = Literal["core", "cache", "socket", "numa"]
Ids = frozenset[int]
"""CPU ids while they are counted; `CpuSet` is for what leaves this package."""


class Topology(msgspec.Struct, frozen=True, dict=True):
    """The CPUs of a machine, grouped."""

    cpus: tuple[Cpu, ...]

    @functools.cached_property
    def by_id(self) -> dict[int, Cpu]:
        """Each CPU by its id."""
        return {cpu.id: cpu for cpu in self.cpus}

    @functools.cached_property
    def cores(self) -> dict[int, Ids]:
        """The threads of each core."""
        return _groups((cpu.core, cpu.id) for cpu in self.cpus)

    @functools.cached_property
    def caches(self) -> dict[int, Ids]:
        """The CPUs behind each last-level cache."""
        return _groups((cpu.cache, cpu.id) for cpu in self.cpus)

    @functools.cached_property
    def sockets(self) -> dict[int, Ids]:
        """The CPUs of each socket."""
        return _groups((cpu.socket, cpu.id) for cpu in self.cpus)

    @functools.cached_property
    def nodes(self) -> dict[int, Ids]:
        """The CPUs of each NUMA node that has any."""
        return _groups((cpu.numa, cpu.id) for cpu in self.cpus)

    @functools.cached_property
    def threads(self) -> int:
        """How many threads a core has that is whole."""
        return max((len(core) for core in self.cores.values()), default=1)

    @functools.cached_property
    def is_even(self) -> bool:
        """Whether all cores have as many threads, as they have unless one is offline."""
        return all(len(core) == self.threads for core in self.cores.values())

    @property
    def node_first(self) -> bool:
        """Whether whole NUMA nodes are tried before whole sockets: the larger unit of the two comes first."""
        return len(self.sockets) >= len(self.nodes)

    def units(self, level: Level) -> dict[int, Ids]:
        """The groups of one level."""
        return {"core": self.cores, "cache": self.caches, "socket": self.sockets, "numa": self.nodes}[level]

    def free_units(self, level: Level, free: Ids) -> frozenset[int]:
        """The groups of which everything is free; half a core is never a free core."""
        size = self.threads if level == "core" else 1
        return frozenset(name for name, own in self.units(level).items() if own <= free and len(own) >= size)

    def on_nodes(self, cpus: CpuSet, nodes: Iterable[int]) -> CpuSet:
        """Those CPUs that are on these NUMA nodes."""
        wanted = frozenset(nodes)
        return CpuSet.of(cpu for cpu in cpus if cpu in self.by_id and self.by_id[cpu].numa in wanted)

    def nodes_of(self, cpus: CpuSet) -> frozenset[int]:
        """The NUMA nodes of these CPUs; those that are gone have none."""
        return frozenset(self.by_id[cpu].numa for cpu in cpus if cpu in self.by_id)

    def in_whole_cores(self, free: CpuSet) -> CpuSet:
        """Those CPUs of which the whole core is in the set."""
        wanted = self.free_units("core", frozenset(free))
        return CpuSet.of(cpu for cpu in free if cpu in self.by_id and self.by_id[cpu].core in wanted)

    def with_siblings(self, cpus: CpuSet) -> CpuSet:
        """All threads of the cores of these CPUs."""
        cores = {self.by_id[cpu].core for cpu in cpus if cpu in self.by_id}
        return CpuSet.of(cpu for core in cores for cpu in self.cores[core])


def _groups(pairs: Iterable[tuple[int, int]]) -> dict[int, Ids]:
    found: dict[int, set[int]] = {}
    for group, cpu in pairs:
        found.setdefault(group, set()).add(cpu)
    return {group: frozenset(found[group]) for group in sorted(found)}
