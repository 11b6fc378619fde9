"""Decides which pod is evicted, and when.

Measuring is done by others, in two steps because only the first is cheap: `learn` takes what is left on the node
and answers whether pods have to be looked at; `decide` takes the pods and ends at most one of them. Then the node
waits until that pod is gone, or half a minute, before the next one pays. For disks the node first gives back what
is its own (`Decision.reclaim`: ended containers, unused images) and says with `reclaimed` what that brought.
Critical pods are never evicted: they would not come back. Nor are balloons: it would bring nothing but room that
somebody decided not to give.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

import msgspec

from flexlet.core.actions import RecordEvent
from flexlet.core.agent.record import Ending
from flexlet.core.balloon.identity import is_balloon
from flexlet.core.critical import is_critical
from flexlet.core.eviction import messages, watch
from flexlet.core.eviction.ranking import Candidate, ranked
from flexlet.core.eviction.signals import (
    CONDITIONS,
    IMAGEFS_AVAILABLE,
    IMAGEFS_INODES,
    NODEFS_AVAILABLE,
    NODEFS_INODES,
    RESOURCES,
    Levels,
)
from flexlet.core.eviction.storage import breach
from flexlet.core.eviction.watch import Watch
from flexlet.core.kubeletconfig.thresholds import Threshold
from flexlet.core.node.events import of_node

PERIOD_S: Final = 10.0
"""How often the node is measured."""
_PATIENCE_S: Final = 30.0
_GRACE_S: Final = 1
CONTAINERS: Final = "containers"
IMAGES: Final = "images"


class EvictionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator decides about eviction."""

    thresholds: tuple[Threshold, ...] = ()
    transition_s: float = 300.0
    max_pod_grace_s: int = 0
    """For soft thresholds; for hard ones a pod has a second."""
    own_image_fs: bool = False
    local_storage: bool = True
    """``localStorageCapacityIsolation``."""


class Eviction(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that has to go."""

    uid: str
    signal: str
    """The label of the metric ``kubelet_evictions``."""
    ending: Ending
    annotations: dict[str, str] = {}
    """Of the event."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """Pods to end, what to tell, and what the node should give back first."""

    evictions: tuple[Eviction, ...] = ()
    events: tuple[RecordEvent, ...] = ()
    reclaim: tuple[str, ...] = ()


class Evictor:
    """The pressures of one node and what is done about them; one task owns it."""

    def __init__(self, node: str, settings: EvictionSettings) -> None:
        self._node = node
        self._settings = settings
        self._thresholds = [each for each in settings.thresholds if each.signal in CONDITIONS]
        self._watch = Watch()
        self._levels: Levels = {}
        self._acting: tuple[Threshold, ...] = ()
        self._reclaimed = False
        self._victim = ""
        self._until = 0.0

    def pressures(self, now: float) -> frozenset[str]:
        """The conditions of the node that hold."""
        return watch.pressures(self._watch, self._settings.transition_s, now)

    def learn(self, levels: Levels, now: float) -> bool:
        """The node was measured; whether a pod may have to go."""
        self._levels = levels
        self._watch, self._acting = watch.advance(self._watch, self._thresholds, levels, now)
        self._reclaimed = False
        return bool(self._acting)

    def reclaimed(self, levels: Levels) -> None:
        """The node has given back what it could, and was measured again; perhaps that is enough."""
        self._levels = levels
        self._reclaimed = True
        if not any(watch.is_crossed(each, levels, reclaim=True) for each in self._thresholds):
            self._acting = ()

    def decide(self, candidates: Sequence[Candidate], alive: Collection[str], now: float) -> Decision:
        """Who goes now; `alive` are uids of pods that have not ended."""
        if self._victim in alive and now < self._until:
            return Decision()
        over = self._over_limits(candidates)
        if over or not self._acting:
            return self._ending(over, now)
        threshold = self._acting[0]
        resource = RESOURCES[threshold.signal]
        told = of_node(self._node, "Warning", "EvictionThresholdMet", f"Attempting to reclaim {resource}")
        reclaim = self._reclaim(threshold.signal)
        if reclaim and not self._reclaimed:
            return Decision(reclaim=reclaim, events=(told,))
        order = ranked(candidates, threshold.signal, own_image_fs=self._settings.own_image_fs)
        victim = next((each for each in order if not _is_spared(each)), None)
        if victim is None:
            return Decision(events=(told,))
        return self._ending([(victim, self._eviction(victim, threshold))], now, () if reclaim else (told,))

    def _over_limits(self, candidates: Iterable[Candidate]) -> list[tuple[Candidate, Eviction]]:
        """All pods that break their own limits go at once, whatever the node has left."""
        found = []
        for each in candidates if self._settings.local_storage else ():
            broken = breach(each, own_image_fs=self._settings.own_image_fs)
            if broken is not None and not _is_spared(each):
                ending = Ending(reason=messages.REASON, message=broken.message, grace_s=_GRACE_S)
                found.append((each, Eviction(uid=each.pod.metadata.uid, signal=broken.signal, ending=ending)))
        return found

    def _eviction(self, victim: Candidate, threshold: Threshold) -> Eviction:
        resource = RESOURCES[threshold.signal]
        text = messages.message(resource, victim, self._acting, self._levels)
        grace = self._soft_grace(victim) if threshold.grace_s else _GRACE_S
        return Eviction(
            uid=victim.pod.metadata.uid,
            signal=threshold.signal,
            ending=Ending(reason=messages.REASON, message=text, grace_s=grace, disruption=text),
            annotations=messages.annotations(resource, victim),
        )

    def _soft_grace(self, victim: Candidate) -> int:
        own = victim.pod.spec.termination_grace_period_seconds
        most = self._settings.max_pod_grace_s
        return most if own is None else min(own, most)

    def _ending(
        self, found: list[tuple[Candidate, Eviction]], now: float, told: tuple[RecordEvent, ...] = ()
    ) -> Decision:
        """No other pod pays before the last of these is gone, or has had its time."""
        if found:
            self._victim, self._until, self._acting = found[-1][1].uid, now + _PATIENCE_S, ()
        events = [_pod_event(candidate, eviction.ending.message) for candidate, eviction in found]
        return Decision(evictions=tuple(eviction for _, eviction in found), events=(*told, *events))

    def _reclaim(self, signal: str) -> tuple[str, ...]:
        """What the node can give back itself, in this order."""
        if signal in (IMAGEFS_AVAILABLE, IMAGEFS_INODES):
            return CONTAINERS, IMAGES
        shared = signal in (NODEFS_AVAILABLE, NODEFS_INODES) and not self._settings.own_image_fs
        return (CONTAINERS, IMAGES) if shared else ()


def _is_spared(candidate: Candidate) -> bool:
    return is_critical(candidate.pod) or is_balloon(candidate.pod)


def _pod_event(candidate: Candidate, message: str) -> RecordEvent:
    meta = candidate.pod.metadata
    about = {"kind": "Pod", "apiVersion": "v1", "namespace": meta.namespace, "name": meta.name, "uid": meta.uid}
    return RecordEvent(about=about, type="Warning", reason=messages.REASON, message=message, component="kubelet")
