"""What a ReplicaSet reports. Counts that are zero are absent on the wire, except `replicas`."""

from typing import Any, Final

from flexlet.core.controllers import conditions
from flexlet.core.controllers.replicaset.group import Group
from flexlet.core.views.replicaset import ReplicaSetStatus, ReplicaSetView

FAILURE: Final = "ReplicaFailure"


def reported(rs: ReplicaSetView, group: Group, failure: tuple[str, str] | None, now: float) -> ReplicaSetStatus:
    """The status as it should be; `failure` is the reason and message of what was refused last."""
    held = list(rs.status.conditions)
    if failure is None:
        held = conditions.without(held, FAILURE)
    elif conditions.find(held, FAILURE) is None:
        held.append(conditions.made(FAILURE, "True", *failure, now))
    return ReplicaSetStatus(
        replicas=group.active,
        fully_labeled_replicas=group.labelled,
        ready_replicas=group.ready,
        available_replicas=group.available(rs.min_ready_seconds, now),
        terminating_replicas=group.terminating,
        observed_generation=rs.generation,
        conditions=tuple(held),
    )


def value(status: ReplicaSetStatus) -> dict[str, Any]:
    """As it is written; null takes a field away."""
    return {
        "replicas": status.replicas,
        "fullyLabeledReplicas": status.fully_labeled_replicas or None,
        "readyReplicas": status.ready_replicas or None,
        "availableReplicas": status.available_replicas or None,
        "terminatingReplicas": status.terminating_replicas,
        "observedGeneration": status.observed_generation,
        "conditions": list(status.conditions) or None,
    }
