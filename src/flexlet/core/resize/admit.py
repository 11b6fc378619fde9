"""Whether a node grants a resize: every rule in the kubelet's order, the first refusal wins.

The order is: feasibility, node pressure, room, node shutdown. Rules that other parts of an agent own (host ports,
taints, devices ...) can be put between them by the caller. Every refusal but Infeasible becomes the condition
Deferred.

A critical pod without room is not deferred: other pods are preempted for it. flexlet grants it only once they are
gone, so that allocations never exceed the node.

A balloon never preempts, whatever its priority. It uses nothing, so pressure is no reason against another size of
it, and one that only gives back is granted always: on a node that promised too much, under static managers, with
swap (balloon.md §4). Only what a kernel or a gate does not let happen at all stays impossible.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from flexlet.api.pod import Pod, ResourceList
from flexlet.core.balloon.identity import is_balloon
from flexlet.core.critical import is_critical
from flexlet.core.resize import infeasible, neighbours, preemption, room
from flexlet.core.resize.allocation import Allocation, applied
from flexlet.core.resize.infeasible import NodeRules
from flexlet.core.resize.neighbours import Neighbour
from flexlet.core.resize.verdict import Deferred, Granted, Infeasible, Preempting, Refusal, Verdict
from flexlet.core.resources import effective
from flexlet.core.resources.qos import BEST_EFFORT, recorded_qos_class

EVICTED: Final = "Evicted"
NODE_SHUTDOWN: Final = "NodeShutdown"
MEMORY_PRESSURE: Final = "MemoryPressure"
_MEMORY_PRESSURE_TAINT: Final = "node.kubernetes.io/memory-pressure"


class NodeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a node knows of itself when it is asked."""

    allocatable: ResourceList
    offered: ResourceList | None = None
    """What there is for pods that are no balloons, if that is less."""
    rules: NodeRules = NodeRules()
    pressures: tuple[str, ...] = ()
    """Node conditions of eviction that hold now, such as DiskPressure."""
    shutting_down: bool = False


class Wish(msgspec.Struct, frozen=True):
    """A pod with its desired resources, what it was granted so far, and everybody else on the node."""

    pod: Pod
    allocation: Allocation
    others: tuple[Neighbour, ...]


Rule = Callable[[Wish, NodeFacts], Refusal | None]


def feasible(wish: Wish, node: NodeFacts) -> Infeasible | None:
    """Whether the node could ever do it."""
    rules = infeasible.ALWAYS if gives_back(wish, node) else infeasible.RULES
    return infeasible.refusal(wish.pod, wish.allocation, node.rules, rules)


def unpressed(wish: Wish, node: NodeFacts) -> Deferred | None:
    """Under pressure only critical pods change; memory pressure alone holds back only BestEffort ones."""
    if not node.pressures or is_critical(wish.pod) or is_balloon(wish.pod):
        return None
    if node.pressures == (MEMORY_PRESSURE,) and _bears_memory_pressure(wish.pod):
        return None
    return Deferred(EVICTED, f"The node had condition: [{' '.join(node.pressures)}]. ")


def fits(wish: Wish, node: NodeFacts) -> Refusal | None:
    """Whether there is room, or can be made for a critical pod."""
    used = neighbours.used(wish.others)
    size = node.allocatable if node.offered is None or is_balloon(wish.pod) else node.offered
    short = room.shortages(wish.pod, wish.allocation, used, size, node.rules.gates)
    if not short:
        return None
    refusal = room.refusal(short)
    if isinstance(refusal, Infeasible) or is_balloon(wish.pod) or not is_critical(wish.pod):
        return refusal
    missing = {each.resource: each.requested - (each.capacity - each.used) for each in short}
    preemptor = neighbours.neighbour(wish.pod, wish.allocation, node.rules.gates)
    chosen = preemption.victims(preemptor, wish.others, missing)
    return refusal if chosen is None else Preempting(chosen)


def gives_back(wish: Wish, node: NodeFacts) -> bool:
    """Whether it is a balloon that asks for no more of anything."""
    if not is_balloon(wish.pod):
        return False
    held = effective.pod_requests(applied(wish.pod, wish.allocation, node.rules.gates))
    return not room.increases(effective.pod_requests(wish.pod), held)


def staying(wish: Wish, node: NodeFacts) -> Deferred | None:
    """A node that shuts down changes nothing any more."""
    if not node.shutting_down or gives_back(wish, node):
        return None
    return Deferred(NODE_SHUTDOWN, "Pod was rejected as the node is shutting down.")


RULES: Final[tuple[Rule, ...]] = (feasible, unpressed, fits, staying)


def admit(wish: Wish, node: NodeFacts, rules: tuple[Rule, ...] = RULES) -> Verdict:
    """The node's answer."""
    return next((refusal for rule in rules if (refusal := rule(wish, node)) is not None), Granted())


def _bears_memory_pressure(pod: Pod) -> bool:
    if recorded_qos_class(pod) != BEST_EFFORT:
        return True
    return any(
        toleration.effect in {"", "NoSchedule"}
        and (toleration.key == _MEMORY_PRESSURE_TAINT or (not toleration.key and toleration.operator == "Exists"))
        for toleration in pod.spec.tolerations
    )
