"""Plans for the node of `nodes`, with some pods and the books of its CPU manager."""

from collections.abc import Sequence

from tests.core.hotplug import nodes

from flexlet.api.cpuset import CpuSet
from flexlet.core.hotplug.generation import Generation
from flexlet.core.hotplug.plan import ResizePlan, plan
from flexlet.core.hotplug.settling import Situation
from flexlet.core.hotplug.steps import ResizeStep
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.settings import ManagerSettings
from flexlet.core.managers.state import CpuState, Managers

B = nodes.tenant("b", "500m,2Gi", ",4Gi")
WEB = nodes.tenant("web", "500m,4Gi", age=1, priority=5, grace_s=40)
DB = nodes.tenant("db", "1,2Gi", "1,2Gi", age=2)
G2 = nodes.tenant("g2", "2,1Gi", "2,1Gi")


def planned(
    before: Generation, machine: Machine, situation: Situation, unfinished: Generation | None = None
) -> ResizePlan:
    found = plan(before, machine, 100.0, situation, unfinished)
    assert isinstance(found, ResizePlan)
    return found


def kinds(steps: Sequence[ResizeStep]) -> list[str]:
    return [type(each).__name__ for each in steps]


def static(reserved: str = "0") -> ManagerSettings:
    return ManagerSettings(cpu_policy="static", reserved_cpus=CpuSet.parse(reserved), reserved_milli=1000)


def books(shared: str, **held: str) -> Managers:
    """Who holds which CPUs; CPU 0 is reserved."""
    entries = {uid: {"c": CpuSet.parse(text)} for uid, text in held.items()}
    cpu = CpuState(policy="static", shared=CpuSet.parse(shared), entries=entries, reserved=CpuSet.of([0]))
    return Managers(cpu=cpu, numa=(0,))
