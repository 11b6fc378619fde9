"""Whether a pod that was bound to this node may run here.

The kubelet's checks in its order; the first refusal wins. A rejected pod is Failed with the word of the check as
its reason and never touches the runtime. Pods are asked in the order of their creation; neighbours count with
what they were granted. A pod that was let in before stays, whatever became of the node meanwhile: an agent that
restarts touches nothing that runs. (Kubernetes 1.36.3 asks again, and ends who no longer fits.) So those are asked
first: what they hold is nobody else's.

Balloons come after the others and take what is left: one that is too large for that is let in all the same, and
smaller (balloon.md §5.7). Nobody has to go because a balloon is older.

The resource managers are asked in the middle; if a later check refuses, nothing of the pod is in their books.

A critical pod without room is not refused if others can make way; it stays undecided until they are gone. So does
any pod for which there is room once those have gone that are leaving already: the scheduler stops counting a pod
when the API no longer has it, which after a deletion without grace is before its containers have ended.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from flexlet.api.pod import Pod
from flexlet.core.agent import ballooning, managing
from flexlet.core.agent.containers import security, sysctls
from flexlet.core.agent.observations import API
from flexlet.core.agent.record import REJECTED, UNDECIDED, PodRecord
from flexlet.core.agent.world import World, active
from flexlet.core.balloon.identity import is_balloon
from flexlet.core.critical import is_critical
from flexlet.core.managers.state import Managers, Refusal
from flexlet.core.resize import admit, balloons, neighbours, preemption, room
from flexlet.core.resize.allocation import Allocation, applied, of_spec
from flexlet.core.resize.neighbours import Neighbour
from flexlet.core.resize.verdict import Preempting
from flexlet.core.resources import effective, fit
from flexlet.core.resources.amounts import as_integers
from flexlet.core.resources.names import CPU, EPHEMERAL_STORAGE, MEMORY, is_extended
from flexlet.core.scheduling import filters, nodeaffinity
from flexlet.core.scheduling.pods import HostPort, host_ports

POD_LEVEL_RESOURCES: Final = "PodLevelResources"
_OS: Final = "linux"
_OS_LABEL: Final = "kubernetes.io/os"
_FIRST: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)
"""The order in which shortages are found; the first one is told."""


class Admitted(msgspec.Struct, frozen=True, tag=True):
    """The pod may run with this allocation, and these are the managers' books then."""

    allocation: Allocation
    managers: Managers = Managers()


class Rejected(msgspec.Struct, frozen=True, tag=True):
    """The pod may not run here."""

    reason: str
    message: str
    by_managers: bool = False
    """Whether it was the resource managers who refused."""


class Later(msgspec.Struct, frozen=True, tag=True):
    """Nobody can say yet: what is held may turn out to be free."""


Verdict = Admitted | Rejected | Preempting | Later


class Asked(msgspec.Struct, frozen=True):
    """A pod at the door: as it would run, its record, and the others."""

    pod: Pod
    record: PodRecord
    world: World
    others: tuple[Neighbour, ...]


Objection = Rejected | Preempting | Later
Check = Callable[[Asked], Objection | None]


def undecided(world: World) -> list[PodRecord]:
    """Those at the door: who was here before, then newcomers; balloons last, and else the oldest first."""
    found = [
        record
        for record in world.pods.values()
        if record.admission == UNDECIDED and record.granted is None and not record.gone
    ]
    return sorted(found, key=_turn)


def _turn(record: PodRecord) -> tuple[bool, bool, str, str]:
    meta = record.pod.metadata
    return record.allocation is None, is_balloon(record.pod), meta.creation_timestamp or "", meta.name


def ask(record: PodRecord, world: World) -> Verdict:
    """The node's answer to one pod."""
    gates, others = world.setup.gates, _others(record, world)
    if record.allocation is not None:
        kept = _fitted(record, record.allocation, others, world)
        return Admitted(kept, managing.placed_again(record, kept, world))
    allocation = _fitted(record, of_spec(record.pod, gates), others, world)
    asked = Asked(applied(record.pod, allocation, gates), record, world, others)
    if (refusal := _first(BEFORE_PLACING, asked)) is not None:
        return refusal
    placed = managing.placed(asked.pod, world)
    if isinstance(placed, Refusal):
        return Later() if _may_free(world) else Rejected(placed.reason, placed.message, by_managers=True)
    return _first(AFTER_PLACING, asked) or Admitted(allocation, placed)


def _may_free(world: World) -> bool:
    """Whether CPUs or memory in the managers' books are about to be given back."""
    leaving = (uid for uid, record in world.pods.items() if is_leaving(record))
    return managing.may_leave(world) or any(world.managers.placed(uid) for uid in leaving)


def _fitted(record: PodRecord, allocation: Allocation, others: tuple[Neighbour, ...], world: World) -> Allocation:
    """The allocation, or as much of it as there is room for if it is a balloon's."""
    if not is_balloon(record.pod):
        return allocation
    pod = applied(record.pod, allocation, world.setup.gates)
    used = neighbours.used(others)
    for name, amount in as_integers(balloons.smallest(pod)).items():
        used[name] = used.get(name, 0) + amount
    return balloons.filled((pod,), world.setup.allocatable, used).get(record.uid, allocation)


def _first(checks: tuple["Check", ...], asked: Asked) -> Objection | None:
    return next((found for check in checks if (found := check(asked)) is not None), None)


def _others(record: PodRecord, world: World) -> tuple[Neighbour, ...]:
    """Everybody who holds room already; those at the door behind this one do not."""
    gates = world.setup.gates
    return tuple(
        neighbours.neighbour(other.pod, other.granted or other.allocation, gates, leaving=is_leaving(other))
        for other in _holders(record, world)
    )


def _holders(record: PodRecord, world: World) -> list[PodRecord]:
    return [
        other
        for uid, other in active(world).items()
        if uid != record.uid and (other.granted is not None or other.admission not in {UNDECIDED, REJECTED})
    ]


def is_leaving(record: PodRecord) -> bool:
    """Whether the node or the API has asked the pod to go."""
    return record.ending is not None or record.gone or record.pod.metadata.deletion_timestamp is not None


def _supported(asked: Asked) -> Rejected | None:
    """Nothing that was asked for is silently left out."""
    if not asked.record.unsupported:
        return None
    return Rejected("PodFeatureUnsupported", f"flexlet does not support {', '.join(asked.record.unsupported)}")


def _unpressed(asked: Asked) -> Rejected | None:
    facts = admit.NodeFacts(allocatable={}, pressures=asked.world.pressures)
    found = admit.unpressed(admit.Wish(asked.pod, Allocation({}), ()), facts)
    return None if found is None else Rejected(found.detail, found.message)


def _sysctls(asked: Asked) -> Rejected | None:
    why = sysctls.refusal(asked.record.pod, asked.world.setup.unsafe_sysctls)
    return Rejected("SysctlForbidden", f"forbidden sysctl: {why}") if why else None


def _platform(asked: Asked) -> Rejected | None:
    if asked.pod.metadata.labels.get(_OS_LABEL, _OS) != _OS:
        return Rejected(
            "PodOSSelectorNodeLabelDoesNotMatch",
            "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
        )
    name = asked.record.pod.spec.os.name if asked.record.pod.spec.os is not None else _OS
    if name == _OS:
        return None
    return Rejected("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")


def _groups(asked: Asked) -> Rejected | None:
    policy = asked.record.pod.spec.security_context.supplemental_groups_policy
    if policy != "Strict" or asked.world.setup.strict_groups:
        return None
    text = "SupplementalGroupsPolicy=Strict is not supported in this node"
    return Rejected("SupplementalGroupsPolicyNotSupported", text)


def _general(asked: Asked) -> Objection | None:
    """Room first, then everything else; a critical pod is refused for the rest, and room is made for it."""
    short = _shortages(asked, asked.others)
    rest = _first(_PLACE, asked)
    if not short or (rest is not None and is_critical(asked.pod)):
        return rest
    if not _shortages(asked, tuple(each for each in asked.others if not each.leaving)):
        return Later()
    if is_critical(asked.pod) and not is_balloon(asked.pod):
        return _make_way(asked, short)
    return Rejected(f"OutOf{short[0].resource}", room.out_of(short[0]))


def _shortages(asked: Asked, others: tuple[Neighbour, ...]) -> list[fit.Shortage]:
    """What is missing; resources that nobody advertises on this node are another one's business."""
    whole = is_balloon(asked.pod)
    allocatable = asked.world.setup.allocatable if whole else ballooning.offered(asked.world)
    wanted = {
        name: amount
        for name, amount in effective.pod_requests(asked.pod).items()
        if name in allocatable or not is_extended(name)
    }
    ordered = {name: wanted[name] for name in sorted(wanted, key=_rank)}
    return fit.shortages(ordered, allocatable, neighbours.used(others), len(others))


def _rank(name: str) -> tuple[int, str]:
    return (_FIRST.index(name) if name in _FIRST else len(_FIRST), name)


def _make_way(asked: Asked, short: list[fit.Shortage]) -> Rejected | Preempting:
    missing = {each.resource: each.requested - (each.capacity - each.used) for each in short}
    preemptor = neighbours.neighbour(asked.pod, None)
    chosen = preemption.victims(preemptor, asked.others, missing)
    if chosen is not None:
        return Preempting(chosen)
    unmet = preemption.unmet(preemptor, asked.others, missing)
    listed = "".join(f"(res: {name}, q: {amount}), " for name, amount in unmet.items())
    return Rejected(
        "UnexpectedAdmissionError",
        "Unexpected error while attempting to recover from admission failure: preemption: error finding a set of "
        f"pods to preempt: no set of running pods found to reclaim resources: [{listed}]",
    )


def _affinity(asked: Asked) -> Rejected | None:
    if not asked.world.node.metadata.name or nodeaffinity.matches(asked.pod.spec, asked.world.node):
        return None
    return _failed("NodeAffinity", filters.AFFINITY)


def _name(asked: Asked) -> Rejected | None:
    wanted = asked.pod.spec.node_name
    if not wanted or wanted == asked.world.setup.name:
        return None
    return _failed("NodeName", "node(s) didn't match the requested node name")


def _ports(asked: Asked) -> Rejected | Later | None:
    wanted = host_ports(asked.pod)
    if not wanted:
        return None
    takers = [other for other in _holders(asked.record, asked.world) if _has_taken(other, wanted)]
    if takers and all(is_leaving(each) for each in takers):
        return Later()
    return _failed("NodePorts", filters.PORTS) if takers else None


def _has_taken(other: PodRecord, wanted: Sequence[HostPort]) -> bool:
    used = host_ports(other.pod)
    return any(filters.is_taken(each, used) for each in wanted)


def _taints(asked: Asked) -> Rejected | None:
    """Static pods stay on a node whatever it is tainted with."""
    hard = [taint for taint in asked.world.node.spec.taints if taint.effect == "NoExecute"]
    if asked.record.source != API or filters.untolerated(hard, asked.pod.spec.tolerations) is None:
        return None
    return _failed("TaintToleration", "node(s) had taints that the pod didn't tolerate")


def _failed(check: str, why: str) -> Rejected:
    return Rejected(check, f"Predicate {check} failed: {why}")


def _apparmor(asked: Asked) -> Rejected | None:
    """A profile that the node cannot enforce is refused; a pod that runs already keeps what it has."""
    pod = asked.record.pod
    profiles = [pod.spec.security_context.app_armor_profile]
    profiles += [security.apparmor_profile(pod, each) for each in security.everybody(pod)]
    asked_for = [each for each in profiles if each is not None and each.type != "Unconfined"]
    if not asked_for or pod.status.phase not in {"", "Pending"}:
        return None
    why = "" if asked.world.setup.apparmor else "AppArmor is not enabled on the host"
    if not why and any(each.type == "Localhost" and not each.localhost_profile.strip() for each in asked_for):
        why = "invalid empty AppArmor profile name"
    return Rejected("AppArmor", f"Cannot enforce AppArmor: {why}") if why else None


def _pod_level(asked: Asked) -> Rejected | None:
    if asked.record.pod.spec.resources is None or asked.world.setup.gates[POD_LEVEL_RESOURCES]:
        return None
    return Rejected("PodLevelResourcesNotSupported", "PodLevelResources feature gate is disabled")


def _staying(asked: Asked) -> Rejected | None:
    if not asked.world.shutting_down:
        return None
    return Rejected(admit.NODE_SHUTDOWN, "Pod was rejected as the node is shutting down.")


_PLACE: Final = (_affinity, _name, _ports, _taints)
BEFORE_PLACING: Final[tuple[Check, ...]] = (_supported, _unpressed, _sysctls)
AFTER_PLACING: Final[tuple[Check, ...]] = (
    _platform,
    _groups,
    _general,
    _apparmor,
    _pod_level,
    _staying,
)
