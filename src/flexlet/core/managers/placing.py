"""Taking a pod in and letting it go, all managers together: a pod gets everything it asks for or nothing.

Containers are served in the order in which they start. With a topology policy each is first given the NUMA nodes
on which its CPUs and its memory agree (in scope pod: all of them the same), and then both managers serve it there.
"""

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.claims import ContainerClaim, PodClaim
from flexlet.core.managers.cpu import hints as cpu_hints
from flexlet.core.managers.cpu import static as cpus
from flexlet.core.managers.cpu.ground import Ground
from flexlet.core.managers.hints import Hint, ResourceHints
from flexlet.core.managers.memory import allocating as memory
from flexlet.core.managers.memory import offers
from flexlet.core.managers.settings import BEST_EFFORT, SCOPE_POD, TOPOLOGY_NONE, ManagerSettings
from flexlet.core.managers.state import Managers, Refusal
from flexlet.core.managers.topology.merging import merge
from flexlet.core.managers.topology.nodes import layout
from flexlet.core.managers.topology.refusals import NOT_ALIGNED

ANYWHERE = Hint(None, preferred=False)
"""What a container is served with that nobody aligned."""


def place(managers: Managers, settings: ManagerSettings, machine: Machine, claim: PodClaim) -> Managers | Refusal:
    """The books with this pod in them; unchanged for a pod that they know, so asking again is harmless."""
    if managers.placed(claim.uid):
        return managers
    ground = Ground(machine, settings, managers.numa)
    pod_hint = ANYWHERE if settings.topology_policy == TOPOLOGY_NONE else None
    if pod_hint is None and settings.topology_scope == SCOPE_POD:
        found = _agreed(managers, ground, _pod_offers(managers, ground, claim))
        if isinstance(found, Refusal):
            return found
        pod_hint = found
    for container in claim.containers:
        served = _served(managers, ground, claim, container, pod_hint)
        if isinstance(served, Refusal):
            return served
        managers = served
    return managers


def complete(
    managers: Managers, settings: ManagerSettings, machine: Machine, claim: PodClaim
) -> Managers | Refusal:
    """The books with what is missing of a pod that only one of the managers knows, near to what it has."""
    ground = Ground(machine, settings, managers.numa)
    for container in claim.containers:
        served = _allocated(
            managers, ground, claim, container, _beside(managers, ground, claim.uid, container.name)
        )
        if isinstance(served, Refusal):
            served = _allocated(managers, ground, claim, container, ANYWHERE)
        if isinstance(served, Refusal):
            return served
        managers = served
    return managers


def _beside(managers: Managers, ground: Ground, uid: str, container: str) -> Hint:
    """The NUMA nodes of what a container has already."""
    own = managers.cpu.cpus_of(uid, container)
    near = managers.memory.nodes_of(uid, container) if own is None else ground.topology.nodes_of(own)
    known = CpuSet.of(node for node in near or () if node in managers.numa)
    return Hint(known or None, preferred=False)


def release(managers: Managers, settings: ManagerSettings, machine: Machine, uid: str) -> Managers:
    """The books without this pod: its CPUs are shared again and its memory is free."""
    del settings, machine  # Not needed now, and part of what callers hold anyway.
    return msgspec.structs.replace(
        managers,
        cpu=cpus.release(managers.cpu, uid),
        memory=memory.release(managers.memory, uid),
        hints={other: hints for other, hints in managers.hints.items() if other != uid},
    )


def cpus_of(managers: Managers, settings: ManagerSettings, uid: str, container: str) -> CpuSet | None:
    """Where a container may run: its own CPUs or the shared ones; None if CPUs are not managed."""
    if not settings.pins_cpus:
        return None
    own = managers.cpu.cpus_of(uid, container)
    return cpus.pool(managers.cpu) if own is None else own


def nodes_of(managers: Managers, settings: ManagerSettings, uid: str, container: str) -> CpuSet | None:
    """The NUMA nodes of a container's memory (``cpuset.mems``); None if any will do."""
    return managers.memory.nodes_of(uid, container) if settings.pins_memory else None


def _served(
    managers: Managers, ground: Ground, claim: PodClaim, container: ContainerClaim, hint: Hint | None
) -> Managers | Refusal:
    found = _agreed(managers, ground, _offers(managers, ground, claim, container)) if hint is None else hint
    if isinstance(found, Refusal):
        return found
    if ground.settings.topology_policy != TOPOLOGY_NONE:
        noted = managers.hints.get(claim.uid, {}) | {container.name: found}
        managers = msgspec.structs.replace(managers, hints=managers.hints | {claim.uid: noted})
    return _allocated(managers, ground, claim, container, found)


def _allocated(
    managers: Managers, ground: Ground, claim: PodClaim, container: ContainerClaim, hint: Hint
) -> Managers | Refusal:
    cpu = cpus.place(managers.cpu, ground, claim, container, hint)
    if isinstance(cpu, Refusal):
        return cpu
    if not ground.settings.pins_memory:
        return msgspec.structs.replace(managers, cpu=cpu)
    booked = memory.allocate(managers.memory, managers.numa, claim, container, hint)
    return booked if isinstance(booked, Refusal) else msgspec.structs.replace(managers, cpu=cpu, memory=booked)


def _agreed(managers: Managers, ground: Ground, providers: list[ResourceHints]) -> Hint | Refusal:
    settings = ground.settings
    found = merge(settings.topology_policy, layout(settings, ground.machine, managers.numa), providers)
    return found if found.preferred or settings.topology_policy == BEST_EFFORT else NOT_ALIGNED


def _offers(managers: Managers, ground: Ground, claim: PodClaim, container: ContainerClaim) -> list[ResourceHints]:
    found = []
    if ground.settings.pins_cpus:
        found.append(cpu_hints.container_hints(managers.cpu, ground, claim, container))
    if ground.settings.pins_memory:
        found.append(offers.hints(managers.memory, managers.numa, claim, container))
    return found


def _pod_offers(managers: Managers, ground: Ground, claim: PodClaim) -> list[ResourceHints]:
    found = []
    if ground.settings.pins_cpus:
        found.append(cpu_hints.pod_hints(managers.cpu, ground, claim))
    if ground.settings.pins_memory:
        found.append(offers.pod_hints(managers.memory, managers.numa, claim))
    return found
