"""Counts what the resource managers were asked for, for ``/metrics``."""

from typing import Final

from flexlet.core.agent.household import Placing, Settlement
from flexlet.ports.meters import Meters

_TOPOLOGY: Final = "TopologyAffinityError"
_MEMORY: Final = "[memorymanager]"


def count(meters: Meters, settlement: Settlement) -> None:
    """Every container that asked for something of its own, and every refusal by whom it was refused."""
    settings = settlement.world.setup.managers
    for placing in settlement.placed:
        meters.count("kubelet_topology_manager_admission_requests_total")
        refused = _refused(placing)
        if refused == "topology_manager_admission":
            meters.count("kubelet_topology_manager_admission_errors_total")
            continue
        containers = placing.claim.containers
        asked = {
            "cpu_manager_pinning": sum(each.cpus > 0 for each in containers) * settings.pins_cpus,
            "memory_manager_pinning": sum(bool(each.memory) for each in containers) * settings.pins_memory,
        }
        for manager, number in asked.items():
            if number:
                meters.count(f"kubelet_{manager}_requests_total", by=number)
        if refused:
            meters.count(f"kubelet_{refused}_errors_total")


def _refused(placing: Placing) -> str:
    """Who refused it; empty if nobody did."""
    refusal = placing.refusal
    if refusal is None:
        return ""
    if refusal.reason == _TOPOLOGY:
        return "topology_manager_admission"
    return "memory_manager_pinning" if _MEMORY in refusal.message else "cpu_manager_pinning"
