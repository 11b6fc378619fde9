"""How much of each NUMA node's memory is kept for the system.

The operator says it per node, and it must add up to what comes off the node's capacity: that is checked when a
node starts. A hard eviction threshold in percent grows with the machine, so the sum would break with every resize.
Then the configured numbers stay, and the difference falls on the nodes that changed.

A node that left took its share with it, and has it again when it comes back.
"""

from collections.abc import Iterable, Mapping

from flexlet.api.quantity import Quantity
from flexlet.core.machine.allocatable import eviction_reserved
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.memory.tables import Nodes
from flexlet.core.managers.settings import ManagerSettings
from flexlet.core.managers.state import MemoryTable, NumaState
from flexlet.core.resources.amounts import total
from flexlet.core.resources.names import MEMORY, is_hugepages
from flexlet.errors import ConfigError

Shares = dict[int, dict[str, int]]
"""Bytes by NUMA node and kind of memory."""


def configured(settings: ManagerSettings, machine: Machine) -> Shares:
    """What the operator wrote, if it can work on this machine; ConfigError in the kubelet's words."""
    known = {node.id for node in machine.numa}
    for node in settings.reserved_memory:
        if node not in known:
            raise ConfigError(
                f"the reserved memory configuration references a NUMA node {node} that does not exist on this "
                f"machine: it has {', '.join(map(str, sorted(known)))}; change reservedMemory"
            )
    _check_sums(settings, machine)
    return {node: dict(limits) for node, limits in settings.reserved_memory.items()}


def _check_sums(settings: ManagerSettings, machine: Machine) -> None:
    reserved, demanded = _sums(settings.reserved_memory.values()), needed(settings, machine)
    for kind in sorted(reserved.keys() | demanded.keys()):
        have, want = reserved.get(kind, 0), demanded.get(kind, 0)
        if have != want:
            raise ConfigError(
                f'the total amount "{Quantity.of_bytes(have)}" of type "{kind}" is not equal to the value '
                f'"{Quantity.of_bytes(want)}" determined by Node Allocatable feature: make reservedMemory add up '
                "to kubeReserved, systemReserved and evictionHard"
            )
    if not reserved.get(MEMORY, 0):
        raise ConfigError(
            "[memorymanager] you should specify the system reserved memory: set reservedMemory, and kubeReserved "
            "or systemReserved to the same sum"
        )


def needed(settings: ManagerSettings, machine: Machine) -> dict[str, int]:
    """What comes off the capacity of this machine, by kind of memory."""
    reservation = settings.reservation
    margins = eviction_reserved({MEMORY: Quantity.of_bytes(machine.memory)}, reservation.eviction_hard)
    amounts = total((reservation.kube, reservation.system, margins))
    return {kind: amount.value for kind, amount in amounts.items() if kind == MEMORY or is_hugepages(kind)}


def is_relative(settings: ManagerSettings) -> bool:
    """Whether the reservation depends on how large the machine is."""
    return settings.reservation.eviction_hard.get("memory.available", "").endswith("%")


def found(settings: ManagerSettings, machine: Machine, nodes: Nodes) -> Shares:
    """The shares of a node that starts with tables from before; ConfigError as `configured`.

    Not an error: a configured node that was there and left, or a sum that grew with the machine.
    """
    present = {node.id for node in machine.numa}
    left = [node for node in settings.reserved_memory if node not in present and node in nodes]
    shares, demanded = kept(settings, machine, nodes), needed(settings, machine)
    missing = _difference(demanded, _sums(shares.values()))
    weights = _weights(machine, nodes)
    if left and not is_relative(settings):
        return shares
    if not left and (not is_relative(settings) or _sums(settings.reserved_memory.values()) == demanded):
        return configured(settings, machine)
    if any(missing.values()) and not any(weights.values()):
        return configured(settings, machine)
    return spread(shares, missing, weights)


def resized(settings: ManagerSettings, before: Machine, after: Machine, nodes: Nodes) -> Shares:
    """The shares after the machine changed; `nodes` are the tables from before."""
    shares = kept(settings, after, nodes)
    was, now = needed(settings, before), needed(settings, after)
    staying = {node: weight for node, weight in _weights(after, nodes).items() if node in nodes}
    if any(staying.values()):
        return spread(shares, _difference(now, was), staying)
    new = {node.id: int(node.memory) for node in after.numa if node.id not in nodes}
    missing = _difference(now, _sums(shares.values()))
    return spread(shares, {kind: max(0, size) for kind, size in missing.items()}, new)


def kept(settings: ManagerSettings, machine: Machine, nodes: Nodes) -> Shares:
    """What each node had, and for a new one what is configured."""
    return {
        node.id: {kind: table.system_reserved for kind, table in nodes[node.id].tables.items()}
        if node.id in nodes
        else dict(settings.reserved_memory.get(node.id, {}))
        for node in machine.numa
    }


def _weights(machine: Machine, nodes: Nodes) -> dict[int, int]:
    """By how much the memory of each node changed."""
    return {
        node.id: abs(node.memory - nodes.get(node.id, NumaState()).tables.get(MEMORY, MemoryTable()).total)
        for node in machine.numa
    }


def spread(shares: Shares, missing: Mapping[str, int], weights: Mapping[int, int]) -> Shares:
    """The shares with the difference on the nodes with a weight, in proportion; the last one gets the rest."""
    heavy = [node for node in sorted(weights) if weights[node]]
    result = {node: dict(limits) for node, limits in shares.items()}
    for kind, difference in missing.items():
        rest = difference
        for node in heavy:
            part = rest if node == heavy[-1] else _portion(difference, weights[node], sum(weights.values()))
            rest -= part
            if part:
                result[node][kind] = max(0, result[node].get(kind, 0) + part)
    return result


def _portion(difference: int, weight: int, whole: int) -> int:
    """Rounded towards zero, so that growing and shrinking by as much ends where it began."""
    part = abs(difference) * weight // whole
    return part if difference >= 0 else -part


def _difference(wanted: Mapping[str, int], have: Mapping[str, int]) -> dict[str, int]:
    return {kind: size - have.get(kind, 0) for kind, size in wanted.items()}


def _sums(shares: Iterable[Mapping[str, int]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for limits in shares:
        for kind, size in limits.items():
            sums[kind] = sums.get(kind, 0) + size
    return sums
