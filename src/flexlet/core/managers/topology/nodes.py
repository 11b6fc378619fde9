"""Which NUMA nodes alignment works with.

The offers of a manager double with every node, so there is a limit; upstream does not start beyond it. Here a
machine that goes beyond while it runs keeps the nodes it had: memory and CPUs of the new one are not handed out to
anybody alone. Nodes without CPUs count, for their memory.

Without alignment there is no limit, but a wide machine is looked at without its nodes that have no memory
(graphics cards bring those by the dozen).
"""

from flexlet.api.cpuset import CpuSet
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.settings import TOPOLOGY_NONE, ManagerSettings
from flexlet.core.managers.topology.merging import Layout


def aligned(settings: ManagerSettings, machine: Machine, before: tuple[int, ...] = ()) -> tuple[int, ...]:
    """The nodes to work with, by id; on a machine with too many, those from before and then the lowest."""
    is_wide = len(machine.numa) > settings.max_numa_nodes
    present = sorted(node.id for node in machine.numa)
    if not is_wide or settings.topology_policy == TOPOLOGY_NONE:
        return tuple(sorted(node.id for node in machine.numa if node.memory or not is_wide))
    kept = [node for node in present if node in before][: settings.max_numa_nodes]
    others = [node for node in present if node not in kept]
    return tuple(sorted(kept or others[: settings.max_numa_nodes]))


def is_too_wide(settings: ManagerSettings, machine: Machine) -> bool:
    """Whether the machine has more nodes than alignment may work with."""
    return settings.topology_policy != TOPOLOGY_NONE and len(machine.numa) > settings.max_numa_nodes


def layout(settings: ManagerSettings, machine: Machine, nodes: tuple[int, ...]) -> Layout:
    """What offers are compared by."""
    distances = {node.id: node.distances for node in machine.numa} if settings.prefer_closest else None
    return Layout(nodes=CpuSet.of(nodes), distances=distances)
