"""The kubepods cgroup and the cgroups of reserved daemons.

kubepods holds all pods. It gets what the node has after reservations; the eviction threshold is not subtracted, so
that the kubelet evicts before the kernel kills. Follows Kubernetes 1.36.3.
"""

from typing import Final

from flexlet.api.pod import ResourceList
from flexlet.api.units import Bytes
from flexlet.core.cgroups import cpu, hugetlb
from flexlet.core.cgroups.settings import DEFAULTS, CgroupSettings
from flexlet.core.cgroups.values import CgroupValues
from flexlet.core.machine.allocatable import Reservation, for_pods
from flexlet.core.resources.names import CPU, MEMORY

PIDS: Final = "pid"


def kubepods_values(capacity: ResourceList, reservation: Reservation, *, enforce: bool = True) -> CgroupValues:
    """The values of kubepods; unless pods are enforced (``enforceNodeAllocatable``) they may use everything."""
    return _values(for_pods(capacity, reservation) if enforce else capacity)


def reserved_values(
    reserved: ResourceList, settings: CgroupSettings = DEFAULTS, *, compressible_only: bool = False
) -> CgroupValues:
    """The values of the cgroup that kube or system daemons run in, when their reservation is enforced."""
    if compressible_only:
        return _values({name: amount for name, amount in reserved.items() if name == CPU})
    return _values(reserved, protect=settings.memory_qos)


def _values(amounts: ResourceList, *, protect: bool = False) -> CgroupValues:
    memory = Bytes(amounts[MEMORY].value) if MEMORY in amounts else None
    return CgroupValues(
        shares=cpu.shares(amounts[CPU].milli) if CPU in amounts else None,
        memory_max=memory,
        memory_min=memory if protect else None,
        pids_max=amounts[PIDS].value if PIDS in amounts else None,
        hugetlb=hugetlb.by_size(amounts),
    )
