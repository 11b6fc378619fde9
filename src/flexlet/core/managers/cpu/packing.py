"""Choosing CPUs that sit close together: whole NUMA nodes and sockets, whole cores, then single CPUs.

Kubernetes' algorithm: a unit is taken only if it is free as a whole and no larger than what is still needed, and
the fullest unit comes first, so that the emptiest stay whole for the next request.
"""

import functools
from collections.abc import Callable, Iterable

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.cpu.refusals import not_enough
from flexlet.core.managers.cpu.topology import Ids, Level, Topology
from flexlet.core.managers.state import Refusal


class Pick(msgspec.Struct, frozen=True):
    """Half-way: what is still free, what was taken, how many more are needed."""

    free: Ids
    taken: Ids
    need: int

    def take(self, cpus: Ids) -> "Pick":
        """With these taken too."""
        return Pick(self.free - cpus, self.taken | cpus, self.need - len(cpus))


Step = Callable[[Topology, Pick], Pick]


def packed(
    topology: Topology, available: CpuSet, need: int, *, by_cache: bool = False, spread: bool = False
) -> CpuSet | Refusal:
    """`need` CPUs out of the available ones.

    `by_cache` prefers to stay behind one last-level cache; `spread` takes threads of different cores.
    """
    free = frozenset(available)
    if need > len(free):
        return not_enough(need, len(free))
    start = Pick(free, frozenset(), need)
    steps = _steps(topology, by_cache=by_cache, spread=spread)
    done = functools.reduce(lambda pick, step: step(topology, pick) if pick.need > 0 else pick, steps, start)
    return CpuSet.of(done.taken)


def by_fullness(topology: Topology, level: Level, free: Ids) -> list[int]:
    """The units of a level that have free CPUs; the fullest first, and those of one larger unit together."""
    parent = _parent(topology, level)
    if parent is None:
        return _sorted(topology, level, free, free)
    found: dict[int, None] = {}
    for unit in by_fullness(topology, parent, free):
        inside = topology.units(parent)[unit] & free
        found.update(dict.fromkeys(_sorted(topology, level, inside, free)))
    return list(found)


def _parent(topology: Topology, level: Level) -> Level | None:
    match level, topology.node_first:
        case "cache", _:
            return "numa"
        case "core", node_first:
            return "socket" if node_first else "numa"
        case "socket", True:
            return "numa"
        case "numa", False:
            return "socket"
        case _:
            return None


def _sorted(topology: Topology, level: Level, inside: Ids, free: Ids) -> list[int]:
    """The units that have CPUs in `inside`, those with the fewest free CPUs first."""
    units = topology.units(level)
    names = {getattr(topology.by_id[cpu], level) for cpu in inside}
    return sorted(names, key=lambda name: (len(units[name] & free), name))


def _steps(topology: Topology, *, by_cache: bool, spread: bool) -> Iterable[Step]:
    yield functools.partial(_whole_units, level="numa" if topology.node_first else "socket")
    yield functools.partial(_whole_units, level="socket" if topology.node_first else "numa")
    if by_cache:
        yield _caches
    if not spread:
        yield functools.partial(_whole_units, level="core")
    yield _single_spread if spread else _single_packed


def _whole_units(topology: Topology, pick: Pick, level: Level) -> Pick:
    whole = topology.free_units(level, pick.free)
    for name in by_fullness(topology, level, pick.free):
        own = topology.units(level)[name]
        if name in whole and pick.need >= len(own):
            pick = pick.take(own)
    return pick


def _caches(topology: Topology, pick: Pick) -> Pick:
    """Whole caches while as much is needed as a cache has on average, then one cache that has exactly the rest."""
    usual = len(topology.cpus) // len(topology.caches)
    for name in by_fullness(topology, "cache", pick.free):
        if pick.need >= usual:
            pick = _whole_units(topology, pick, "cache")
        if pick.need > 0:
            pick = _part_of_cache(topology, pick, name)
        if pick.need < 1:
            break
    return pick


def _part_of_cache(topology: Topology, pick: Pick, name: int) -> Pick:
    """The lowest cores behind this cache, if their free threads are as many as needed; else nothing."""
    free = topology.caches[name] & pick.free
    wanted = -(-pick.need // topology.threads)
    cores = sorted({topology.by_id[cpu].core for cpu in free})[:wanted]
    threads = sorted(cpu for cpu in pick.free if topology.by_id[cpu].core in cores)
    if pick.need % 2 and topology.threads > 1 and len(threads) > pick.need:
        threads.pop()
    return pick.take(frozenset(threads)) if len(threads) == pick.need else pick


def _single_packed(topology: Topology, pick: Pick) -> Pick:
    cores = by_fullness(topology, "core", pick.free)
    return _first(pick, [cpu for core in cores for cpu in sorted(topology.cores[core] & pick.free)])


def _single_spread(topology: Topology, pick: Pick) -> Pick:
    sockets = by_fullness(topology, "socket", pick.free)
    return _first(pick, [cpu for socket in sockets for cpu in sorted(topology.sockets[socket] & pick.free)])


def _first(pick: Pick, cpus: list[int]) -> Pick:
    return pick.take(frozenset(cpus[: pick.need]))
