"""How large each ReplicaSet of a Deployment should be next.

Pure arithmetic on counts, from ``pkg/controller/deployment`` (rolling.go, recreate.go, sync.go). Every function
returns the new sizes by uid, only of the ReplicaSets that should be touched. What must stay true in a rolling
update: never more pods than wanted plus surge, never fewer available than wanted minus what may be unavailable.
"""

import math
from collections.abc import Sequence

from flexlet.core.controllers.deployment import fences, revisions
from flexlet.core.views.deployment import DeploymentView
from flexlet.core.views.replicaset import ReplicaSetView

Sizes = dict[str, int]


def active(sets: Sequence[ReplicaSetView]) -> list[ReplicaSetView]:
    """Those that have pods, or ought to."""
    return [rs for rs in sets if rs.replicas > 0]


def starting_size(d: DeploymentView, sets: Sequence[ReplicaSetView], current: int = 0) -> int:
    """How many pods the new ReplicaSet may have now; `sets` are all of them."""
    if not d.is_rolling:
        return d.replicas
    room = fences.most_pods(d) - sum(rs.replicas for rs in sets)
    return current if room <= 0 else current + min(room, d.replicas - current)


def rolled(d: DeploymentView, new: ReplicaSetView, old: Sequence[ReplicaSetView]) -> Sizes:
    """The next step of a rolling update: the new one up if there is room, else the old ones down."""
    if new.replicas > d.replicas:
        return {new.uid: d.replicas}
    size = starting_size(d, [*old, new], new.replicas)
    return {new.uid: size} if size != new.replicas else _shrunk(d, new, active(old))


def _shrunk(d: DeploymentView, new: ReplicaSetView, old: Sequence[ReplicaSetView]) -> Sizes:
    """Old pods that are not available go first: they cannot be missed."""
    must_stay = d.replicas - fences.max_unavailable(d)
    pods = sum(rs.replicas for rs in (*old, new))
    spare = pods - must_stay - (new.replicas - new.status.available_replicas)
    if not old or spare <= 0:
        return {}
    by_age = sorted(old, key=revisions.by_age)
    sizes = {rs.uid: rs.replicas for rs in by_age}
    for rs in by_age:
        unhealthy = min(spare, max(rs.replicas - rs.status.available_replicas, 0))
        sizes[rs.uid] -= unhealthy
        spare -= unhealthy
    surplus = sum(rs.status.available_replicas for rs in (*old, new)) - must_stay
    for rs in by_age:
        step = min(sizes[rs.uid], max(surplus, 0))
        sizes[rs.uid] -= step
        surplus -= step
    return {rs.uid: sizes[rs.uid] for rs in by_age if sizes[rs.uid] != rs.replicas}


def scaled(d: DeploymentView, new: ReplicaSetView | None, old: Sequence[ReplicaSetView]) -> Sizes:
    """A change of the wanted number outside a step of a rollout: spread over what runs, in proportion."""
    everything = [*old, *([new] if new else [])]
    running = active(everything)
    if len(running) <= 1:
        latest = running or ([new] if new else sorted(old, key=revisions.by_age)[-1:])
        return {rs.uid: d.replicas for rs in latest if rs.replicas != d.replicas}
    if new is not None and _is_saturated(d, new):
        return {rs.uid: 0 for rs in active(old)}
    return _in_proportion(d, running) if d.is_rolling else {}


def _is_saturated(d: DeploymentView, rs: ReplicaSetView) -> bool:
    noted = revisions.noted_size(rs, revisions.DESIRED)
    return rs.replicas == d.replicas == noted == rs.status.available_replicas


def _in_proportion(d: DeploymentView, running: Sequence[ReplicaSetView]) -> Sizes:
    """Larger ones first; among equals the newer grows and the older shrinks."""
    to_add = (fences.most_pods(d) if d.replicas else 0) - sum(rs.replicas for rs in running)
    ordered = sorted(running, key=revisions.by_age, reverse=to_add > 0)
    ordered.sort(key=lambda rs: -rs.replicas)
    sizes, added = {rs.uid: rs.replicas for rs in ordered}, 0
    for rs in ordered if to_add else ():
        share = _fraction(d, rs)
        share = min(share, to_add - added) if to_add > 0 else max(share, to_add - added)
        share = 0 if to_add == added else share
        sizes[rs.uid] += share
        added += share
    largest = ordered[0].uid
    sizes[largest] = max(0, sizes[largest] + to_add - added)
    return sizes


def _fraction(d: DeploymentView, rs: ReplicaSetView) -> int:
    """How much a ReplicaSet changes if it keeps its part of the whole."""
    if not d.replicas:
        return -rs.replicas
    before = revisions.noted_size(rs, revisions.MAX) or d.status.replicas
    if not before:
        return 0
    return math.floor(rs.replicas * fences.most_pods(d) / before + 0.5) - rs.replicas
