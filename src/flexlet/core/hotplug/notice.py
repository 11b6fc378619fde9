"""What programs on the node are told of its size: one JSON document per generation, kind NodeGeneration.

For NRI plugins, runtimes and whoever else places things on CPUs and NUMA nodes and would go by the hardware it saw
when it started (node-resize.md §8.2). Every notice is whole: nobody needs the one before it.
"""

from typing import Any, Final

from flexlet.api import age, decode
from flexlet.api.cpuset import CpuSet
from flexlet.api.quantity import Quantity
from flexlet.core.hotplug.generation import Generation
from flexlet.core.hotplug.view import NodeView
from flexlet.core.machine.machine import Machine, NumaNode, Pages

API_VERSION: Final = "flexlet.io/v1alpha1"
KIND: Final = "NodeGeneration"

Json = dict[str, Any]


def notice(node: str, generation: Generation, view: NodeView) -> Json:
    """A generation that counts from now on."""
    machine = generation.machine
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "node": node,
        "generation": generation.number,
        "bootID": generation.boot_id,
        "seenAt": age.format_seconds(generation.seen_at),
        "changes": [decode.to_value(each) for each in generation.changes],
        "capacity": decode.to_value(view.capacity),
        "allocatable": decode.to_value(view.allocatable),
        "cpus": str(machine.online),
        "memoryBytes": machine.memory,
        "swapBytes": machine.swap,
        "hugepages": _pages(machine.hugepages),
        "numaNodes": [_numa(each, machine) for each in machine.numa],
    }


def line(told: Json) -> bytes:
    """As it is written: one line, so that a reader knows where it ends."""
    return decode.to_json(told) + b"\n"


def _numa(node: NumaNode, machine: Machine) -> Json:
    return {
        "id": node.id,
        "cpus": str(CpuSet.of(cpu.id for cpu in machine.cpus if cpu.numa == node.id)),
        "memoryBytes": node.memory,
        "hugepages": _pages(node.hugepages),
        "distances": {str(other): distance for other, distance in sorted(node.distances.items())},
    }


def _pages(pages: Pages) -> dict[str, int]:
    """How many there are of each size."""
    return {str(Quantity.of_bytes(size)): count for size, count in sorted(pages.items())}
