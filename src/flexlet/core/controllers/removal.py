"""Which pods go first when there are too many: those that would be missed least.

Upstream's order: without a node, not yet running, not ready, cheap to delete, sharing a node with more siblings,
ready for a shorter time, restarted more often, younger. Times count in powers of two, so that pods of about the
same age go in an arbitrary order (their uids') and not newest first.
"""

import math
from collections import Counter
from collections.abc import Iterable
from heapq import nsmallest
from typing import Final

from flexlet.core.controllers.conditions import seconds
from flexlet.core.views.pod import PodView

_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


def first_to_go(pods: Iterable[PodView], count: int, now: float, related: Iterable[PodView] = ()) -> list[PodView]:
    """`count` of the pods; `related` are all active pods that do the same work, the pods themselves included."""
    neighbours = Counter(pod.node for pod in related)

    def regret(pod: PodView) -> tuple[object, ...]:
        return (
            bool(pod.node),
            _PHASES.get(pod.phase, 0),
            pod.ready,
            pod.deletion_cost,
            -neighbours[pod.node],
            _magnitude(pod.ready_since, now) if pod.ready else 0,
            -pod.restarts,
            -pod.sidecar_restarts,
            _magnitude(pod.created, now),
            pod.uid,
        )

    return nsmallest(count, pods, key=regret)


def _magnitude(since: str, now: float) -> int:
    """The power of two of an age in nanoseconds; a time that is unknown counts as now."""
    age = now - seconds(since) if since else 0.0
    return int(math.log2(age * 1e9)) if age > 0 else -1
