"""What the other pods of a node hold, while one of them is resized.

A neighbour counts with the larger of what was allocated to it and what its status still shows, so that its
downsize frees room only once it has happened. The desired size of a neighbour never counts: it may not be granted.
"""

from collections.abc import Iterable, Mapping

import msgspec

from flexlet.api.pod import Pod
from flexlet.api.units import PodUid
from flexlet.core.balloon.identity import is_balloon
from flexlet.core.critical import is_critical
from flexlet.core.gates import Gates
from flexlet.core.resize.allocation import DEFAULT_GATES, Allocation, applied
from flexlet.core.resources import amounts, statusaware
from flexlet.core.resources.qos import recorded_qos_class


class Neighbour(msgspec.Struct, frozen=True, kw_only=True):
    """A pod as others on its node see it; amounts are in thousandths of a CPU and whole units."""

    uid: PodUid
    held: dict[str, int]
    qos: str
    priority: int | None = None
    critical: bool = False
    balloon: bool = False
    leaving: bool = False


def neighbour(
    pod: Pod, allocation: Allocation | None, gates: Gates = DEFAULT_GATES, *, leaving: bool = False
) -> Neighbour:
    """How the pod counts; one without an allocation counts with its spec."""
    return Neighbour(
        uid=PodUid(pod.metadata.uid),
        held=held(pod, allocation, gates),
        qos=recorded_qos_class(pod),
        priority=pod.spec.priority,
        critical=is_critical(pod),
        balloon=is_balloon(pod),
        leaving=leaving or pod.metadata.deletion_timestamp is not None,
    )


def held(pod: Pod, allocation: Allocation | None, gates: Gates = DEFAULT_GATES) -> dict[str, int]:
    """The larger of allocated and actual, per resource."""
    granted = pod if allocation is None else applied(pod, allocation, gates)
    # A stale Infeasible condition would hide what has been allocated since.
    status = msgspec.structs.replace(granted.status, conditions=())
    return amounts.as_integers(statusaware.scheduler_requests(msgspec.structs.replace(granted, status=status)))


def used(neighbours: Iterable[Neighbour]) -> dict[str, int]:
    """What all of them hold together."""
    total: dict[str, int] = {}
    for each in neighbours:
        for name, amount in each.held.items():
            total[name] = total.get(name, 0) + amount
    return total


def shrank(before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    """Whether cpu or memory became free."""
    return any(after.get(name, 0) < before.get(name, 0) for name in ("cpu", "memory"))
