"""What is counted about balloons, for metrics."""

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
_BLAME_S: Final = 30.0


class Tally:
    """Counts of one controller's life, and the last known sizes."""

    def __init__(self) -> None:
        self.resizes: Counter[tuple[str, str]] = Counter()
        self.seconds: dict[str, list[float]] = {"Inflate": [], "Deflate": []}
        self.drifts: Counter[str] = Counter()
        self.victims: Counter[str] = Counter()
        self.sizes: dict[str, dict[str, dict[str, int]]] = {}
        self.overcommitted: dict[str, bool] = {}
        self._inflated: dict[str, float] = {}
        self._killed: set[str] = set()

    def looked(self, scene: Scene, status: NodeSizeStatus) -> None:
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
        is_new = not any(c.type == "Drifted" and c.status == "True" for c in scene.size.status.conditions)
        if is_new and any(c.type == "Drifted" and c.status == "True" for c in status.conditions):
            self.drifts[name] += 1

    def ended(self, records: Iterable[Progress], now: float) -> None:
        """Resizes came to an end."""
        for record in records:
            self.resizes[record.direction, record.result.lower()] += 1
            if record.result == "Granted" and record.since:
                self.seconds[record.direction].append(max(0.0, now - age.parse(record.since).timestamp()))

    def pod_seen(self, pod: Pod) -> None:
        """A workload was seen; one that was killed to make room is a victim."""
        if pod.status.reason == _PREEMPTED and pod.metadata.uid not in self._killed:
            self._killed.add(pod.metadata.uid)
            self.victims[pod.spec.node_name] += 1

    def forget(self, name: str) -> None:
        """A node is no longer sized."""
        self.sizes.pop(name, None)
        self.overcommitted.pop(name, None)
