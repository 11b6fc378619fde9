"""Everything about a node that follows from the size of its machine, as one value.

Two of them are compared to see what a change of size means. Nothing here depends on the pods but one thing: the
limit around all of them is never set below what the critical ones use now, because that would kill them.
"""

from typing import Final

import msgspec

from flexlet.api.pod import ResourceList
from flexlet.api.quantity import ZERO, Quantity
from flexlet.api.units import MIB, Bytes
from flexlet.core.cgroups import values
from flexlet.core.cgroups.hugetlb import UNBOUNDED
from flexlet.core.cgroups.root import PIDS, kubepods_values
from flexlet.core.cgroups.settings import Host
from flexlet.core.machine.allocatable import allocatable, for_pods, reserved
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.settings import ManagerSettings
from flexlet.core.node.settings import NodeSettings
from flexlet.core.node.status import node_capacity
from flexlet.core.resources.names import MEMORY

UNPINNED: Final = "\n"
"""What takes every name out of a cpuset; an empty text would not reach the kernel."""
MARGIN: Final = Bytes(64 * MIB)
"""What critical pods get beyond their present use when the machine is smaller than its reservations."""


class NodeView(msgspec.Struct, frozen=True, kw_only=True):
    """A node of one size."""

    capacity: ResourceList
    allocatable: ResourceList
    for_pods: ResourceList
    """What all pods together may use: the eviction threshold is still in it."""
    kubepods: dict[str, str]
    """The files of the cgroup of all pods, at rest."""
    limit: Bytes
    """Its ``memory.max``."""
    host: Host
    below_reserved: tuple[str, ...] = ()
    """Resources of which the machine has less than is reserved."""


def view(
    machine: Machine,
    settings: NodeSettings,
    managing: ManagerSettings | None = None,
    *,
    critical_usage: int = 0,
    enforce: bool = True,
) -> NodeView:
    """What the node is with this machine; `critical_usage` is the memory that critical pods use now."""
    capacity = node_capacity(settings, machine, {})
    for_all = for_pods(capacity, settings.reservation)
    kubepods = _kubepods(machine, settings, capacity, critical_usage, enforce=enforce)
    return NodeView(
        capacity=capacity,
        allocatable=allocatable(capacity, settings.reservation),
        for_pods=for_all,
        kubepods=values.files(kubepods, tuple(machine.hugepages))
        | _at_rest(machine, managing or ManagerSettings()),
        limit=kubepods.memory_max or Bytes(0),
        host=_host(machine, for_all),
        below_reserved=_below_reserved(capacity, settings),
    )


def _kubepods(
    machine: Machine, settings: NodeSettings, capacity: ResourceList, critical_usage: int, *, enforce: bool
) -> values.CgroupValues:
    pids = {PIDS: Quantity.of_bytes(machine.pids)} if machine.pids else {}
    found = kubepods_values(capacity | pids, settings.reservation, enforce=enforce)
    # A limit of 0 would be left out as "not set": pods could use what daemons need.
    floor = Bytes(critical_usage + MARGIN)
    # Pages that do not exist need no limit; kubelets open all sizes, and pods may take more than theirs.
    pages = {size: limit or int(UNBOUNDED) for size, limit in found.hugetlb.items()}
    return msgspec.structs.replace(found, memory_max=max(found.memory_max or Bytes(0), floor), hugetlb=pages)


def _at_rest(machine: Machine, managing: ManagerSettings) -> dict[str, str]:
    """Nothing is squeezed; without a CPU manager all pods may run on every CPU, and only on what is named here.

    Beside a CPU manager nothing is named, and what was named before there was one is taken back.
    """
    return {"memory.high": "max", "cpuset.cpus": UNPINNED if managing.pins_cpus else str(machine.online)}


def _host(machine: Machine, for_all: ResourceList) -> Host:
    return Host(
        memory=machine.memory,
        swap=machine.swap,
        allocatable_memory=Bytes(for_all[MEMORY].value),
        swap_controller=machine.cgroups.swap,
        hugepage_sizes=tuple(Bytes(size) for size in sorted(machine.hugepages)),
    )


def _below_reserved(capacity: ResourceList, settings: NodeSettings) -> tuple[str, ...]:
    wanted = reserved(capacity, settings.reservation)
    return tuple(sorted(name for name, amount in wanted.items() if amount > capacity.get(name, ZERO)))
