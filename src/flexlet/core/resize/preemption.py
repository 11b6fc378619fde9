"""Which pods must go so that a critical one can grow.

Of BestEffort, Burstable and Guaranteed pods the cheapest class pays, and inside a class the fewest pods: again and
again the pod that covers the largest part of what is still missing, of two equal ones the smaller. Follows the
kubelet's preemption of Kubernetes 1.36.3, with two differences: a labelled balloon is never a victim (its owner
decides its size), and pods that are leaving already count as gone.
"""

from collections.abc import Iterable, Mapping, Sequence

from flexlet.api.units import PodUid
from flexlet.core.resize.neighbours import Neighbour
from flexlet.core.resources.qos import BEST_EFFORT, BURSTABLE, GUARANTEED

Missing = dict[str, int]


def victims(
    preemptor: Neighbour, others: Iterable[Neighbour], missing: Mapping[str, int]
) -> tuple[PodUid, ...] | None:
    """The pods to kill, none if those leaving suffice; None if no choice frees enough."""
    others = tuple(others)
    need = _without(missing, [pod for pod in others if pod.leaving])
    candidates = [pod for pod in others if not pod.leaving and _preemptable(preemptor, pod)]
    if _without(need, candidates):
        return None
    best_effort, burstable, guaranteed = (
        [pod for pod in candidates if pod.qos == qos] for qos in (BEST_EFFORT, BURSTABLE, GUARANTEED)
    )
    last = _nearest(guaranteed, _without(need, [*best_effort, *burstable]))
    middle = _nearest(burstable, _without(need, [*best_effort, *last]))
    first = _nearest(best_effort, _without(need, [*middle, *last]))
    return tuple(pod.uid for pod in (*first, *middle, *last))


def unmet(preemptor: Neighbour, others: Iterable[Neighbour], missing: Mapping[str, int]) -> Missing:
    """What would still be missing if everybody who may be preempted were gone."""
    return _without(missing, [pod for pod in others if pod.leaving or _preemptable(preemptor, pod)])


def _preemptable(preemptor: Neighbour, pod: Neighbour) -> bool:
    if pod.balloon:
        return False
    if preemptor.critical and not pod.critical:
        return True
    if preemptor.priority is None or pod.priority is None:
        return False
    return preemptor.priority > pod.priority


def _nearest(pods: Sequence[Neighbour], missing: Missing) -> list[Neighbour]:
    """The fewest pods of one class that cover what is missing; the caller knows that together they do."""
    left, chosen = list(pods), []
    while missing:
        best = min(left, key=lambda pod: (_distance(pod, missing), _size(pod)))
        left.remove(best)
        chosen.append(best)
        missing = _without(missing, [best])
    return chosen


def _distance(pod: Neighbour, missing: Missing) -> float:
    """The part of each need that the pod leaves open, squared, so that every resource weighs the same."""
    return sum((max(0, need - pod.held.get(name, 0)) / need) ** 2 for name, need in missing.items())


def _size(pod: Neighbour) -> tuple[int, int]:
    return pod.held.get("memory", 0), pod.held.get("cpu", 0)


def _without(missing: Mapping[str, int], pods: Iterable[Neighbour]) -> Missing:
    pods = tuple(pods)
    open_needs = {name: need - sum(pod.held.get(name, 0) for pod in pods) for name, need in missing.items()}
    return {name: need for name, need in open_needs.items() if need > 0}
