"""One offer for all resources: every combination of offers is tried, the best one wins.

A combination serves the nodes that all its offers have in common. It is preferred if each of its offers is and
all name the same nodes. Among preferred ones the narrowest wins. Among the others the width is best that is
nearest to, and not above, what the neediest resource needs at least: narrower would help nobody. Equal widths are
told apart by the mean distance between their nodes if the operator wants that, then by the lower node numbers.

Trying all combinations one by one grows with the product of the offers; here resources are taken in one after the
other, and what two combinations have in common (the nodes left, whether still preferred) is carried on once.
Follows pkg/kubelet/cm/topologymanager of Kubernetes 1.36.3.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.hints import Hint, ResourceHints
from flexlet.core.managers.settings import SINGLE_NUMA_NODE

_ANY: Final = -1
"""The bit mask of all nodes there could be."""
_Merged = tuple[int, bool]
"""The nodes that are left, as a bit mask, and whether the combination is preferred."""


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """The NUMA nodes that alignment works with; `distances` only if closer nodes are preferred."""

    nodes: CpuSet
    distances: Mapping[int, Mapping[int, int]] | None = None


def merge(policy: str, layout: Layout, providers: Sequence[ResourceHints]) -> Hint:
    """The best offer of a policy other than none; not preferred if the resources cannot agree."""
    offers = [_offered(hints) for provider in providers for hints in _listed(provider)]
    if policy != SINGLE_NUMA_NODE:
        return _best(layout, offers)
    found = _best(Layout(nodes=layout.nodes), [_single(hints) for hints in offers])
    return Hint(None, found.preferred) if found.nodes == layout.nodes else found


def _listed(provider: ResourceHints) -> Iterable[tuple[Hint, ...] | None]:
    """A manager that says nothing has no wish."""
    return provider.values() or (None,)


def _offered(hints: tuple[Hint, ...] | None) -> tuple[Hint, ...]:
    if hints is None:
        return (Hint(None, preferred=True),)
    return hints or (Hint(None, preferred=False),)


def _single(hints: tuple[Hint, ...]) -> tuple[Hint, ...]:
    return tuple(each for each in hints if each.preferred and (each.nodes is None or len(each.nodes) == 1))


def _best(layout: Layout, offers: Sequence[tuple[Hint, ...]]) -> Hint:
    combined: set[_Merged] = {(_ANY, True)}
    for hints in offers:
        masks = {(_ANY if hint.nodes is None else number(hint.nodes), hint.preferred) for hint in hints}
        combined = {_joined(so_far, mask) for so_far in combined for mask in masks}
    within = {(mask & number(layout.nodes), preferred) for mask, preferred in combined}
    possible = [Hint(_nodes(mask), preferred) for mask, preferred in within if mask]
    return min(possible, key=_order(layout, offers), default=Hint(layout.nodes, preferred=False))


def _joined(one: _Merged, other: _Merged) -> _Merged:
    alike = one[0] == other[0] or _ANY in (one[0], other[0])
    return one[0] & other[0], one[1] and other[1] and alike


def _order(layout: Layout, offers: Sequence[tuple[Hint, ...]]) -> Callable[[Hint], Any]:
    """What makes one offer better than another; less is better."""
    needed = max((_least(hints) for hints in offers), default=0)

    def key(hint: Hint) -> Any:
        nodes = hint.nodes or CpuSet()
        width = len(nodes)
        fitness = (0, width) if hint.preferred else (1, *_off(width, needed))
        return fitness, _distance(nodes, layout.distances), number(nodes)

    return key


def _least(hints: Iterable[Hint]) -> int:
    return min((len(hint.nodes) for hint in hints if hint.nodes is not None), default=0)


def _off(width: int, needed: int) -> tuple[int, int]:
    """First those that are not too wide, the widest of them first; then the others, the narrowest first."""
    return (0, -width) if width <= needed else (1, width)


def number(nodes: CpuSet) -> int:
    """The nodes as a bit mask: of two equally wide sets the one with the smaller number comes first."""
    return sum(1 << node for node in nodes)


def _nodes(mask: int) -> CpuSet:
    return CpuSet(tuple(node for node in range(mask.bit_length()) if mask >> node & 1))


def _distance(nodes: CpuSet, distances: Mapping[int, Mapping[int, int]] | None) -> float:
    if distances is None:
        return 0.0
    pairs = [distances.get(one, {}).get(other, 0) for one in nodes for other in nodes]
    return sum(pairs) / len(pairs)
