"""What somebody wants to unplug, and which parts of the machine that would be.

The wish is an annotation of the Node: ``flexlet.io/desired-capacity: {"cpu": "4", "memory": "8Gi"}``. It names the
capacity that shall be left; what it does not name, or names as large as it is, stays. A wish that cannot be served
is refused with a sentence, before anything is done for it.
"""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from flexlet.api import decode
from flexlet.api.cpuset import CpuSet
from flexlet.api.quantity import Quantity
from flexlet.api.units import Bytes
from flexlet.core.machine.allocatable import reserved
from flexlet.core.machine.machine import Machine, NumaNode
from flexlet.core.machine.parts import Part, online
from flexlet.core.managers.settings import FULL_PCPUS_ONLY, ManagerSettings
from flexlet.core.node.settings import NodeSettings
from flexlet.core.node.status import node_capacity
from flexlet.core.resources.names import CPU, MEMORY
from flexlet.errors import InputError

ANNOTATION: Final = "flexlet.io/desired-capacity"


class Target(msgspec.Struct, frozen=True):
    """What shall be left: CPUs and bytes, never more than there is."""

    cpus: int
    memory: Bytes


class Unwilling(msgspec.Struct, frozen=True):
    """The wish cannot be served, and why."""

    why: str


def read(text: str, machine: Machine, settings: NodeSettings) -> Target | Unwilling:
    """The target of a wish for this machine."""
    try:
        wanted = _amounts(decode.from_json(text, dict[str, Any]))
    except InputError as error:
        return Unwilling(f'cannot read annotation {ANNOTATION} {text!r}: {error.message}; write {{"cpu": "4"}}')
    if unknown := sorted(set(wanted) - {CPU, MEMORY}):
        return Unwilling(f"{ANNOTATION} names {', '.join(unknown)}; only cpu and memory can be unplugged")
    for name, amount in sorted(wanted.items()):
        if (why := _too_small(name, amount, machine, settings)) is not None:
            return Unwilling(f"{ANNOTATION} asks for {name} {amount}: {why}")
    cpus = min(wanted[CPU].milli // 1000, len(machine.cpus)) if CPU in wanted else len(machine.cpus)
    memory = min(wanted[MEMORY].value, machine.memory) if MEMORY in wanted else machine.memory
    return Target(cpus, Bytes(memory))


def chosen(
    target: Target, machine: Machine, managing: ManagerSettings, movable: frozenset[int]
) -> tuple[Part, ...] | Unwilling:
    """The parts to take offline, in this order: memory first, because the kernel may refuse it.

    `movable` are the blocks from which the kernel can move everything away. No block is taken if less than all of
    it is unwanted: what is left is never below the target.
    """
    cpus = _cpus(len(machine.cpus) - target.cpus, machine, managing)
    blocks = _blocks(machine.memory - target.memory, machine, movable)
    if isinstance(cpus, Unwilling):
        return cpus
    return blocks if isinstance(blocks, Unwilling) else (*blocks, *cpus)


def without(machine: Machine, parts: Iterable[Part], target: Target) -> Machine:
    """The machine as it will be; parts that are offline are counted as gone already."""
    leaving = online(machine).intersection(parts)
    memory = min(machine.memory, target.memory)
    nodes = tuple(_node_without(node, leaving, machine.block_size) for node in machine.numa)
    if len(nodes) == 1:
        nodes = (msgspec.structs.replace(nodes[0], memory=min(machine.numa[0].memory, memory)),)
    cpus = tuple(cpu for cpu in machine.cpus if Part("cpu", cpu.id) not in leaving)
    return msgspec.structs.replace(machine, cpus=cpus, memory=memory, numa=nodes)


def _node_without(node: NumaNode, leaving: frozenset[Part], block_size: int) -> NumaNode:
    """With several NUMA nodes it matters from which of them memory goes."""
    lost = block_size * sum(Part("memory", block) in leaving for block in node.blocks)
    return msgspec.structs.replace(node, memory=Bytes(max(0, node.memory - lost)))


def blocks_in_order(machine: Machine, movable: frozenset[int]) -> list[Part]:
    """The blocks that are online, the likeliest to leave first: movable ones, then those that came last."""
    present = [part for part in online(machine) if part.kind == "memory"]
    return sorted(present, key=lambda part: (part.number not in movable, -part.number))


def _amounts(found: dict[str, Any]) -> dict[str, Quantity]:
    try:
        return {name: decode.quantity(value) for name, value in found.items()}
    except ValueError as error:
        raise InputError(str(error)) from None


def _too_small(name: str, amount: Quantity, machine: Machine, settings: NodeSettings) -> str | None:
    if name == CPU and amount.milli % 1000:
        return "CPUs are unplugged whole"
    capacity = node_capacity(settings, machine, {})
    kept = reserved(capacity, settings.reservation).get(name)
    if amount.milli <= 0 or (name == CPU and amount.milli < 1000):
        return "something must be left"
    if kept is not None and amount < kept:
        return f"{kept} of it is reserved for daemons"
    return None


def _cpus(count: int, machine: Machine, managing: ManagerSettings) -> tuple[Part, ...] | Unwilling:
    """The last ones, never CPU 0, and named reserved ones only if nothing else is left."""
    kept = managing.reserved_cpus or CpuSet()
    groups = _groups(machine, whole=managing.pins_cpus and FULL_PCPUS_ONLY in managing.cpu_options)
    groups.sort(key=lambda group: (any(cpu in kept for cpu in group), -max(group)))
    taken: list[int] = []
    for group in groups:
        if len(taken) + len(group) <= count:
            taken += group
    if len(taken) < count:
        return Unwilling(f"{count} CPUs cannot leave: CPU 0 must stay, and cores must stay whole")
    return tuple(Part("cpu", cpu) for cpu in sorted(taken, reverse=True))


def _groups(machine: Machine, *, whole: bool) -> list[list[int]]:
    """What can only leave together: the threads of a core if cores are handed out whole."""
    groups: dict[int, list[int]] = {}
    for cpu in machine.cpus:
        groups.setdefault(cpu.core if whole else cpu.id, []).append(cpu.id)
    return [group for group in groups.values() if 0 not in group]


def _blocks(surplus: int, machine: Machine, movable: frozenset[int]) -> tuple[Part, ...] | Unwilling:
    count = surplus // machine.block_size if machine.block_size else 0
    if surplus and not machine.block_size:
        return Unwilling("this machine's memory has no blocks that can be taken offline")
    present = blocks_in_order(machine, movable)
    if len(present) < count:
        return Unwilling(f"{count} blocks of memory would have to leave, and there are {len(present)}")
    return tuple(present[:count])
