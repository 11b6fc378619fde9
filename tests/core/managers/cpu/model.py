"""A second, slow opinion on which CPUs are chosen: the rules of Kubernetes with its averages, told step by step.

It is right only for even machines: every core as many threads, every socket as many cores.
"""

import itertools
import statistics

from flexlet.core.managers.cpu.topology import Level, Topology


def chosen(topology: Topology, available: set[int], need: int, *, by_cache: bool = False) -> set[int]:
    """The packed choice."""
    left, got = set(available), set[int]()
    levels: list[Level] = (
        ["numa", "socket"] if len(topology.sockets) >= len(topology.nodes) else ["socket", "numa"]
    )
    for level in levels:
        _take_whole(topology, level, left, got, need)
    if by_cache:
        for cache in _order(topology, "cache", left):
            _take_whole(topology, "cache", left, got, need)
            _take_part(topology, cache, left, got, need)
    _take_whole(topology, "core", left, got, need)
    for core in _order(topology, "core", left):
        for cpu in sorted(topology.cores[core] & left):
            if len(got) < need:
                left.remove(cpu)
                got.add(cpu)
    return got


def _take_whole(topology: Topology, level: Level, left: set[int], got: set[int], need: int) -> None:
    units = topology.units(level)
    average = len(topology.cpus) // len(units)
    free = [unit for unit in _order(topology, level, left) if len(units[unit] & left) == average]
    for unit in free:
        if need - len(got) >= average:
            got |= units[unit]
            left -= units[unit]


def _take_part(topology: Topology, cache: int, left: set[int], got: set[int], need: int) -> None:
    missing = need - len(got)
    threads = len(topology.cpus) // len(topology.cores)
    behind = sorted({topology.by_id[cpu].core for cpu in topology.caches[cache] & left})
    part = sorted(
        cpu for core in behind[: (missing + threads - 1) // threads] for cpu in topology.cores[core] & left
    )
    if threads > 1 and missing % 2 and len(part) > missing:
        part = part[:-1]
    if missing > 0 and len(part) == missing:
        got |= set(part)
        left -= set(part)


def _order(topology: Topology, level: Level, left: set[int]) -> list[int]:
    """Units with anything left, by the amount left in what is around them, from the outside to the inside."""
    outer: list[Level] = ["numa", "socket"] if len(topology.sockets) >= len(topology.nodes) else ["socket", "numa"]
    around: dict[Level, list[Level]] = {
        outer[0]: outer[:1],
        outer[1]: outer,
        "core": [*outer, "core"],
        "cache": [*(outer if outer[1] == "numa" else outer[:1]), "cache"],
    }

    def key(cpu: int) -> list[tuple[int, int]]:
        names = [(step, getattr(topology.by_id[cpu], step)) for step in around[level]]
        return [(len(topology.units(step)[name] & left), name) for step, name in names]

    return list(dict.fromkeys(getattr(topology.by_id[cpu], level) for cpu in sorted(left, key=key)))


def is_even_split(topology: Topology, available: set[int], taken: set[int], group: int) -> bool:
    """Whether no choice among as many nodes would have left the machine better balanced."""
    free = {node: len(own & available) for node, own in topology.nodes.items() if own & available}
    given = {node: len(topology.nodes[node] & taken) for node in free}
    used = [node for node in free if given[node]]
    share = len(taken) // len(used) // group * group
    rest = (len(taken) - share * len(used)) // group
    options = [
        [free[node] - (share + group * extra.count(node) if node in combo else 0) for node in free]
        for combo in itertools.combinations(free, len(used))
        for extra in itertools.combinations(combo, rest)
        if all(free[node] >= share + group * extra.count(node) for node in combo)
    ]
    mine = statistics.pstdev(free[node] - given[node] for node in free)
    return mine <= min((statistics.pstdev(option) for option in options), default=mine) + 0.001
