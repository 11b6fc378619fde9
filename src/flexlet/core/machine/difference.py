"""What changed between two readings of a machine, per resource and with a direction.

Only what pods can notice is compared: the key of node-resize.md §1.3. Two equal keys are the same machine,
whatever else was read (half-plugged parts, kernel version). One difference may hold several directions: CPUs may
come while memory goes.
"""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.api.quantity import Quantity
from flexlet.core.machine.machine import Machine, Pages
from flexlet.core.resources.names import CPU, EPHEMERAL_STORAGE, HUGEPAGES_PREFIX, MEMORY

Direction = Literal["increase", "decrease", "moved"]

SWAP = "swap"
PIDS = "pids"
NUMA = "numa"


class Change(msgspec.Struct, frozen=True):
    """One resource: how much there was and is, in its unit (CPUs, bytes, processes, nodes).

    ``moved`` means as much as before, elsewhere: another CPU, the same memory on another NUMA node.
    """

    resource: str
    direction: Direction
    before: int
    after: int


def key(machine: Machine) -> Any:
    """What two readings of an unchanged machine have in common; compare it, do not look inside."""
    return tuple((resource, amount, place) for resource, amount, place in _resources(machine))


def difference(before: Machine, after: Machine) -> tuple[Change, ...]:
    """The changes, by name of the resource; empty for an unchanged machine."""
    old = {resource: (amount, place) for resource, amount, place in _resources(before)}
    new = {resource: (amount, place) for resource, amount, place in _resources(after)}
    return tuple(
        Change(resource, _direction(was[0], now[0]), was[0], now[0])
        for resource in sorted(old.keys() | new.keys())
        if (was := old.get(resource, (0, None))) != (now := new.get(resource, (0, None)))
        if was[0] or now[0] or resource in (CPU, MEMORY)
    )


def lost_cpus(before: Machine, after: Machine) -> CpuSet:
    """The CPUs that are gone, even if others came in their place."""
    return before.online - after.online


def _direction(before: int, after: int) -> Direction:
    if before == after:
        return "moved"
    return "increase" if after > before else "decrease"


def _resources(machine: Machine) -> Iterator[tuple[str, int, Any]]:
    """Each resource with its amount and with where it is."""
    nodes = machine.numa
    yield CPU, len(machine.cpus), machine.cpus
    yield MEMORY, machine.memory, tuple((node.id, node.memory) for node in nodes)
    for size in sorted(machine.hugepages):
        place = tuple((node.id, node.hugepages.get(size, 0)) for node in nodes)
        yield f"{HUGEPAGES_PREFIX}{Quantity.of_bytes(size)}", size * machine.hugepages[size], place
    yield SWAP, machine.swap, None
    yield NUMA, len(nodes), tuple((node.id, _pairs(node.distances)) for node in nodes)
    yield PIDS, machine.pids, None
    yield EPHEMERAL_STORAGE, machine.storage or 0, None


def _pairs(numbers: Pages) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(numbers.items()))
