"""What a look at the node itself means for its pods: one change of the world's surroundings.

The size of the machine is not among it: that changes in a step of its own (`resizing`).
"""

import msgspec

from flexlet.api.node import Node
from flexlet.core.agent.world import World
from flexlet.core.node.facts import NodeFacts
from flexlet.engine.agent.loop import Change, replaced


def of_facts(facts: NodeFacts) -> Change:
    """The node's setup as of now; an unchanged one wakes nobody."""
    network = None if facts.runtime is None else facts.runtime.condition("NetworkReady")
    fields = {
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
    return facts.addresses, facts.runtime, facts.pressures, facts.shutting_down


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


def _condition_text(reason: str, message: str) -> str:
    return f"container runtime network not ready: NetworkReady=false reason:{reason} message:{message}"
