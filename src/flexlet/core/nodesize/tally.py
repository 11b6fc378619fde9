"""What is counted about balloons, for metrics."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from typing import Final

from flexlet.api import age
from flexlet.api.pod import Pod
from flexlet.core.nodesize import sizes
from flexlet.core.nodesize.objects import NodeSizeStatus, Progress
from flexlet.core.nodesize.scene import Scene

BUCKETS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 30.0, 60.0)
_PREEMPTED: Final = "Preempting"
_UNDER_WAY: Final = frozenset({"Pending", "Deferred"})
_BLAME_S: Final = 30.0
"""Whoever is killed this close to an inflate may have been killed for it."""


class Histogram:
    """How many were at most so long."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        """One more."""
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds


class Tally:
    """Counts of one controller's life, and the last known sizes."""

    def __init__(self) -> None:
        self.resizes: Counter[tuple[str, str]] = Counter()
        self.seconds = {"Inflate": Histogram(), "Deflate": Histogram()}
        self.drifts: Counter[str] = Counter()
        self.victims: Counter[str] = Counter()
        self.missing: dict[str, float] = {}
        self.sizes: dict[str, dict[str, dict[str, int]]] = {}
        self.overcommitted: dict[str, bool] = {}
        self._missing_since: dict[str, float] = {}
        self._inflated: dict[str, float] = {}
        self._killed: set[str] = set()

    def looked(self, scene: Scene, status: NodeSizeStatus, now: float) -> None:
        """A node was looked at."""
        name = scene.node.name
        self.sizes[name] = {
            "desired": sizes.of(status.balloon.desired),
            "allocated": scene.allocated,
            "actual": sizes.total(b.actual for b in scene.balloons),
            "effective": scene.effective,
            "headroom": scene.headroom,
        }
        self.overcommitted[name] = any(scene.workload[r] > scene.effective[r] for r in sizes.RESOURCES)
        if _is_true(status, "Drifted") and not _is_true(scene.size.status, "Drifted"):
            self.drifts[name] += 1
        if any(r.direction == "Inflate" and r.result in _UNDER_WAY for r in status.progress):
            self._inflated[name] = now
        self._count_missing(name, _is_true(status, "BalloonMissing"), now)

    def ended(self, name: str, records: Iterable[Progress], now: float) -> None:
        """Resizes came to an end."""
        for record in records:
            self.resizes[record.direction, record.result.lower()] += 1
            if record.direction == "Inflate":
                self._inflated[name] = now
            asked = record.asked_at or record.since
            if record.result == "Granted" and asked and record.direction:
                self.seconds[record.direction].add(max(0.0, now - age.parse(asked).timestamp()))

    def pod_seen(self, pod: Pod) -> None:
        """A workload was seen; one that its node killed to make room is somebody's victim."""
        node, uid = pod.spec.node_name, pod.metadata.uid
        if pod.status.reason != _PREEMPTED or node not in self._inflated or uid in self._killed:
            return
        killed = _killed_at(pod)
        if killed is None or abs(killed - self._inflated[node]) <= _BLAME_S:
            self.victims[node] += 1
            self._killed.add(uid)

    def forget(self, name: str) -> None:
        """A node is no longer sized."""
        for known in (self.sizes, self.overcommitted, self._missing_since, self._inflated):
            known.pop(name, None)

    def _count_missing(self, name: str, is_missing: bool, now: float) -> None:
        since = self._missing_since.pop(name, None)
        if since is not None:
            self.missing[name] = self.missing.get(name, 0.0) + max(0.0, now - since)
        if is_missing:
            self._missing_since[name] = now


def _killed_at(pod: Pod) -> float | None:
    """When its node decided against a pod, if that is told."""
    told = (c.last_transition_time for c in pod.status.conditions if c.type == "DisruptionTarget")
    return next((age.parse(at).timestamp() for at in told if at), None)


def _is_true(status: NodeSizeStatus, kind: str) -> bool:
    return any(c.type == kind and c.status == "True" for c in status.conditions)
