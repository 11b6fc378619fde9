"""Stop a pod for good: why, how patiently, in which order.

A pod is stopped when its source no longer has it, when it is deleted, when the node ends it (evicted, preempted,
rejected, past its deadline), when the API says that it has ended already, or when nothing of it is left to run.
That never changes again. The grace is the shortest that anybody asked for; it may shrink while the pod is being
stopped, and then runs that are told to stop are told again.

Containers stop side by side. Sidecars are told at once and their preStop hooks run at once, but they go on until
all regular containers and all later sidecars have ended, or the grace is over. Every sandbox is stopped at last,
even if a container could not be. Follows the kubelet's pod workers and runtime manager of Kubernetes 1.36.3.
"""

import math
from typing import Final

from flexlet.api import age
from flexlet.core.agent import events
from flexlet.core.agent.deeds import RunPreStop, StopContainer
from flexlet.core.agent.lifecycle import killing
from flexlet.core.agent.lifecycle.draft import Draft
from flexlet.core.agent.lifecycle.telling import tell_anyway
from flexlet.core.agent.observations import FILE
from flexlet.core.agent.record import Ending
from flexlet.core.agent.world import TERMINAL
from flexlet.core.resize import conditions
from flexlet.core.resize.events import NORMAL
from flexlet.core.runtime.shown import Container

_ORPHAN_GRACE_S: Final = 1
_CLEARLY_S: Final = 1.0
"""A deadline that moved less than this is the same."""


def is_due(draft: Draft) -> bool:
    """Whether the pod is being stopped for good; notices new reasons for it, and a shorter grace."""
    _watch_deadline(draft)
    if must_stop(draft):
        begin(draft)
    return draft.record.stopping_since is not None


def begin(draft: Draft) -> None:
    """From now on the pod is being stopped."""
    grace, before = _grace(draft), draft.record.grace_s
    if draft.record.stopping_since is None:
        draft.change(stopping_since=draft.now, grace_s=grace, stop_by=draft.now + grace)
    elif before is None or grace < before:
        draft.change(grace_s=grace, stop_by=min(draft.record.stop_by, draft.now + grace))


def proceed(draft: Draft) -> None:
    """Take the next steps; `stopped` when nothing of the pod runs any more."""
    waiting = [_stop(draft, run) for run in draft.shown.running]
    if any(waiting) or killing.is_busy(draft):
        draft.wake(draft.record.stop_by)
        return
    if not killing.stop_sandboxes(draft) or waiting:
        return
    # One that came to its end by itself is reported so before it is told to be over.
    if must_stop(draft) or not draft.record.stops or not tell_anyway(draft):
        draft.change(stopped=True, resize=conditions.NONE)


def must_stop(draft: Draft) -> bool:
    """Whether somebody wants the pod to end."""
    record = draft.record
    if record.gone or record.ending is not None or draft.pod.status.phase in TERMINAL:
        return True
    return draft.pod.metadata.deletion_timestamp is not None and record.source != FILE


def _grace(draft: Draft) -> int:
    record = draft.record
    if record.gone and record.source != FILE:
        return _ORPHAN_GRACE_S
    ending = record.ending.grace_s if record.ending is not None else None
    asked = [s for s in (draft.pod.metadata.deletion_grace_period_seconds, ending) if s is not None]
    return max(1, min(asked, default=killing.grace(draft)))


def _watch_deadline(draft: Draft) -> None:
    """A pod may say how long it wants to be active."""
    limit, started_at = draft.pod.spec.active_deadline_seconds, draft.record.started_at
    if limit is None or not started_at or draft.record.stopping_since is not None:
        return
    due = age.parse(started_at).timestamp() + limit
    draft.wake(due)
    if draft.now >= due and draft.record.ending is None:
        ending = Ending(reason=events.DEADLINE_EXCEEDED, message=events.DEADLINE_MESSAGE)
        draft.change(ending=ending)
        draft.tell(events.of_pod(draft.pod, NORMAL, ending.reason, ending.message))


def _stop(draft: Draft, run: Container) -> bool:
    """Whether the run's end must still be awaited; False if it could not be stopped."""
    told = draft.record.stops.get(run.id)
    if told is None:
        draft.tell(events.killing(draft.pod, run.name, killing.stopping(run)))
        draft.change(stops={**draft.record.stops, run.id: draft.record.stop_by})
    if draft.is_stopping(run):
        _hurry(draft, run, told)
        return True
    if not _has_turn(draft, run):
        _prepare(draft, run)
        return True
    return draft.issue(_order(draft, run, hook=run.id not in draft.record.hooked))


def _hurry(draft: Draft, run: Container, told: float | None) -> None:
    """Tell a run again that was told before with a later deadline, or for another reason."""
    deadline = draft.record.stop_by
    if told is not None and deadline > told - _CLEARLY_S:
        return
    draft.change(stops={**draft.record.stops, run.id: deadline})
    draft.begin(_order(draft, run, hook=False))


def _order(draft: Draft, run: Container, *, hook: bool) -> StopContainer:
    return StopContainer(
        uid=draft.record.uid,
        container=run.name,
        container_id=run.id,
        grace_s=_time_left(draft),
        reason=killing.stopping(run),
        pre_stop=killing.pre_stop(draft, run.name) if hook else None,
    )


def _time_left(draft: Draft) -> int:
    return max(0, math.ceil(draft.record.stop_by - draft.now))


def _has_turn(draft: Draft, run: Container) -> bool:
    """A sidecar waits for everybody who may need it, but not beyond the grace."""
    before = _outlives(draft, run.name)
    if not before or draft.now >= draft.record.stop_by:
        return True
    hook_runs = f"hook/{run.id}" in draft.record.underway
    return not hook_runs and not any(each.name in before for each in draft.shown.running)


def _outlives(draft: Draft, name: str) -> frozenset[str]:
    """Whose end a container waits for; empty for all but sidecars."""
    sidecars = [each.name for each in draft.pod.spec.init_containers if each.is_sidecar]
    if name not in sidecars:
        return frozenset()
    later = sidecars[sidecars.index(name) + 1 :]
    return frozenset((*later, *(each.name for each in draft.pod.spec.containers)))


def _prepare(draft: Draft, run: Container) -> None:
    """Run the preStop hook of a sidecar whose turn has not come."""
    hook = killing.pre_stop(draft, run.name)
    if hook is None or run.id in draft.record.hooked:
        return
    begun = draft.issue(
        RunPreStop(
            uid=draft.record.uid,
            container=run.name,
            container_id=run.id,
            grace_s=_time_left(draft),
            hook=hook,
        )
    )
    if begun:
        draft.change(hooked=draft.record.hooked | {run.id})
