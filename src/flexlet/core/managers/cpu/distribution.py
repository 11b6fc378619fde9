"""Choosing CPUs evenly from several NUMA nodes, if one node is not enough (``distribute-cpus-across-numa``).

The fewest nodes that can serve are used. Each gives the same share; what does not divide evenly goes, in groups,
to those nodes that leave the machine the most balanced. Where nothing can be even, the packed choice is made.

Upstream keeps combinations of four and more nodes in memory that it overwrites while it goes on, and so may use
another one than it found best; that is not repeated here.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.cpu.packing import by_fullness, packed
from flexlet.core.managers.cpu.refusals import not_enough
from flexlet.core.managers.cpu.topology import Topology
from flexlet.core.managers.state import Refusal

Left = Mapping[int, int]
"""Free CPUs by NUMA node."""


class Division(msgspec.Struct, frozen=True):
    """Who gives how much: a number of CPUs from each node, and how uneven the machine is after it."""

    shares: tuple[tuple[int, int], ...]
    imbalance: float


def distributed(
    topology: Topology, available: CpuSet, need: int, *, group: int = 1, spread: bool = False
) -> CpuSet | Refusal:
    """`need` CPUs out of the available ones, in groups of `group` that stay on one node."""
    if need > len(available):
        return not_enough(need, len(available))
    division = None if need < 1 or need % group else _division(topology, available, need, group)
    if division is None:
        return packed(topology, available, need, spread=spread)
    taken = CpuSet()
    for node, count in division.shares:
        part = packed(topology, topology.on_nodes(available - taken, [node]), count, spread=spread)
        if isinstance(part, Refusal):
            return part
        taken = taken | part
    return taken


def _division(topology: Topology, available: CpuSet, need: int, group: int) -> Division | None:
    nodes = by_fullness(topology, "numa", frozenset(available))
    left = {node: len(topology.on_nodes(available, [node])) for node in nodes}
    for count in _numbers_of_nodes(topology, len(nodes), need, group):
        best = _best(_divide(left, combo, need, group) for combo in itertools.combinations(nodes, count))
        if best is not None:
            return best
    return None


def _numbers_of_nodes(topology: Topology, available: int, need: int, group: int) -> range:
    """From as few nodes as could serve on an empty machine to as many as there are groups."""
    groups = -(-len(topology.cpus) // group)
    per_node = -(-groups // len(topology.nodes))
    needed = -(-need // group)
    return range(-(-needed // per_node), min(needed, available) + 1)


def _divide(left: Left, combo: Sequence[int], need: int, group: int) -> Division | None:
    """The best division among these nodes, None if they cannot serve."""
    share = need // len(combo) // group * group
    enough = sum(left[node] // group * group for node in combo) >= need
    if not enough or any(left[node] < share for node in combo):
        return None
    after = {node: count - share if node in combo else count for node, count in left.items()}
    first = tuple((node, share) for node in combo if share)
    rest = need - share * len(combo)
    if not rest:
        return Division(first, imbalance(after.values()))
    return _best(_with_rest(first, after, subset, rest, group) for subset in _subsets(after, combo, group))


def _subsets(left: Left, combo: Sequence[int], group: int) -> Iterator[tuple[int, ...]]:
    """Who may give the rest, the largest choice first."""
    able = [node for node in combo if left[node] >= group]
    for count in range(len(able), 0, -1):
        yield from itertools.combinations(able, count)


def _with_rest(
    shares: tuple[tuple[int, int], ...], left: Left, subset: Sequence[int], rest: int, group: int
) -> Division | None:
    """The rest taken in turns, one group from each."""
    after, more = dict(left), list(shares)
    while rest > 0:
        givers = [node for node in subset if after[node] >= group][: rest // group]
        if not givers:
            return None
        for node in givers:
            after[node] -= group
            more.append((node, group))
            rest -= group
    return Division(tuple(more), imbalance(after.values()))


def _best(divisions: Iterable[Division | None]) -> Division | None:
    """The first of the most balanced."""
    return min((each for each in divisions if each is not None), key=lambda each: each.imbalance, default=None)


def imbalance(counts: Iterable[int]) -> float:
    """The standard deviation, rounded as upstream does it: equal to three digits is equal."""
    numbers = tuple(counts)
    mean = _rounded(sum(numbers) / len(numbers))
    return _rounded(math.sqrt(sum((number - mean) ** 2 for number in numbers) / len(numbers)))


def _rounded(value: float) -> float:
    return math.floor(value * 1000 + 0.5) / 1000
