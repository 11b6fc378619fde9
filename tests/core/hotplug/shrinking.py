"""A node that is asked to become smaller; it does what the decider says, as an engine would."""

from typing import Any

from msgspec.structs import replace
from tests.core.hotplug import nodes

from flexlet.api.cpuset import CpuSet
from flexlet.api.units import Bytes
from flexlet.core.hotplug import prepared
from flexlet.core.hotplug.preparing import (
    BringOnline,
    Decision,
    DrainCpus,
    Evict,
    FreeMemory,
    Prepared,
    Scene,
    TakeOffline,
    UndoDrain,
)
from flexlet.core.hotplug.tenants import Tenant
from flexlet.core.machine.machine import Cpu, Machine, NumaNode
from flexlet.core.machine.parts import Part, PartRefused

GIB = 1024**3
WISH = '{"cpu": "3", "memory": "6Gi"}'
BLOCKS: dict[str, Any] = {"block_size": Bytes(GIB), "blocks": tuple(range(8))}
FULL = nodes.machine(**BLOCKS)
LATE = nodes.tenant("late", "500m,3Gi", age=5)
EARLY = nodes.tenant("early", "500m,3Gi")


class Node:
    """A machine whose parts obey, except those in `stubborn`, and a disruption budget that lets nobody go."""

    def __init__(self, *tenants: Tenant, machine: Machine = FULL, **more: Any) -> None:
        self.state = Prepared()
        self.machine = machine
        self.tenants = tenants
        self.wish = WISH
        self.movable: frozenset[int] = frozenset()
        self.stubborn: set[str] = set()
        self.more = more
        self.now = 100.0
        self.generation = 1
        self.published = True
        self.used = 0
        self.dies_after: int | None = None
        self.calls: list[str] = []
        self.last = Decision(state=self.state)

    @property
    def scene(self) -> Scene:
        return Scene(
            wish=self.wish,
            machine=self.machine,
            generation=self.generation,
            published=self.published,
            situation=nodes.situation(*self.tenants, **self.more),
            movable=self.movable,
        )

    def step(self) -> Decision:
        self.last = prepared.decide(self.state, self.scene, self.now)
        self.state = self.last.state
        for each in self.last.steps[: self.dies_after]:
            match each:
                case Evict(uid=uid):
                    self.calls.append(f"evict {uid}")
                case FreeMemory(limit=limit) if self.used > limit:
                    self.state = prepared.crowded(self.state, self.used, limit, self.now)
                    break
                case TakeOffline(part=part):
                    if not self.switch(part, "offline"):
                        break
                case BringOnline(part=part, as_=zone):
                    self.switch(part, zone)
                case DrainCpus(managers=managers) | UndoDrain(managers=managers):
                    self.calls.append(f"shared {managers.cpu.shared}")
                    self.more["managers"] = managers
        return self.last

    def run(self) -> Decision:
        for _ in range(30):
            if not self.step().steps:
                break
        return self.last

    def switch(self, part: Part, way: str) -> bool:
        self.calls.append(f"{way} {part}")
        refusal = PartRefused(part=part, reason="EBUSY", message="no") if str(part) in self.stubborn else None
        if refusal is None:
            self.machine = moved(self.machine, part, way.removesuffix("_movable"))
            self.generation += 1
        self.state = prepared.switched(self.state, part, refusal, self.scene, self.now)
        return refusal is None


def moved(machine: Machine, part: Part, way: str) -> Machine:
    """The machine after a part was switched, or (``gone``) unplugged for good."""
    half, sign = machine.half_plugged, 1 if way == "online" else -1
    if part.kind == "cpu":
        others = tuple(cpu for cpu in machine.cpus if cpu.id != part.number)
        new = Cpu(part.number, core=part.number, socket=0, numa=0, cache=0)
        waiting = half.offline_cpus - CpuSet.of([part.number])
        waiting = waiting | CpuSet.of([part.number]) if way == "offline" else waiting
        cpus = tuple(sorted((*others, new), key=lambda cpu: cpu.id)) if way == "online" else others
        return replace(machine, cpus=cpus, half_plugged=replace(half, offline_cpus=waiting))
    memory = Bytes(machine.memory + sign * machine.block_size) if way != "gone" else machine.memory
    blocks = tuple(each for each in half.offline_blocks if each != part.number)
    blocks = tuple(sorted((*blocks, part.number))) if way == "offline" else blocks
    return replace(
        machine,
        memory=memory,
        numa=(NumaNode(id=0, memory=memory),),
        half_plugged=replace(half, offline_blocks=blocks),
        blocks=tuple(each for each in machine.blocks if way != "gone" or each != part.number),
    )
