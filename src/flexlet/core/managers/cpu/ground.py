"""What CPUs are given out on: the machine, the operator's settings, and the NUMA nodes that count."""

import functools
import math

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.cpu.topology import Topology
from flexlet.core.managers.settings import (
    ALIGN_BY_SOCKET,
    FULL_PCPUS_ONLY,
    RESTRICTED,
    SINGLE_NUMA_NODE,
    STRICT_CPU_RESERVATION,
    ManagerSettings,
)


class Ground(msgspec.Struct, frozen=True, dict=True):
    """One machine under one configuration; make a new one when either changes."""

    machine: Machine
    settings: ManagerSettings
    numa: tuple[int, ...] = ()
    """``Managers.numa``: CPUs of other nodes are shared and never given out. Empty: all nodes count."""

    @functools.cached_property
    def topology(self) -> Topology:
        """Where the CPUs sit."""
        return Topology(self.machine.cpus)

    @functools.cached_property
    def assignable(self) -> CpuSet:
        """The CPUs on NUMA nodes that count."""
        counted = [cpu.id for cpu in self.machine.cpus if not self.numa or cpu.numa in self.numa]
        return CpuSet.of(counted)

    @functools.cached_property
    def nodes(self) -> tuple[int, ...]:
        """The NUMA nodes that have CPUs and count."""
        return tuple(sorted({cpu.numa for cpu in self.machine.cpus if not self.numa or cpu.numa in self.numa}))

    @property
    def online(self) -> CpuSet:
        """All CPUs of the machine."""
        return self.machine.online

    @property
    def strict(self) -> bool:
        """Whether reserved CPUs are not even shared."""
        return STRICT_CPU_RESERVATION in self.settings.cpu_options

    @property
    def whole_cores(self) -> bool:
        """Whether containers get whole cores or nothing."""
        return FULL_PCPUS_ONLY in self.settings.cpu_options

    @property
    def keeps_nodes(self) -> bool:
        """Whether a container must never spread over other NUMA nodes than it was given."""
        return self.settings.topology_policy in (RESTRICTED, SINGLE_NUMA_NODE) and not self.by_socket

    @property
    def by_socket(self) -> bool:
        """Whether alignment is a matter of sockets instead of NUMA nodes."""
        return ALIGN_BY_SOCKET in self.settings.cpu_options

    @property
    def reserved_count(self) -> int:
        """How many CPUs the reservations need, rounded up."""
        return math.ceil(self.settings.reserved_milli / 1000)
