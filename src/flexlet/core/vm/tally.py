"""What is counted about virtual machines, for metrics."""

from collections import Counter, deque
from typing import Final

import msgspec

from flexlet.core.nodesize.tally import Histogram
from flexlet.core.vm import aim
from flexlet.core.vm.objects import Resize
from flexlet.core.vm.scene import Scene

SAMPLES: Final = 256
FEWEST: Final = 10
"""A maximum of fewer samples says nothing."""


class Figures(msgspec.Struct, frozen=True):
    """The last known sizes of one machine."""

    guest: dict[str, int]
    vcpus: dict[str, int]
    pod: dict[str, int]
    overhead: dict[str, int]
    shortfall: int


class Tally:
    """Counts of one controller's life, and the last known sizes."""

    def __init__(self) -> None:
        self.results: Counter[str] = Counter()
        self.fallbacks: Counter[str] = Counter()
        self.violations = 0
        self.ooms = 0
        self.seconds: dict[tuple[str, str, str], Histogram] = {}
        self.machines: dict[str, Figures] = {}
        self._phase: dict[str, tuple[str, str, float]] = {}
        self._samples: dict[str, deque[int]] = {}

    def looked(self, scene: Scene, resize: Resize | None) -> None:
        """A machine was looked at."""
        report, pod = scene.report, scene.pod
        if report is None or pod is None or resize is None or resize.target is None:
            return
        goal, guest = aim.sizes_of(resize.target), scene.guest
        held = any(s.reason == aim.PARTIAL for s in resize.setbacks)
        self.machines[scene.key] = Figures(
            guest={"target": goal.memory, "requested": report.requested, "plugged": report.memory},
            vcpus={"target": goal.vcpus, "plugged": report.vcpus, "online": report.vcpus_online or 0},
            pod={"desired": pod.spec.memory, "allocated": pod.allocated.memory, "actual": pod.actual.memory},
            overhead={"formula": scene.overhead(scene.reach) - scene.correction, "measured": report.resident},
            shortfall=max(0, guest.memory - goal.memory) if held else 0,
        )

    def moved(self, key: str, old: Resize | None, new: Resize | None, now: float) -> None:
        """A resize came to another phase, or to its end."""
        if new is None or not new.started_at:
            return
        name, phase, since = self._phase.get(key, (new.id, "", now))
        if old is not None and (name, phase) == (new.id, new.phase):
            return
        if phase and name == new.id:
            self._add(new, phase, now - since)
        self._phase[key] = (new.id, new.phase, now)
        if new.fallback and not (old and old.id == new.id and old.fallback):
            self.fallbacks[new.fallback] += 1
        is_news = old is None or (old.id, old.phase) != (new.id, new.phase)
        if is_news and new.phase in {"Done", "Failed"} and new.direction:
            self.results[_result(new)] += 1
            self._add(new, "Total", now - aim.moment(new.started_at))

    def sampled(self, uid: str, resident: int) -> None:
        """A launcher was seen to use so much beside its guest's memory."""
        if resident:
            self._samples.setdefault(uid, deque(maxlen=SAMPLES)).append(resident)

    def resident(self, uid: str) -> int:
        """The 99th of a hundred samples; 0 while there are too few."""
        known = sorted(self._samples.get(uid, ()))
        return known[min(len(known) - 1, len(known) * 99 // 100)] if len(known) >= FEWEST else 0

    def forget(self, key: str) -> None:
        """A machine is no more."""
        self.machines.pop(key, None)
        self._phase.pop(key, None)

    def forget_pod(self, uid: str) -> None:
        """A launcher is no more."""
        self._samples.pop(uid, None)

    def _add(self, resize: Resize, phase: str, seconds: float) -> None:
        label = resize.direction or "Shrink", _resource(resize), phase
        self.seconds.setdefault(label, Histogram()).add(max(0.0, seconds))


def _resource(resize: Resize) -> str:
    if resize.target is None or resize.origin is None:
        return "both"
    goal, start = aim.sizes_of(resize.target), aim.sizes_of(resize.origin)
    changed = [r for r in aim.RESOURCES if goal.of(r) != start.of(r)]
    return changed[0] if len(changed) == 1 else "both"


def _result(resize: Resize) -> str:
    if resize.phase == "Failed":
        return "failed"
    return "partial" if any(s.reason == aim.PARTIAL for s in resize.setbacks) else "completed"
