"""One look at a Deployment: from what is there to what should be.

Follows the order of ``syncDeployment``: note pauses, keep revisions, then either scale (the wanted number changed,
or the rollout is paused) or take the next step of the rollout, and report. Nothing here remembers anything; what
the decider knows from earlier rounds is handed in as `Memory`.
"""

from collections.abc import Sequence

import msgspec

from flexlet.core.controllers import conditions
from flexlet.core.controllers.conditions import Condition
from flexlet.core.controllers.deployment import revisions, sizes, status
from flexlet.core.controllers.deployment.sizes import Sizes
from flexlet.core.views.deployment import DeploymentStatus, DeploymentView
from flexlet.core.views.replicaset import ReplicaSetView


class Memory(msgspec.Struct, frozen=True):
    """What earlier rounds did for this Deployment."""

    created: str = ""
    """The ReplicaSet that was created last, until that is reported."""
    refusal: str = ""
    """Why the new ReplicaSet could not be created; it is not tried again in this round."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What to do next."""

    status: DeploymentStatus
    revision: str = ""
    """The Deployment's own revision, empty to leave it."""
    sizes: Sizes = {}
    annotations: dict[str, str] = {}
    """What the new ReplicaSet's annotations lack."""
    create: bool = False
    """Whether the new ReplicaSet is to be created."""
    drop: tuple[ReplicaSetView, ...] = ()
    """Old ReplicaSets that are no longer kept."""


def next_step(d: DeploymentView, owned: Sequence[ReplicaSetView], memory: Memory, now: float) -> Step:
    """What a Deployment needs that is not being deleted."""
    new = revisions.find_new(d, owned)
    old = sorted((rs for rs in owned if new is None or rs.uid != new.uid), key=revisions.by_age)
    held = _with_pauses(d, list(d.status.conditions), now)
    held = _with_new_set(d, held, new, memory, now)
    annotations = revisions.missing_annotations(d, new, revisions.next_revision(old)) if new else {}
    revision = annotations.get(revisions.REVISION) or (new.annotations.get(revisions.REVISION, "") if new else "")
    step = _moved(d, new, old, held, memory, now)
    return msgspec.structs.replace(step, annotations=annotations, revision=revision)


def report(d: DeploymentView, owned: Sequence[ReplicaSetView], now: float) -> DeploymentStatus:
    """The status of a Deployment that is going away: counts only."""
    new = revisions.find_new(d, owned)
    old = [rs for rs in owned if new is None or rs.uid != new.uid]
    return status.counted(d, new, old, list(d.status.conditions), now)


def _moved(
    d: DeploymentView,
    new: ReplicaSetView | None,
    old: list[ReplicaSetView],
    held: list[Condition],
    memory: Memory,
    now: float,
) -> Step:
    counted = status.counted(d, new, old, held, now)
    if d.paused:
        return Step(status=counted, sizes=sizes.scaled(d, new, old), drop=_surplus(d, old))
    if _is_scaling(d, [*old, *([new] if new else [])]):
        return Step(status=counted, sizes=sizes.scaled(d, new, old))
    reported = status.with_failures(status.with_progress(d, counted, new, now), new, old)
    leaving = {} if d.is_rolling else {rs.uid: 0 for rs in sizes.active(old)}
    if leaving or (not d.is_rolling and any(_has_pods(rs) for rs in old)):
        return Step(status=reported, sizes=leaving)
    if new is None:
        return Step(status=reported, create=not memory.refusal)
    wanted = sizes.rolled(d, new, old) if d.is_rolling else {new.uid: d.replicas}
    wanted = {uid: size for uid, size in wanted.items() if uid != new.uid or size != new.replicas}
    finished = not wanted and status.is_complete(d, d.status)
    return Step(status=reported, sizes=wanted, drop=_surplus(d, old) if finished else ())


def _with_pauses(d: DeploymentView, held: list[Condition], now: float) -> list[Condition]:
    """Time spent paused must not count as lack of progress."""
    reason = conditions.text(conditions.find(held, status.PROGRESSING), "reason")
    if not d.has_deadline or reason == status.TIMED_OUT or d.paused == (reason == status.PAUSED):
        return held
    if d.paused:
        noted = status.made(status.PROGRESSING, "Unknown", status.PAUSED, "Deployment is paused", now)
    else:
        noted = status.made(status.PROGRESSING, "Unknown", "DeploymentResumed", "Deployment is resumed", now)
    return conditions.put(held, noted)


def _with_new_set(
    d: DeploymentView, held: list[Condition], new: ReplicaSetView | None, memory: Memory, now: float
) -> list[Condition]:
    """A rollout begins when its ReplicaSet is created, found, or refused."""
    current = conditions.find(held, status.PROGRESSING)
    if not d.has_deadline:
        return held
    if new is None:
        if not memory.refusal:
            return held
        noted = status.made(status.PROGRESSING, "False", "ReplicaSetCreateError", memory.refusal, now)
    elif memory.created == new.name:
        text = f'Created new replica set "{new.name}"'
        noted = status.made(status.PROGRESSING, "True", "NewReplicaSetCreated", text, now)
    elif current is None:
        text = f'Found new replica set "{new.name}"'
        noted = status.made(status.PROGRESSING, "True", "FoundNewReplicaSet", text, now)
    else:
        return held
    return conditions.put(held, noted)


def _is_scaling(d: DeploymentView, owned: Sequence[ReplicaSetView]) -> bool:
    noted = (revisions.noted_size(rs, revisions.DESIRED) for rs in sizes.active(owned))
    return any(size is not None and size != d.replicas for size in noted)


def _has_pods(rs: ReplicaSetView) -> bool:
    """Whether pods of the ReplicaSet may still run; its own report must be up to date to say no."""
    reported = rs.status
    return bool(reported.replicas or reported.terminating_replicas or rs.generation > reported.observed_generation)


def _surplus(d: DeploymentView, old: Sequence[ReplicaSetView]) -> tuple[ReplicaSetView, ...]:
    """The oldest revisions beyond the limit, except those that still have pods."""
    alive = sorted(
        (rs for rs in old if not rs.deleting), key=lambda rs: (revisions.revision_of(rs), *revisions.by_age(rs))
    )
    too_many = alive[: max(0, len(alive) - d.revision_history_limit)]
    return tuple(
        rs
        for rs in too_many
        if not rs.replicas and not rs.status.replicas and rs.generation <= rs.status.observed_generation
    )
