"""What the operator decides about the managers, in the words of KubeletConfiguration."""

from typing import Final

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.core.machine.allocatable import Reservation

CPU_NONE: Final = "none"
CPU_STATIC: Final = "static"
MEMORY_NONE: Final = "None"
MEMORY_STATIC: Final = "Static"
TOPOLOGY_NONE: Final = "none"
BEST_EFFORT: Final = "best-effort"
RESTRICTED: Final = "restricted"
SINGLE_NUMA_NODE: Final = "single-numa-node"
SCOPE_CONTAINER: Final = "container"
SCOPE_POD: Final = "pod"

FULL_PCPUS_ONLY: Final = "full-pcpus-only"
STRICT_CPU_RESERVATION: Final = "strict-cpu-reservation"
ALIGN_BY_UNCORE_CACHE: Final = "prefer-align-cpus-by-uncorecache"
DISTRIBUTE_ACROSS_NUMA: Final = "distribute-cpus-across-numa"
ALIGN_BY_SOCKET: Final = "align-by-socket"
DISTRIBUTE_ACROSS_CORES: Final = "distribute-cpus-across-cores"


class ManagerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Policies and their options; the defaults manage nothing."""

    cpu_policy: str = CPU_NONE
    cpu_options: frozenset[str] = frozenset()
    """Those that are true."""
    reserved_cpus: CpuSet | None = None
    """``reservedSystemCPUs``; None: as many as the reservations need, chosen by topology."""
    reserved_milli: int = 0
    """kubeReserved and systemReserved CPU together."""
    memory_policy: str = MEMORY_NONE
    reserved_memory: dict[int, dict[str, int]] = {}
    """By NUMA node and kind of memory, in bytes."""
    reservation: Reservation = Reservation(eviction_hard={})
    """``kubeReserved``, ``systemReserved``, ``evictionHard``: what `reserved_memory` must add up to."""
    topology_policy: str = TOPOLOGY_NONE
    topology_scope: str = SCOPE_CONTAINER
    prefer_closest: bool = False
    """``prefer-closest-numa-nodes``."""
    max_numa_nodes: int = 8
    """``max-allowable-numa-nodes``."""
    reconcile_s: float = 10.0
    """``cpuManagerReconcilePeriod``: how long to wait before a container is given its CPUs again."""

    @property
    def pins_cpus(self) -> bool:
        """Whether containers are given CPU sets."""
        return self.cpu_policy == CPU_STATIC

    @property
    def pins_memory(self) -> bool:
        """Whether containers are given NUMA nodes for their memory."""
        return self.memory_policy == MEMORY_STATIC
