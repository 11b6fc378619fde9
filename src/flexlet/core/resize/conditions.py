"""The two conditions that tell how a resize stands: PodResizePending and PodResizeInProgress.

Both are True while they exist and vanish when they no longer apply; both may exist at once, when an older resize
still fails while a newer one waits. A transition is a change of the reason. The generation of a resize in progress
is that of the pod when it was allocated and stays until the condition is cleared.

After a restart of the agent the conditions come back from the API's copy with their transition times (upstream
resets those; KEP-1287 promises to keep them, and the waiting list is ordered by them).
"""

from typing import Final

import msgspec

from flexlet.api import age
from flexlet.api.meta import Condition
from flexlet.api.pod import Pod
from flexlet.core.resources.statusaware import DEFERRED, INFEASIBLE, RESIZE_PENDING

RESIZE_IN_PROGRESS: Final = "PodResizeInProgress"
ERROR: Final = "Error"


class ResizeConditions(msgspec.Struct, frozen=True):
    """What is known of a pod's resizes; a pod that is terminal or gone has none."""

    pending: Condition | None = None
    in_progress: Condition | None = None

    @property
    def waiting_since(self) -> str:
        """When the pending resize got its reason, empty if none is pending."""
        return (self.pending.last_transition_time or "") if self.pending is not None else ""

    @property
    def is_deferred(self) -> bool:
        """Whether a resize waits for room."""
        return self.pending is not None and self.pending.reason == DEFERRED

    @property
    def is_infeasible(self) -> bool:
        """Whether a resize was refused for good."""
        return self.pending is not None and self.pending.reason == INFEASIBLE


NONE: Final = ResizeConditions()


def refused(before: ResizeConditions, reason: str, message: str, generation: int, now: float) -> ResizeConditions:
    """The resize waits (Deferred) or is refused (Infeasible)."""
    pending = _condition(RESIZE_PENDING, before.pending, reason, message, generation, now)
    return ResizeConditions(pending, before.in_progress)


def is_news(before: ResizeConditions, after: ResizeConditions) -> bool:
    """Whether a refusal is worth an event: a new reason, or the first of its generation."""
    return _refusal(before) != _refusal(after)


def allocated(generation: int, now: float) -> ResizeConditions:
    """A resize was granted: nothing is pending, and errors of an older one are forgotten."""
    return ResizeConditions(None, _condition(RESIZE_IN_PROGRESS, None, "", "", generation, now))


def settled(before: ResizeConditions) -> ResizeConditions:
    """Nothing is pending any more: the wish was reverted, or equals what is allocated."""
    return ResizeConditions(None, before.in_progress)


def progressing(before: ResizeConditions, generation: int, now: float) -> ResizeConditions:
    """Allocated and actuated differ; an error and its message stay until the resize is done."""
    known = before.in_progress
    reason, message = ("", "") if known is None else (known.reason, known.message)
    return ResizeConditions(before.pending, _progress(known, reason, message, generation, now))


def failed(before: ResizeConditions, message: str, generation: int, now: float) -> ResizeConditions:
    """An attempt to actuate failed."""
    return ResizeConditions(before.pending, _progress(before.in_progress, ERROR, message, generation, now))


def completed(before: ResizeConditions) -> tuple[ResizeConditions, int | None]:
    """Allocated and actuated are equal; also the generation that is done, None if none was in progress."""
    done = before.in_progress.observed_generation if before.in_progress is not None else None
    return ResizeConditions(before.pending, None), done


def restored(pod: Pod, now: float) -> ResizeConditions:
    """The conditions of the API's copy, as an agent finds them when it starts."""
    known = {condition.type: condition for condition in pod.status.conditions}
    return ResizeConditions(_kept(known.get(RESIZE_PENDING), now), _kept(known.get(RESIZE_IN_PROGRESS), now))


def rendered(conditions: ResizeConditions) -> tuple[Condition, ...]:
    """For the status, in the order the kubelet writes them (before all others)."""
    return tuple(each for each in (conditions.pending, conditions.in_progress) if each is not None)


def without_probe_times(conditions: ResizeConditions) -> ResizeConditions:
    """For comparison: looking again is no change."""
    return ResizeConditions(_unprobed(conditions.pending), _unprobed(conditions.in_progress))


def _progress(known: Condition | None, reason: str, message: str, generation: int, now: float) -> Condition:
    kept = generation if known is None else known.observed_generation
    return _condition(RESIZE_IN_PROGRESS, known, reason, message, kept, now)


def _condition(
    kind: str, known: Condition | None, reason: str, message: str, generation: int, now: float
) -> Condition:
    stamp = age.format_seconds(now)
    same = known is not None and known.reason == reason
    return Condition(
        type=kind,
        status="True",
        reason=reason,
        message=message,
        observed_generation=generation,
        last_probe_time=stamp,
        last_transition_time=known.last_transition_time if known is not None and same else stamp,
    )


def _kept(found: Condition | None, now: float) -> Condition | None:
    if found is None or found.last_transition_time:
        return found
    return msgspec.structs.replace(found, last_transition_time=age.format_seconds(now))


def _refusal(conditions: ResizeConditions) -> tuple[str, int] | None:
    pending = conditions.pending
    return None if pending is None else (pending.reason, pending.observed_generation)


def _unprobed(condition: Condition | None) -> Condition | None:
    return None if condition is None else msgspec.structs.replace(condition, last_probe_time=None)
