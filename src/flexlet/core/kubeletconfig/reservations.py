"""What is kept from pods: reservations, who enforces them, and the rules they must obey.

Follows ``validation.go``, ``validation_reserved_memory.go`` and ``parseResourceList`` of the kubelet 1.36.3.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from flexlet.api.cpuset import CpuSet
from flexlet.api.pod import ResourceList
from flexlet.api.quantity import ZERO, Quantity
from flexlet.core.kubeletconfig.config import KubeletConfiguration
from flexlet.core.kubeletconfig.problems import Problem
from flexlet.core.resources.names import CPU, EPHEMERAL_STORAGE, MEMORY, is_hugepages
from flexlet.errors import InputError

RESERVABLE: Final = (CPU, MEMORY, EPHEMERAL_STORAGE, "pid")
NOBODY: Final = "none"
PODS: Final = "pods"
SYSTEM: Final = ("system-reserved", "system-reserved-compressible")
KUBE: Final = ("kube-reserved", "kube-reserved-compressible")
_ENFORCEMENTS: Final = (PODS, *SYSTEM, *KUBE, NOBODY)


def amounts(reserved: Mapping[str, str]) -> ResourceList:
    """A reservation that obeys the rules, read."""
    return {name: Quantity.parse(text) for name, text in reserved.items()}


def problems(config: KubeletConfiguration) -> Iterator[Problem]:
    """What cannot be reserved or enforced."""
    yield from _amounts("systemReserved", config.system_reserved)
    yield from _amounts("kubeReserved", config.kube_reserved)
    yield from _enforcement(config)
    yield from _cpus(config)
    yield from _memory(config)


def _amounts(path: str, reserved: Mapping[str, str]) -> Iterator[Problem]:
    for name, text in reserved.items():
        where = f"{path}.{name}"
        if name not in RESERVABLE:
            yield Problem(where, f"only {', '.join(RESERVABLE)} can be reserved")
            continue
        try:
            if Quantity.parse(text) < ZERO:
                yield Problem(where, f"{text} must not be negative")
        except InputError as error:
            yield Problem(where, f"{text!r}: {error.message}")


def _enforcement(config: KubeletConfiguration) -> Iterator[Problem]:
    path, wanted = "enforceNodeAllocatable", config.enforce_node_allocatable
    for name in sorted({name for name in wanted if wanted.count(name) > 1}):
        yield Problem(path, f"{name} is there twice")
    for name in sorted(set(wanted) - set(_ENFORCEMENTS)):
        yield Problem(path, f"{name!r} is none of {', '.join(_ENFORCEMENTS)}")
    if NOBODY in wanted and len(wanted) > 1:
        yield Problem(path, "none excludes all others")
    for field, cgroup, both in (
        ("systemReservedCgroup", config.system_reserved_cgroup, SYSTEM),
        ("kubeReservedCgroup", config.kube_reserved_cgroup, KUBE),
    ):
        if set(both) <= set(wanted):
            yield Problem(path, f"set either {both[0]} or {both[1]}, not both")
        if not cgroup and set(both) & set(wanted):
            yield Problem(field, f"name the cgroup in which enforceNodeAllocatable enforces {both[0]}")


def _cpus(config: KubeletConfiguration) -> Iterator[Problem]:
    if not config.reserved_system_cpus:
        return
    if config.system_reserved_cgroup or config.kube_reserved_cgroup:
        yield Problem("reservedSystemCPUs", "it cannot be used with systemReservedCgroup or kubeReservedCgroup")
    try:
        CpuSet.parse(config.reserved_system_cpus)
    except InputError as error:
        yield Problem("reservedSystemCPUs", error.message)


def _memory(config: KubeletConfiguration) -> Iterator[Problem]:
    if config.memory_manager_policy == "None" and config.reserved_memory:
        yield Problem("reservedMemory", "it has a meaning with memoryManagerPolicy Static only; remove it")
    seen: set[tuple[int, str]] = set()
    for index, entry in enumerate(config.reserved_memory):
        for name, amount in entry.limits.items():
            where = f"reservedMemory[{index}].limits.{name}"
            if name != MEMORY and not is_hugepages(name):
                yield Problem(where, "only memory and hugepages-<size> can be reserved on a NUMA node")
            if not amount:
                yield Problem(where, "it must not be zero")
            if (entry.numa_node, name) in seen:
                yield Problem(where, f"NUMA node {entry.numa_node} has it already")
            seen.add((entry.numa_node, name))
