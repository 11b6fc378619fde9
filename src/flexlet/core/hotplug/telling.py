"""What people are told about another size of the machine: events and the condition ``NodeResize``."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from flexlet.api.quantity import ZERO, Quantity
from flexlet.core.actions import RecordEvent
from flexlet.core.hotplug import words
from flexlet.core.hotplug.plan import BELOW_RESERVED, PODS_OVER_CAPACITY, ResizePlan
from flexlet.core.hotplug.preparing import Decision
from flexlet.core.hotplug.readmission import CPU_OVERCOMMITTED, CRITICAL_OVER_CAPACITY
from flexlet.core.hotplug.tenants import Tenant
from flexlet.core.hotplug.victims import Victim
from flexlet.core.machine.machine import HalfPlugged
from flexlet.core.managers.cpu.reservation import MISSING
from flexlet.core.managers.resync import TOO_MANY_NUMA_NODES, Move
from flexlet.core.node.events import COMPONENT, of_node
from flexlet.core.node.facts import STABLE, Resizing
from flexlet.core.resize.events import NORMAL, WARNING

RESIZED: Final = "NodeResized"
REVERTED: Final = "NodeResizeReverted"
FAILED_RESIZE: Final = "FailedNodeResize"
FORCED: Final = "NodeResizeForced"
HALF_PLUGGED_EVENT: Final = "NodeHalfPlugged"
REASSIGNED: Final = "ExclusiveCPUsReassigned"
CAPACITY_EXCEEDED: Final = "NodeCapacityExceeded"
EXCEEDED_GRACE: Final = "ExceededGracePeriod"

IN_PROGRESS: Final = "InProgress"
HALF_PLUGGED: Final = "HalfPlugged"
UNPLUG_REFUSED: Final = "UnplugRefused"
UNPLUG_NOT_FOLLOWED: Final = "UnplugNotFollowed"
FAILED: Final = "Failed"

_SENTENCES: Final = {
    BELOW_RESERVED: "the machine has less than is reserved for daemons, so pods get nothing of that",
    CRITICAL_OVER_CAPACITY: "static and critical pods alone need more than the node has; they keep running",
    PODS_OVER_CAPACITY: "pods request more than the node has, and are not evicted for it (unplug.evict: never)",
    MISSING: "some of the reserved CPUs are gone; those left stay reserved",
    TOO_MANY_NUMA_NODES: "there are more NUMA nodes than alignment can work with; CPUs of the others are shared",
    CPU_OVERCOMMITTED: "pods request more CPU than there is; they run slower",
}
"""What holds although everything is done, the worst first."""
_NAMED: Final = 3
"""More pods than this are counted only."""
_PHASES: Final = {
    "evicting": "pods make room before parts of the machine are unplugged",
    "offlining": "parts of the machine are taken offline to be unplugged",
    "ready": "parts of the machine are offline and can be unplugged",
    "restoring": "parts of the machine come back online",
}
"""How far an announced unplug is."""


def resized(node: str, plan: ResizePlan) -> RecordEvent:
    """The node follows its machine again."""
    return of_node(node, NORMAL, RESIZED, sizes(plan))


def sizes(plan: ResizePlan) -> str:
    """What changed, in one line."""
    generation = plan.generation
    return f"capacity changed: {words.changes(generation.changes)} (generation {generation.number})"


def failed(node: str, error: str) -> RecordEvent:
    """The node could not follow; it keeps the size it had, and tries again."""
    return of_node(node, WARNING, FAILED_RESIZE, error)


def forced(node: str, plan: ResizePlan, used: int) -> RecordEvent:
    """Pods still use more than there is, and their time is over: from now on the kernel may kill."""
    text = f"pods still use {Quantity.of_bytes(used)}, limited to {Quantity.of_bytes(plan.view.limit)}"
    return of_node(node, WARNING, FORCED, f"{text} all the same (generation {plan.generation.number})")


def half_plugged(node: str, parts: HalfPlugged) -> RecordEvent:
    """Parts are there and nobody brought them online."""
    return of_node(node, WARNING, HALF_PLUGGED_EVENT, _half(parts))


def reassigned(moves: Iterable[Move], tenants: Iterable[Tenant]) -> tuple[RecordEvent, ...]:
    """Containers run on other CPUs of their own than before."""
    by_uid = {each.uid: each.pod.metadata for each in tenants}
    return tuple(
        _pod(
            move.uid,
            by_uid[move.uid].namespace,
            by_uid[move.uid].name,
            (NORMAL, REASSIGNED, move.told),
        )
        for move in moves
        if move.uid in by_uid
    )


def ended(plan: ResizePlan, victim: Victim) -> tuple[RecordEvent, ...]:
    """A pod has to go: once in the words of admission, once with what became of the node."""
    return (
        _pod(victim.uid, victim.namespace, victim.name, (WARNING, victim.reason, victim.why)),
        _pod(victim.uid, victim.namespace, victim.name, (WARNING, CAPACITY_EXCEEDED, _exceeded(plan, victim))),
    )


def overdue(victim: Victim) -> RecordEvent:
    """A pod was not gone in time."""
    text = "Container runtime did not kill the pod within specified grace period."
    return _pod(victim.uid, victim.namespace, victim.name, (WARNING, EXCEEDED_GRACE, text))


def stable(
    generation: int, notes: Iterable[str] = (), parts: HalfPlugged | None = None, not_followed: str = ""
) -> Resizing:
    """The node has followed; what does not fit all the same is the reason, the worst first.

    `not_followed` is why the node says more than its machine has.
    """
    present = frozenset(notes)
    found = {UNPLUG_NOT_FOLLOWED: f"the node keeps its size: {not_followed}"} if not_followed else {}
    found |= {reason: text for reason, text in _SENTENCES.items() if reason in present}
    if parts is not None and (half := _half(parts)):
        found[HALF_PLUGGED] = half
    if not found:
        return Resizing(generation=generation)
    return Resizing(generation=generation, reason=next(iter(found)), message="; ".join(found.values()))


def in_progress(plan: ResizePlan, *, closed: bool = False) -> Resizing:
    """The node is on its way to another size."""
    return Resizing(generation=plan.generation.number, reason=IN_PROGRESS, message=sizes(plan), closed=closed)


def taken_up(generation: int) -> Resizing:
    """An agent that starts finds another machine, or work that was not finished."""
    text = "the machine changed while no agent ran, or following it was not finished"
    return Resizing(generation=generation, reason=IN_PROGRESS, message=text)


def waiting(plan: ResizePlan, quiet_s: float) -> Resizing:
    """Pods have no room, and are evicted if the machine does not get back what it lost."""
    names = ", ".join(f"{each.namespace}/{each.name}" for each in plan.short[:_NAMED])
    more = f" and {len(plan.short) - _NAMED} more" if len(plan.short) > _NAMED else ""
    text = f"{sizes(plan)}; no room for {names}{more}, evicted if that lasts for {quiet_s:g} s"
    return Resizing(generation=plan.generation.number, reason=IN_PROGRESS, message=text)


def reverted(node: str, plan: ResizePlan) -> RecordEvent:
    """What left the machine came back before it was missed for long."""
    number = plan.generation.number
    return of_node(node, NORMAL, REVERTED, f"capacity is again what it was before generation {number}")


def has_failed(generation: int, error: str) -> Resizing:
    """The node still has the size of `generation`, though its machine has another."""
    return Resizing(generation=generation, reason=FAILED, message=error)


def offered(size: Resizing, decision: Decision) -> Resizing:
    """How far the node is, with what of it is about to be unplugged."""
    reason, message = size.reason, size.message
    if decision.refused:
        reason = UNPLUG_REFUSED if reason == STABLE else reason
        message = decision.refused if size.reason == STABLE else f"{message}; {decision.refused}"
    elif reason == STABLE and (phase := _PHASES.get(decision.state.phase)):
        blockers = decision.state.blockers
        reason, message = IN_PROGRESS, f"{phase}; {blockers}" if blockers else phase
    return msgspec.structs.replace(
        size,
        reason=reason,
        message=message,
        closed=size.closed or decision.closed,
        ceiling=decision.ceiling,
        unplug_ready=decision.unplug_ready,
    )


def refusal(node: str, why: str) -> RecordEvent:
    """What was to be unplugged stays."""
    return of_node(node, WARNING, UNPLUG_REFUSED, why)


def _half(parts: HalfPlugged) -> str:
    said = [f"CPUs {parts.offline_cpus} there and offline"] if parts.offline_cpus else []
    if parts.offline_blocks:
        count = len(parts.offline_blocks)
        said.append(f"{count} {'block' if count == 1 else 'blocks'} of memory there and offline")
    return "; ".join(said)


def _exceeded(plan: ResizePlan, victim: Victim) -> str:
    if not victim.resource:
        return f"{victim.reason} after {sizes(plan)}"
    had, has = (_offered(size.allocatable, victim.resource) for size in (plan.was, plan.view))
    return f"the node has {has} of {victim.resource} for pods and had {had} (generation {plan.generation.number})"


def _offered(allocatable: Mapping[str, Quantity], resource: str) -> str:
    return str(allocatable.get(resource, ZERO))


def _pod(uid: str, namespace: str, name: str, said: tuple[str, str, str]) -> RecordEvent:
    about = {"kind": "Pod", "apiVersion": "v1", "namespace": namespace, "name": name, "uid": uid}
    kind, reason, message = said
    return RecordEvent(about=about, type=kind, reason=reason, message=message, component=COMPONENT)
