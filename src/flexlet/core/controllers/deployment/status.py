"""What a Deployment reports: counts, and the conditions that ``kubectl rollout status`` waits for.

Progressing tells how the latest rollout goes. Its lastUpdateTime is the time of the last progress, from which the
deadline is counted; so it changes even when status and reason stay.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from flexlet.api import age
from flexlet.core.controllers import conditions
from flexlet.core.controllers.conditions import Condition
from flexlet.core.controllers.deployment import fences
from flexlet.core.views.deployment import DeploymentStatus, DeploymentView
from flexlet.core.views.replicaset import ReplicaSetView

PROGRESSING: Final = "Progressing"
AVAILABLE: Final = "Available"
FAILURE: Final = "ReplicaFailure"
DONE: Final = "NewReplicaSetAvailable"
TIMED_OUT: Final = "ProgressDeadlineExceeded"
PAUSED: Final = "DeploymentPaused"


def made(kind: str, status: str, reason: str, message: str, now: float) -> Condition:
    """A Deployment's condition, which also says when it was last confirmed."""
    stamp = age.format_seconds(now)
    return {
        "type": kind,
        "status": status,
        "lastUpdateTime": stamp,
        "lastTransitionTime": stamp,
        "reason": reason,
        "message": message,
    }


def counted(
    d: DeploymentView, new: ReplicaSetView | None, old: Sequence[ReplicaSetView], held: list[Condition], now: float
) -> DeploymentStatus:
    """The counts and the Available condition; `held` are the conditions so far."""
    sets = [*old, *([new] if new else [])]
    available = sum(rs.status.available_replicas for rs in sets)
    if available >= d.replicas - fences.max_unavailable(d):
        text = "Deployment has minimum availability."
        condition = made(AVAILABLE, "True", "MinimumReplicasAvailable", text, now)
    else:
        text = "Deployment does not have minimum availability."
        condition = made(AVAILABLE, "False", "MinimumReplicasUnavailable", text, now)
    return DeploymentStatus(
        observed_generation=d.generation,
        replicas=sum(rs.status.replicas for rs in sets),
        updated_replicas=new.status.replicas if new else 0,
        ready_replicas=sum(rs.status.ready_replicas for rs in sets),
        available_replicas=available,
        unavailable_replicas=max(0, sum(rs.replicas for rs in sets) - available),
        terminating_replicas=_terminating(sets),
        collision_count=d.status.collision_count,
        conditions=tuple(conditions.put(held, condition)),
    )


def _terminating(sets: Sequence[ReplicaSetView]) -> int | None:
    """Unknown while a ReplicaSet that was looked after does not say."""
    if any(rs.status.terminating_replicas is None and rs.status.observed_generation for rs in sets):
        return None
    return sum(rs.status.terminating_replicas or 0 for rs in sets)


def is_complete(d: DeploymentView, status: DeploymentStatus) -> bool:
    """Whether all wanted pods are new and available, and no others are left."""
    return (
        status.updated_replicas == status.replicas == status.available_replicas == d.replicas
        and status.observed_generation >= d.generation
    )


def with_progress(
    d: DeploymentView, status: DeploymentStatus, new: ReplicaSetView | None, now: float
) -> DeploymentStatus:
    """The Progressing condition brought up to date."""
    held = list(status.conditions)
    current = conditions.find(held, PROGRESSING)
    if not d.has_deadline:
        return _having(status, conditions.without(held, PROGRESSING))
    if status.replicas == status.updated_replicas and conditions.text(current, "reason") == DONE:
        return status
    subject = f'ReplicaSet "{new.name}"' if new else f'Deployment "{d.name}"'
    if is_complete(d, status):
        condition = made(PROGRESSING, "True", DONE, f"{subject} has successfully progressed.", now)
        held = conditions.put(held, condition)
    elif _has_progressed(d.status, status):
        condition = made(PROGRESSING, "True", "ReplicaSetUpdated", f"{subject} is progressing.", now)
        if conditions.text(current, "status") == "True":
            condition["lastTransitionTime"] = conditions.text(current, "lastTransitionTime")
        held = [*conditions.without(held, PROGRESSING), condition]
    elif current is not None and _is_overdue(d, current, now):
        condition = made(PROGRESSING, "False", TIMED_OUT, f"{subject} has timed out progressing.", now)
        held = conditions.put(held, condition)
    return _having(status, held)


def with_failures(
    status: DeploymentStatus, new: ReplicaSetView | None, old: Sequence[ReplicaSetView]
) -> DeploymentStatus:
    """A ReplicaSet's failure is the Deployment's; the new one's before the old ones'."""
    found = (conditions.find(rs.status.conditions, FAILURE) for rs in ([new] if new else []) + list(old))
    failure = next((condition for condition in found if condition is not None), None)
    if failure is None:
        return _having(status, conditions.without(status.conditions, FAILURE))
    moved = {**failure, "lastUpdateTime": failure.get("lastTransitionTime")}
    return _having(status, conditions.put(status.conditions, moved))


def deadline(d: DeploymentView, status: DeploymentStatus) -> float | None:
    """When to look again for a lack of progress."""
    current = conditions.find(status.conditions, PROGRESSING)
    over = conditions.text(current, "reason") in {DONE, TIMED_OUT}
    if not d.has_deadline or current is None or over or is_complete(d, status):
        return None
    # A second more, because times are kept in whole seconds.
    return conditions.seconds(conditions.text(current, "lastUpdateTime")) + d.progress_deadline_seconds + 1


def value(status: DeploymentStatus) -> dict[str, Any]:
    """The status as it is written; counts that are zero are absent on the wire."""
    return {
        "observedGeneration": status.observed_generation or None,
        "replicas": status.replicas or None,
        "updatedReplicas": status.updated_replicas or None,
        "readyReplicas": status.ready_replicas or None,
        "availableReplicas": status.available_replicas or None,
        "unavailableReplicas": status.unavailable_replicas or None,
        "terminatingReplicas": status.terminating_replicas,
        "collisionCount": status.collision_count,
        "conditions": list(status.conditions),
    }


def _has_progressed(before: DeploymentStatus, after: DeploymentStatus) -> bool:
    return (
        after.updated_replicas > before.updated_replicas
        or after.replicas - after.updated_replicas < before.replicas - before.updated_replicas
        or after.ready_replicas > before.ready_replicas
        or after.available_replicas > before.available_replicas
    )


def _is_overdue(d: DeploymentView, current: Condition, now: float) -> bool:
    reason = conditions.text(current, "reason")
    if reason in {DONE, TIMED_OUT}:
        return reason == TIMED_OUT
    return conditions.seconds(conditions.text(current, "lastUpdateTime")) + d.progress_deadline_seconds < now


def _having(status: DeploymentStatus, held: Sequence[Condition]) -> DeploymentStatus:
    return msgspec.structs.replace(status, conditions=tuple(held))
