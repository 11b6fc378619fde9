"""Taking a pod in and letting it go, all managers together: a pod gets everything it asks for or nothing."""

from flexlet.api.cpuset import CpuSet
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.claims import PodClaim
from flexlet.core.managers.settings import ManagerSettings
from flexlet.core.managers.state import Managers, Refusal


def place(managers: Managers, settings: ManagerSettings, machine: Machine, claim: PodClaim) -> Managers | Refusal:
    """The books with this pod in them; unchanged for a pod that they know, so asking again is harmless."""
    raise NotImplementedError(managers, settings, machine, claim)


def release(managers: Managers, settings: ManagerSettings, machine: Machine, uid: str) -> Managers:
    """The books without this pod: its CPUs are shared again and its memory is free."""
    raise NotImplementedError(managers, settings, machine, uid)


def cpus_of(managers: Managers, settings: ManagerSettings, uid: str, container: str) -> CpuSet | None:
    """Where a container may run: its own CPUs or the shared ones; None if CPUs are not managed."""
    if not settings.pins_cpus:
        return None
    own = managers.cpu.cpus_of(uid, container)
    return managers.cpu.shared if own is None else own


def nodes_of(managers: Managers, settings: ManagerSettings, uid: str, container: str) -> CpuSet | None:
    """The NUMA nodes of a container's memory (``cpuset.mems``); None if any will do."""
    return managers.memory.nodes_of(uid, container) if settings.pins_memory else None
