"""Ending pods in order when the machine goes down: ordinary ones first, critical ones last.

Pods are grouped by priority. A group gets its time, the pods in it at most that much grace and never more than
they asked for; when all of them have ended, or the time is over, the next group's turn comes. Follows Kubernetes
1.36.3's ``pkg/kubelet/nodeshutdown``.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

import msgspec

from flexlet.api.pod import Pod
from flexlet.core.agent.record import Ending
from flexlet.core.kubeletconfig.config import ShutdownPeriod

REASON: Final = "Terminated"
MESSAGE: Final = "Pod was terminated in response to imminent node shutdown."


class Wave(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that end together: how each of them ends, by uid, and how long all of them have."""

    priority: int
    patience_s: int
    endings: dict[str, Ending]


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What to do now: pods to end, when to ask again, and whether the machine may go down."""

    endings: dict[str, Ending] = {}
    wake_at: float | None = None
    is_over: bool = False


def waves(pods: Iterable[Pod], periods: Sequence[ShutdownPeriod]) -> tuple[Wave, ...]:
    """The groups that have pods, lowest priority first; none at all if no time is given to anybody."""
    ordered = sorted(periods, key=lambda period: period.priority)
    groups: list[dict[str, Ending]] = [{} for _ in ordered]
    if ordered:
        for pod in pods:
            place = _group(pod.spec.priority or 0, ordered)
            groups[place][pod.metadata.uid] = _ending(pod, ordered[place].shutdown_grace_period_seconds)
    return tuple(
        Wave(priority=period.priority, patience_s=period.shutdown_grace_period_seconds, endings=group)
        for period, group in zip(ordered, groups, strict=True)
        if group
    )


class Shutdown:
    """The waves of one shutdown, one after the other; the one who asks decides when it begins."""

    def __init__(self, planned: Sequence[Wave]) -> None:
        self._waiting = list(planned)
        self._under_way: frozenset[str] = frozenset()
        self._until = 0.0

    def decide(self, alive: Collection[str], now: float) -> Step:
        """Whose turn it is; `alive` are uids of pods that have not ended."""
        if now < self._until and not self._under_way.isdisjoint(alive):
            return Step(wake_at=self._until)
        if not self._waiting:
            return Step(is_over=True)
        wave = self._waiting.pop(0)
        self._under_way = frozenset(wave.endings)
        self._until = now + wave.patience_s
        return Step(endings=wave.endings, wake_at=self._until)


def _group(priority: int, ordered: Sequence[ShutdownPeriod]) -> int:
    """The highest group that the priority reaches; the lowest for what reaches none."""
    reached = [place for place, period in enumerate(ordered) if period.priority <= priority]
    return reached[-1] if reached else 0


def _ending(pod: Pod, period_s: int) -> Ending:
    own = pod.spec.termination_grace_period_seconds
    grace = period_s if own is None else min(own, period_s)
    return Ending(reason=REASON, message=MESSAGE, grace_s=grace, disruption=MESSAGE)
