"""A detector in a life without a world: a machine that is whatever was said last, and time that only passes."""

from typing import Any

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.api.pod import ResourceList
from flexlet.api.units import GIB, Bytes
from flexlet.core.detection.detector import Detector
from flexlet.core.detection.observations import Answered, Hinted, Read, ReadFailed
from flexlet.core.detection.steps import Apply, Note, Online, ReadMachine
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.machine.machine import Cpu, HalfPlugged, Machine, NumaNode
from flexlet.core.machine.parts import Kind

ON = ResizeSettings(plug=True, unplug=True)


def machine(cpus: str = "0-3", memory: float = 8 * GIB, **fields: Any) -> Machine:
    ids = CpuSet.parse(cpus)
    return Machine(
        cpus=tuple(Cpu(cpu, core=cpu, socket=0, numa=0, cache=0) for cpu in ids),
        memory=Bytes(int(memory)),
        numa=(NumaNode(id=0, memory=Bytes(int(memory))),),
        block_size=Bytes(128 * 1024**2),
        **fields,
    )


def waiting(found: Machine, **fields: Any) -> Machine:
    return msgspec.structs.replace(found, half_plugged=HalfPlugged(**fields))


class Life:
    """Does what the detector says, at once."""

    def __init__(
        self,
        found: Machine | None = None,
        settings: ResizeSettings = ON,
        reserved: ResourceList | None = None,
        *,
        udev: frozenset[Kind] = frozenset(),
        sway: float = 0.0,
    ) -> None:
        self.now = 0.0
        self.machine = found or machine()
        self.broken = ""
        self.refusal = "cannot"
        self.looks: list[tuple[float, str]] = []
        self.applied: list[tuple[float, Machine]] = []
        self.steps: list[tuple[float, Apply | Note | Online]] = []
        self.detector = Detector(settings, reserved, sway)
        self.detector.begin(self.machine, self.now, udev)
        self.settle()

    def hint(self, count: int = 1) -> None:
        for _ in range(count):
            self.detector.learn(Hinted("uevent", self.now))
        self.settle()

    def become(self, found: Machine) -> None:
        """Another machine, with an event."""
        self.machine = found
        self.hint()

    def pass_to(self, until: float) -> None:
        """Let time pass; the detector is asked exactly when it wants to be."""
        while (wake_at := self.settle()) is not None and wake_at <= until:
            assert wake_at >= self.now, "it wants to have been asked before"
            self.now = wake_at
        self.now = until
        self.settle()

    def settle(self) -> float | None:
        for _ in range(1000):
            decision = self.detector.decide(self.now)
            for step in decision.steps:
                self._do(step)
            if not decision.steps:
                return decision.wake_at
        raise AssertionError("it never comes to rest")

    def _do(self, step: Any) -> None:
        if isinstance(step, ReadMachine):
            self.looks.append((round(self.now, 3), step.what))
            answer = ReadFailed(self.broken, self.now) if self.broken else Read(self.machine, self.now)
            self.detector.learn(answer)
            return
        self.steps.append((round(self.now, 3), step))
        if isinstance(step, Online):
            self.detector.learn(Answered(step.part, self.refusal, self.now))
        if isinstance(step, Apply):
            self.applied.append((round(self.now, 3), step.machine))
