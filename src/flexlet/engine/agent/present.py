"""What a look at the node itself means for its pods: one change of the world's surroundings."""

from collections.abc import Iterable

import msgspec

from flexlet.api.node import Node
from flexlet.api.pod import ResourceList
from flexlet.api.units import Bytes
from flexlet.core.agent.world import World
from flexlet.core.cgroups.settings import Host
from flexlet.core.machine.allocatable import allocatable
from flexlet.core.machine.machine import Machine
from flexlet.core.node.facts import NodeFacts
from flexlet.core.node.settings import NodeSettings
from flexlet.core.node.status import node_capacity
from flexlet.engine.agent.loop import Change, replaced


def of_facts(facts: NodeFacts, settings: NodeSettings) -> Change:
    """The node's setup as of now; an unchanged one wakes nobody."""
    left = allocatable(node_capacity(settings, facts.machine, {}), settings.reservation)
    network = None if facts.runtime is None else facts.runtime.condition("NetworkReady")
    fields = {
        "allocatable": left,
        "host": _host(facts.machine, left),
        "machine": facts.machine,
        "ips": tuple(each.address for each in facts.addresses if each.type == "InternalIP"),
        "runtime_ready": facts.runtime is not None and facts.runtime.condition("RuntimeReady").status,
        "network_ready": network is not None and network.status,
        "network_message": "" if network is None else _condition_text(network.reason, network.message),
        "handlers": () if facts.runtime is None else facts.runtime.handlers,
        "strict_groups": facts.runtime is not None and bool(facts.runtime.supplemental_groups_policy),
    }
    pressures = tuple(sorted(facts.pressures))

    def change(world: World) -> World:
        after = replaced(**fields)(world)
        same = after.setup == world.setup and pressures == world.pressures
        if same and facts.shutting_down == world.shutting_down:
            return world
        return msgspec.structs.replace(after, pressures=pressures, shutting_down=facts.shutting_down)

    return change


def concerns(facts: NodeFacts) -> tuple[object, ...]:
    """What of a look at the node concerns its pods; most looks bring nothing of that."""
    return facts.machine, facts.addresses, facts.runtime, facts.pressures, facts.shutting_down


def of_node(node: Node) -> Change:
    """The Node as the API has it; only labels and taints matter, a heartbeat wakes nobody."""

    def change(world: World) -> World:
        known = world.node
        if (known.metadata.labels, known.spec) == (node.metadata.labels, node.spec):
            return world
        return msgspec.structs.replace(world, node=node)

    return change


def changed(**fields: object) -> Change:
    """A change of some fields of the world."""
    return lambda world: msgspec.structs.replace(world, **fields)


def _host(machine: Machine, left: ResourceList) -> Host:
    memory = left.get("memory")
    return Host(
        memory=machine.memory,
        swap=machine.swap,
        allocatable_memory=machine.memory if memory is None else Bytes(memory.value),
        swap_controller=machine.cgroups.swap,
        hugepage_sizes=_sizes(machine.hugepages),
    )


def _sizes(pages: Iterable[int]) -> tuple[Bytes, ...]:
    return tuple(Bytes(size) for size in sorted(pages))


def _condition_text(reason: str, message: str) -> str:
    return f"container runtime network not ready: NetworkReady=false reason:{reason} message:{message}"
