"""What a node has, what its balloon covers, what workloads ask for and what is left (balloon.md §1)."""

from collections.abc import Iterable
from typing import Final

import msgspec

from flexlet.api.meta import Condition
from flexlet.api.node import Node
from flexlet.api.pod import Pod, ResourceList
from flexlet.api.quantity import ZERO, Quantity
from flexlet.core.nodesize import names
from flexlet.core.nodesize.objects import NodeSize
from flexlet.core.resources.amounts import total
from flexlet.core.resources.names import CPU, MEMORY
from flexlet.core.resources.statusaware import scheduler_requests
from flexlet.core.sizes import words

RESOURCES: Final = (CPU, MEMORY)
GENERATION: Final = "flexlet.io/generation"
NODE_RESIZE: Final = "NodeResize"
_ENDED: Final = ("Succeeded", "Failed")
_UNMET: Final = ("Resizing", "BalloonMissing", "Insufficient", "Drifted")
"""Conditions of a NodeSize that say so, the most telling first."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """One resource of a node."""

    capacity: Quantity = ZERO
    allocatable: Quantity = ZERO
    balloon: Quantity = ZERO
    effective: Quantity = ZERO
    """What workloads may use."""
    used: Quantity = ZERO
    """What they ask for."""
    headroom: Quantity = ZERO
    """What one more pod may ask for; below zero if more was promised than there is."""

    def bar(self) -> str:
        """The figures as a picture."""
        return words.bar(self.used.nano, self.balloon.nano, self.allocatable.nano)


class NodeSizes(msgspec.Struct, frozen=True, kw_only=True):
    """A node for people."""

    name: str
    status: str
    generation: int | None = None
    """Which size of its machine the node has; None if it does not follow its machine."""
    resize: str = ""
    """Why it is not at rest."""
    resources: dict[str, Figures]


def is_balloon(pod: Pod) -> bool:
    """Whether a pod covers size that does not exist; the label alone proves nothing, anybody can write it."""
    meta = pod.metadata
    if meta.labels.get(names.LABEL) != "true" or meta.namespace != names.NAMESPACE:
        return False
    return any(owner.kind in {"Node", "DaemonSet"} for owner in meta.owner_references)


def of_nodes(nodes: Iterable[Node], pods: Iterable[Pod], wishes: Iterable[NodeSize] = ()) -> list[NodeSizes]:
    """All nodes by name, each with the pods that are on it and with what is wished for it."""
    held: dict[str, list[Pod]] = {}
    for pod in pods:
        held.setdefault(pod.spec.node_name, []).append(pod)
    wished = {size.metadata.name: size for size in wishes}
    found = [of_node(node, held.get(node.metadata.name, ()), wished.get(node.metadata.name)) for node in nodes]
    return sorted(found, key=lambda each: each.name)


def of_node(node: Node, pods: Iterable[Pod], wish: NodeSize | None = None) -> NodeSizes:
    """One node; pods that have ended take nothing."""
    living = [pod for pod in pods if pod.status.phase not in _ENDED]
    balloon = total(scheduler_requests(pod) for pod in living if is_balloon(pod))
    used = total(scheduler_requests(pod) for pod in living if not is_balloon(pod))
    return NodeSizes(
        name=node.metadata.name,
        status=status(node),
        generation=generation(node),
        resize=resize(node) or (unmet(wish) if wish else ""),
        resources={name: _figures(node, name, balloon, used) for name in RESOURCES},
    )


def _figures(node: Node, name: str, balloon: ResourceList, used: ResourceList) -> Figures:
    whole, covered, taken = (amounts.get(name, ZERO) for amounts in (node.status.allocatable, balloon, used))
    return Figures(
        capacity=node.status.capacity.get(name, ZERO),
        allocatable=whole,
        balloon=covered,
        effective=whole - covered,
        used=taken,
        headroom=whole - covered - taken,
    )


def status(node: Node) -> str:
    """``Ready``, ``NotReady`` or ``Unknown``, and whether it is cordoned."""
    ready = condition(node, "Ready")
    word = {"True": "Ready", "False": "NotReady"}.get(ready.status if ready else "", "Unknown")
    return f"{word},SchedulingDisabled" if node.spec.unschedulable else word


def generation(node: Node) -> int | None:
    """The number that the node's agent has given to the size of its machine."""
    text = node.metadata.annotations.get(GENERATION, "")
    return int(text) if text.isdecimal() else None


def resize(node: Node) -> str:
    """The reason of the condition NodeResize while it holds."""
    found = condition(node, NODE_RESIZE)
    return found.reason if found is not None and found.status == "True" else ""


def unmet(wish: NodeSize) -> str:
    """Why a node is not as big as was wished; empty if it is."""
    holds = {each.type: each.reason for each in wish.status.conditions if each.status == "True"}
    return next((holds[kind] for kind in _UNMET if kind in holds), "")


def condition(node: Node, kind: str) -> Condition | None:
    """A condition by its type."""
    return next((each for each in node.status.conditions if each.type == kind), None)
