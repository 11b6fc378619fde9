"""What one node needs of one DaemonSet: a pod more, some fewer, or none of both.

Follows ``podsShouldBeOnNode``. A node keeps one running pod, the oldest; during an update with surge it may have
an old one and a new one until the new one is available.
"""

from collections.abc import Sequence

import msgspec

from flexlet.core.controllers import readiness
from flexlet.core.controllers.daemonset import placement, updating
from flexlet.core.controllers.daemonset.fleet import Fleet, Mark
from flexlet.core.views.daemonset import DaemonSetView
from flexlet.core.views.node import NodeView
from flexlet.core.views.pod import PodView


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement on a node."""

    create: bool = False
    delete: tuple[PodView, ...] = ()
    ended: tuple[PodView, ...] = ()
    """Pods that failed or succeeded, which a daemon pod never should."""


def judge(ds: DaemonSetView, fleet: Fleet, node: NodeView, now: float) -> Verdict:
    """What the node needs."""
    should_run, may_stay = fleet.suits(ds, node)
    pods = fleet.on(node.name)
    here = [pod for pod in pods if not fleet.is_going(pod)]
    if should_run and not pods:
        return Verdict(create=True)
    if not may_stay:
        return Verdict(delete=tuple(here))
    running = sorted((pod for pod in here if not pod.finished), key=by_age)
    ended = tuple(pod for pod in here if pod.finished)
    if not updating.allows_surge(ds):
        return Verdict(delete=tuple(running[1:]), ended=ended)
    if not running:
        return Verdict(create=should_run, ended=ended)
    return Verdict(delete=tuple(_surge_leftovers(ds, running, now)), ended=ended)


def _surge_leftovers(ds: DaemonSetView, running: Sequence[PodView], now: float) -> list[PodView]:
    """All but the oldest old and the oldest new pod; of these the old one, once it is not needed."""
    new = [pod for pod in running if placement.is_current(ds, pod.labels)]
    old = [pod for pod in running if pod not in new]
    leftovers = old[1:] + new[1:]
    if new and old and (not old[0].ready or readiness.is_available(new[0], ds.min_ready_seconds, now)):
        leftovers.append(old[0])
    return leftovers


def mark_of(ds: DaemonSetView, fleet: Fleet, node: NodeView, now: float) -> Mark:
    """What the node adds to the status."""
    should_run, _ = fleet.suits(ds, node)
    pods = sorted(fleet.on(node.name), key=by_age)
    old = sum(not placement.is_current(ds, pod.labels) for pod in pods)
    if not should_run:
        return Mark(misscheduled=int(bool(pods)), old=old)
    if not pods:
        return Mark(desired=1)
    pod = pods[0]
    return Mark(
        desired=1,
        current=1,
        ready=int(pod.ready),
        available=int(readiness.is_available(pod, ds.min_ready_seconds, now)),
        updated=int(placement.is_current(ds, pod.labels)),
        old=old,
    )


def by_age(pod: PodView) -> tuple[bool, str, str]:
    """Pods that have a node first, then the oldest."""
    return not pod.node, pod.created, pod.name
