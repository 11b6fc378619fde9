"""Replacing pods of an old template, within what may be unavailable or doubled.

Follows ``rollingUpdate``: without surge, old pods are deleted and the node's verdict creates the new ones; with
surge, new pods are created beside the old ones, which the verdict deletes once the new ones are available. Old
pods that are not available anyway are replaced at once.
"""

from collections.abc import Mapping, Sequence

import msgspec

from flexlet.core.controllers import readiness
from flexlet.core.controllers.daemonset import placement
from flexlet.core.controllers.daemonset.fleet import Fleet
from flexlet.core.controllers.shares import scaled
from flexlet.core.views.daemonset import DaemonSetView, RollingUpdate
from flexlet.core.views.node import NodeView
from flexlet.core.views.pod import PodView


class Replacement(msgspec.Struct, frozen=True, kw_only=True):
    """Old pods to delete, and nodes that get a second pod."""

    delete: tuple[PodView, ...] = ()
    create: tuple[str, ...] = ()


class _Pair(msgspec.Struct, frozen=True):
    new: PodView | None = None
    old: PodView | None = None
    excess: bool = False


def allows_surge(ds: DaemonSetView) -> bool:
    """Whether a node may have two pods."""
    return ds.update_strategy.type == "RollingUpdate" and scaled(_rolling(ds).max_surge, 1, up=True) > 0


def replacement(ds: DaemonSetView, fleet: Fleet, nodes: Mapping[str, NodeView], now: float) -> Replacement:
    """The next step of an update."""
    if ds.update_strategy.type != "RollingUpdate" or not fleet.count("old"):
        return Replacement()
    desired = {name for name, node in nodes.items() if fleet.suits(ds, node)[0]}
    pairs = {name: _pair(ds, fleet, name) for name in sorted({*fleet.nodes(), *desired})}
    surge = scaled(_rolling(ds).max_surge, len(desired), up=True)
    if surge:
        return _surged(ds, pairs, desired, surge, now)
    return _swapped(ds, pairs, scaled(_rolling(ds).max_unavailable, len(desired), up=True) or 1, now)


def _swapped(ds: DaemonSetView, pairs: Mapping[str, _Pair], limit: int, now: float) -> Replacement:
    unavailable, broken, candidates = 0, [], []
    for pair in pairs.values():
        if pair.old is None or pair.new is not None:
            unavailable += pair.new is None or pair.old is not None or not _is_up(ds, pair.new, now)
        elif _is_up(ds, pair.old, now):
            candidates.append(pair.old)
        else:
            broken.append(pair.old)
            unavailable += 1
    return Replacement(delete=(*broken, *candidates[: max(0, limit - unavailable)]))


def _surged(
    ds: DaemonSetView, pairs: Mapping[str, _Pair], desired: set[str], limit: int, now: float
) -> Replacement:
    doubled, available = 0, 0
    broken: list[str] = []
    candidates: list[str] = []
    misplaced: list[PodView] = []
    delete: list[PodView] = []
    for name, pair in pairs.items():
        available += _is_up(ds, pair.old or pair.new, now)
        if pair.excess:
            doubled += 1
        elif pair.old is None:
            continue
        elif pair.new is not None:
            doubled += not _is_up(ds, pair.new, now)
        elif name not in desired:
            (misplaced if _is_up(ds, pair.old, now) else delete).append(pair.old)
        else:
            (candidates if _is_up(ds, pair.old, now) else broken).append(name)
    # A pod where it no longer belongs stays until enough others are available.
    delete += misplaced[: max(0, available - len(desired))]
    return Replacement(delete=tuple(delete), create=(*broken, *candidates[: max(0, limit - doubled)]))


def _pair(ds: DaemonSetView, fleet: Fleet, node: str) -> _Pair:
    """The new and the old pod of a node; more than one of either is for the verdict to sort out."""
    here = [pod for pod in fleet.on(node) if not fleet.is_going(pod)]
    new = _only([pod for pod in here if placement.is_current(ds, pod.labels)])
    old = _only([pod for pod in here if not placement.is_current(ds, pod.labels)])
    excess = len(here) > (new is not None) + (old is not None)
    return _Pair(excess=True) if excess else _Pair(new, old)


def _only(pods: Sequence[PodView]) -> PodView | None:
    return pods[0] if pods else None


def _is_up(ds: DaemonSetView, pod: PodView | None, now: float) -> bool:
    return pod is not None and readiness.is_available(pod, ds.min_ready_seconds, now)


def _rolling(ds: DaemonSetView) -> RollingUpdate:
    return ds.update_strategy.rolling_update or RollingUpdate()
