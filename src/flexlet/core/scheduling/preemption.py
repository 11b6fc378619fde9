"""Making room for a more important pod by ending less important ones.

Victims must have a lower priority, and a labelled balloon is never one: its size is someone's decision, and its
owner deflates it. Among the nodes where ending some pods would help, the least harm wins: fewest broken
disruption budgets, then the lowest highest victim, then the smallest sum, the fewest victims, the youngest pods.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from flexlet.core.scheduling import filters
from flexlet.core.scheduling.nodes import NodeInfo
from flexlet.core.scheduling.pods import PlacedPod, WaitingPod

Fits = Callable[[NodeInfo], bool]
BudgetOf = Callable[[PlacedPod], Sequence[str]]
"""The disruption budgets a pod counts against, by key."""


class Candidate(msgspec.Struct, frozen=True):
    """A node, and whom it would cost."""

    node: str
    victims: tuple[PlacedPod, ...]
    budget_violations: int


def is_eligible(pod: WaitingPod) -> bool:
    """Whether the pod may end others at all."""
    return pod.pod.spec.preemption_policy != "Never"


def candidate(
    pod: WaitingPod, node: NodeInfo, fits: Fits, budget_of: BudgetOf, allowed: Mapping[str, int]
) -> Candidate | None:
    """The smallest set of victims on this node, or None if even all of them are not enough."""
    lower = [other for other in node.pods.values() if other.priority < pod.priority and not other.balloon]
    if not lower or filters.exceeds_allocatable(pod, node):
        return None
    stripped = node.without(other.uid for other in lower)
    if not fits(stripped):
        return None
    breaking, harmless = _by_budget(lower, budget_of, allowed)
    violations = _reprieved(breaking, stripped, fits)
    victims = [*violations, *_reprieved(harmless, stripped, fits)]
    return Candidate(node.name, tuple(sorted(victims, key=_importance, reverse=True)), len(violations))


def best(candidates: Sequence[Candidate]) -> Candidate | None:
    """The candidate that does the least harm; ties go to the first name."""
    return min(candidates, key=_harm, default=None)


def _reprieved(pods: Sequence[PlacedPod], node: NodeInfo, fits: Fits) -> list[PlacedPod]:
    """Put pods back, most important first, as long as the newcomer still fits; the rest are victims."""
    victims = []
    for pod in sorted(pods, key=_importance, reverse=True):
        node.add(pod)
        if not fits(node):
            node.remove(pod.uid)
            victims.append(pod)
    return victims


def _by_budget(
    pods: Sequence[PlacedPod], budget_of: BudgetOf, allowed: Mapping[str, int]
) -> tuple[list[PlacedPod], list[PlacedPod]]:
    left = dict(allowed)
    breaking: list[PlacedPod] = []
    harmless: list[PlacedPod] = []
    for pod in sorted(pods, key=_importance, reverse=True):
        budgets = budget_of(pod)
        for key in budgets:
            left[key] = left.get(key, 0) - 1
        (breaking if any(left[key] < 0 for key in budgets) else harmless).append(pod)
    return breaking, harmless


def _importance(pod: PlacedPod) -> tuple[int, str]:
    """Higher priority first; among equals the one that has run longer."""
    return (pod.priority, _reversed_time(pod.started))


def _reversed_time(stamp: str) -> str:
    """Sort key under which an earlier RFC 3339 time is larger."""
    return "".join(chr(0x7F - ord(character)) if character < "\x7f" else character for character in stamp)


def _harm(candidate: Candidate) -> tuple[int, int, int, int, str, str]:
    priorities = [victim.priority for victim in candidate.victims]
    oldest = min(
        (victim.started for victim in candidate.victims if victim.priority == max(priorities)), default=""
    )
    return (
        candidate.budget_violations,
        max(priorities, default=0),
        sum(priorities),
        len(priorities),
        _reversed_time(oldest),
        candidate.node,
    )
