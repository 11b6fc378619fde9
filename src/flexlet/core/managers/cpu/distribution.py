"""Choosing CPUs evenly from several NUMA nodes, if one node is not enough (``distribute-cpus-across-numa``).

The fewest nodes that can serve are used. Each gives the same share; what does not divide evenly goes, in groups,
to those nodes that leave the machine the most balanced. Where nothing can be even, the packed choice is made.

Upstream keeps combinations of four and more nodes in memory that it overwrites while it goes on, and so may use
another one than it found best. Nodes of both kinds must choose alike, so that is repeated here (`_as_kept`).
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.cpu.packing import by_fullness, packed
from flexlet.core.managers.cpu.refusals import miscounted, not_enough
from flexlet.core.managers.cpu.topology import Topology
from flexlet.core.managers.state import Refusal

Left = Mapping[int, int]
"""Free CPUs by NUMA node."""


class Division(msgspec.Struct, frozen=True):
    """The nodes that give a share each, those that give the rest, and how uneven the machine is after it."""

    nodes: tuple[int, ...]
    rest: tuple[int, ...]
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
    left = available
    for node, count in _portions(topology, available, need, group, division):
        part = packed(topology, topology.on_nodes(left, [node]), count, spread=spread)
        left = left if isinstance(part, Refusal) else left - part
    missing = need - len(available - left)
    return miscounted(missing) if missing else available - left


def _portions(
    topology: Topology, available: CpuSet, need: int, group: int, division: Division
) -> Iterator[tuple[int, int]]:
    """The same from each node, then the rest in turns, one group from each that has one."""
    share = _share(need, division.nodes, group)
    left = {node: len(topology.on_nodes(available, [node])) for node in topology.nodes}
    for node in division.nodes:
        left[node] -= share if left[node] >= share else 0
        yield node, share
    for node in _turns(left, division.rest, need - share * len(division.nodes), group) or ():
        yield node, group


def _division(topology: Topology, available: CpuSet, need: int, group: int) -> Division | None:
    nodes = by_fullness(topology, "numa", frozenset(available))
    left = {node: len(topology.on_nodes(available, [node])) for node in nodes}
    for count in _numbers_of_nodes(topology, len(nodes), need, group):
        best = _best(_divide(left, combo, need, group) for combo in itertools.combinations(nodes, count))
        if best is not None:
            kept = _as_kept(nodes, best.nodes, at_once=best.imbalance == 0)
            return msgspec.structs.replace(best, nodes=kept)
    return None


def _numbers_of_nodes(topology: Topology, available: int, need: int, group: int) -> range:
    """From as few nodes as could serve on an empty machine to as many as there are groups."""
    groups = -(-len(topology.cpus) // group)
    per_node = -(-groups // len(topology.nodes))
    needed = -(-need // group)
    return range(-(-needed // per_node), min(needed, available) + 1)


def _share(need: int, combo: Sequence[int], group: int) -> int:
    return need // len(combo) // group * group


def _divide(left: Left, combo: tuple[int, ...], need: int, group: int) -> Division | None:
    """The best division among these nodes, None if they cannot serve."""
    share = _share(need, combo, group)
    enough = sum(left[node] // group * group for node in combo) >= need
    if not enough or any(left[node] < share for node in combo):
        return None
    after = {node: count - share if node in combo else count for node, count in left.items()}
    rest = need - share * len(combo)
    if not rest:
        return Division(combo, (), imbalance(after.values()))
    able = [node for node in combo if after[node] >= group]
    best = _best(_with_rest(combo, after, subset, rest, group) for subset in _subsets(able))
    return best and msgspec.structs.replace(best, rest=_as_kept(able, best.rest))


def _subsets(able: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Who may give the rest, the largest choice first."""
    for count in range(len(able), 0, -1):
        yield from itertools.combinations(able, count)


def _with_rest(
    combo: tuple[int, ...], left: Left, subset: tuple[int, ...], rest: int, group: int
) -> Division | None:
    turns = _turns(left, subset, rest, group)
    if turns is None:
        return None
    after = {node: count - group * turns.count(node) for node, count in left.items()}
    return Division(combo, subset, imbalance(after.values()))


def _turns(left: Left, subset: Sequence[int], rest: int, group: int) -> list[int] | None:
    """Who gives a group of the rest, one after the other; None if they have too little."""
    after, turns = dict(left), list[int]()
    while len(turns) * group < rest:
        givers = [node for node in subset if after[node] >= group][: rest // group - len(turns)]
        if not givers:
            return None
        turns += givers
        for node in givers:
            after[node] -= group
    return turns


def _as_kept(nodes: Sequence[int], combo: tuple[int, ...], *, at_once: bool = False) -> tuple[int, ...]:
    """What a combination has become when upstream uses it.

    Its lists grow by doubling, and combinations that begin alike share one list beyond that: the last of them is
    what stays. `at_once`: nothing can be better, so it stops, but only after the next one was written down.
    """
    alike = 3 if len(combo) <= 4 else 5
    if len(combo) <= alike:
        return combo
    if not at_once:
        return (*combo[:alike], *nodes[alike - len(combo) :])
    following = itertools.dropwhile(lambda each: each != combo, itertools.combinations(nodes, len(combo)))
    after = list(itertools.islice(following, 2))[-1]
    return after if after[:alike] == combo[:alike] else combo


def _best(divisions: Iterable[Division | None]) -> Division | None:
    """The first of the most balanced."""
    return min((each for each in divisions if each is not None), key=lambda each: each.imbalance, default=None)


def imbalance(counts: Iterable[int]) -> float:
    """The standard deviation, rounded as upstream does it: equal to three digits is equal."""
    numbers = tuple(counts)
    mean = _rounded(sum(numbers) / len(numbers))
    return _rounded(math.sqrt(sum((number - mean) ** 2 for number in numbers) / len(numbers)))


def _rounded(value: float) -> float:
    thousands = math.floor(value * 1000)
    return (thousands + (value * 1000 - thousands >= 0.5)) / 1000
