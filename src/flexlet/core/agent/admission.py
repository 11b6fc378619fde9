"""Whether a pod that was bound to this node may run here.

The kubelet's checks in its order; the first refusal wins. A rejected pod is Failed with the word of the check as
its reason and never touches the runtime. Pods are asked in the order of their creation; neighbours count with
what they were granted. A pod that was let in before stays, whatever became of the node meanwhile: an agent that
restarts touches nothing that runs. (Kubernetes 1.36.3 asks again, and ends who no longer fits.)

A critical pod without room is not refused if others can make way; it stays undecided until they are gone.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from flexlet.api.pod import Pod
from flexlet.core.agent.record import REJECTED, UNDECIDED, PodRecord
from flexlet.core.agent.world import World, active
from flexlet.core.critical import is_critical
from flexlet.core.resize import admit, neighbours, preemption, room
from flexlet.core.resize.allocation import Allocation, applied, of_spec
from flexlet.core.resize.neighbours import Neighbour
from flexlet.core.resize.verdict import Preempting
from flexlet.core.resources import effective, fit
from flexlet.core.scheduling import filters, nodeaffinity
from flexlet.core.scheduling.pods import host_ports

POD_LEVEL_RESOURCES: Final = "PodLevelResources"


class Admitted(msgspec.Struct, frozen=True, tag=True):
    """The pod may run with this allocation."""

    allocation: Allocation


class Rejected(msgspec.Struct, frozen=True, tag=True):
    """The pod may not run here."""

    reason: str
    message: str


Verdict = Admitted | Rejected | Preempting


class Asked(msgspec.Struct, frozen=True):
    """A pod at the door: as it would run, its record, and the others."""

    pod: Pod
    record: PodRecord
    world: World
    others: tuple[Neighbour, ...]


Check = Callable[[Asked], Rejected | Preempting | None]


def undecided(world: World) -> list[PodRecord]:
    """Those at the door, the oldest first."""
    found = [
        record
        for record in world.pods.values()
        if record.admission == UNDECIDED and record.granted is None and not record.gone
    ]
    return sorted(found, key=lambda r: (r.pod.metadata.creation_timestamp or "", r.pod.metadata.name))


def ask(record: PodRecord, world: World) -> Verdict:
    """The node's answer to one pod."""
    if record.allocation is not None:
        return Admitted(record.allocation)
    gates = world.setup.gates
    allocation = of_spec(record.pod, gates)
    asked = Asked(applied(record.pod, allocation, gates), record, world, _others(record, world))
    refusal = next((found for check in CHECKS if (found := check(asked)) is not None), None)
    return Admitted(allocation) if refusal is None else refusal


def _others(record: PodRecord, world: World) -> tuple[Neighbour, ...]:
    """Everybody who holds room already; those at the door behind this one do not."""
    gates = world.setup.gates
    return tuple(
        neighbours.neighbour(other.pod, other.granted or other.allocation, gates, leaving=is_leaving(other))
        for uid, other in active(world).items()
        if uid != record.uid and (other.granted is not None or other.admission not in {UNDECIDED, REJECTED})
    )


def is_leaving(record: PodRecord) -> bool:
    """Whether the node or the API has asked the pod to go."""
    return record.ending is not None or record.gone or record.pod.metadata.deletion_timestamp is not None


def _supported(asked: Asked) -> Rejected | None:
    """Nothing that was asked for is silently left out."""
    if not asked.record.unsupported:
        return None
    return Rejected("PodFeatureUnsupported", f"flexlet does not support {', '.join(asked.record.unsupported)}")


def _pod_level(asked: Asked) -> Rejected | None:
    if asked.record.pod.spec.resources is None or asked.world.setup.gates[POD_LEVEL_RESOURCES]:
        return None
    return Rejected("PodLevelResourcesNotSupported", "PodLevelResources feature gate is disabled")


def _platform(asked: Asked) -> Rejected | None:
    name = asked.record.pod.spec.os.name if asked.record.pod.spec.os is not None else "linux"
    if name == "linux":
        return None
    return Rejected("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")


def _unpressed(asked: Asked) -> Rejected | None:
    facts = admit.NodeFacts(allocatable={}, pressures=asked.world.pressures)
    found = admit.unpressed(admit.Wish(asked.pod, Allocation({}), ()), facts)
    return None if found is None else Rejected(found.detail, found.message)


def _affinity(asked: Asked) -> Rejected | None:
    if not asked.world.node.metadata.name or nodeaffinity.matches(asked.pod.spec, asked.world.node):
        return None
    return Rejected(
        "NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
    )


def _ports(asked: Asked) -> Rejected | None:
    wanted = host_ports(asked.pod)
    if not wanted:
        return None
    used = [
        port
        for uid, other in active(asked.world).items()
        if uid != asked.record.uid and other.admission not in {UNDECIDED, REJECTED}
        for port in host_ports(other.pod)
    ]
    if not any(filters.is_taken(port, used) for port in wanted):
        return None
    return Rejected(
        "NodePorts", "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
    )


def _taints(asked: Asked) -> Rejected | None:
    hard = [taint for taint in asked.world.node.spec.taints if taint.effect == "NoExecute"]
    if is_critical(asked.pod) or filters.untolerated(hard, asked.pod.spec.tolerations) is None:
        return None
    return Rejected("TaintToleration", "Predicate TaintToleration failed: node(s) had untolerated taints")


def _fits(asked: Asked) -> Rejected | Preempting | None:
    used = neighbours.used(asked.others)
    short = fit.shortages(
        effective.pod_requests(asked.pod), asked.world.setup.allocatable, used, len(asked.others)
    )
    if not short:
        return None
    if is_critical(asked.pod) and not neighbours.is_balloon(asked.pod):
        missing = {each.resource: each.requested - (each.capacity - each.used) for each in short}
        chosen = preemption.victims(neighbours.neighbour(asked.pod, None), asked.others, missing)
        if chosen is not None:
            return Preempting(chosen)
    return Rejected(f"OutOf{short[0].resource}", room.out_of(short[0]))


def _staying(asked: Asked) -> Rejected | None:
    if not asked.world.shutting_down:
        return None
    return Rejected(admit.NODE_SHUTDOWN, "Pod was rejected as the node is shutting down.")


CHECKS: Final[tuple[Check, ...]] = (
    _supported,
    _pod_level,
    _platform,
    _unpressed,
    _fits,
    _affinity,
    _ports,
    _taints,
    _staying,
)
