"""When pods must leave a tainted node: at once, after a while, or never."""

from collections.abc import Iterable

from flexlet.api.node import Taint
from flexlet.api.pod import Toleration
from flexlet.core.scheduling import filters

FOREVER = float("inf")


def patience(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> float:
    """For how many seconds a pod may stay; 0 if one of the taints is not tolerated."""
    tolerations = tuple(tolerations)
    used: list[Toleration] = []
    for taint in taints:
        if taint.effect != "NoExecute":
            continue
        matching = [one for one in tolerations if filters.tolerates(taint, (one,))]
        if not matching:
            return 0.0
        used.append(matching[0])
    limits = [one.toleration_seconds for one in used if one.toleration_seconds is not None]
    return max(0.0, float(min(limits))) if limits else FOREVER
