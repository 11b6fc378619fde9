"""Counting the pods that have ended, each exactly once.

`Accounts` is what one look finds out: who has ended and is new, who is noted and may lose its finalizer, who has
lost it and goes into the counters. See the package for the steps.
"""

import msgspec

from flexlet.core.controllers.job import indexes
from flexlet.core.controllers.job.gang import Gang, is_tracked
from flexlet.core.views.job import JobView, Uncounted
from flexlet.core.views.pod import PodView

MOST_UNCOUNTED = 500
"""So that the status does not grow without bounds."""


class Accounts(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of a Job."""

    new_succeeded: tuple[PodView, ...]
    new_failed: tuple[PodView, ...]
    succeeded: int
    """Stored, noted and new ones together."""
    failed: int
    counted_succeeded: int
    """What the counter in the status should be now."""
    counted_failed: int
    noted: Uncounted
    """What the note in the status should be now."""
    completed: frozenset[int] = frozenset()
    """The completion indexes of an indexed Job that are done."""
    releasable: tuple[PodView, ...]
    """Pods whose finalizer may go."""


def settle(job: JobView, gang: Gang, *, failing: bool, succeeding: bool) -> Accounts:
    """The books as of now; a Job that ends counts what still runs as failed, unless it ends well."""
    noted, status = job.status.uncounted, job.status
    tracked = {uid: pod for uid, pod in gang.pods.items() if is_tracked(pod)}
    before = indexes.parse(status.completed_indexes, job.completions or 0) if job.indexed else set()
    succeeded, failed = _new(job, list(tracked.values()), noted, failing=failing)
    kept = Uncounted(
        succeeded=tuple(uid for uid in noted.succeeded if uid in tracked),
        failed=tuple(uid for uid in noted.failed if uid in tracked),
    )
    completed = before | {pod.completion_index for pod in succeeded} if job.indexed else set()
    all_succeeded = status.succeeded + len(noted.succeeded) + len(succeeded)
    return Accounts(
        new_succeeded=tuple(succeeded),
        new_failed=tuple(failed),
        succeeded=len(completed) if job.indexed else all_succeeded,
        failed=status.failed + len(noted.failed) + len(failed),
        counted_succeeded=_counted_succeeded(job, completed, kept),
        counted_failed=status.failed + len(noted.failed) - len(kept.failed),
        noted=_noted(job, kept, succeeded, failed),
        completed=frozenset(completed),
        releasable=tuple(
            pod
            for pod in tracked.values()
            if _may_be_released(job, pod, noted, before) or (succeeding and not pod.finished)
        ),
    )


def is_failed(job: JobView, pod: PodView) -> bool:
    """A pod that is being deleted counts as failed at once, unless the Job replaces only those that have ended."""
    if pod.phase == "Failed":
        return True
    return not job.only_replace_failed and pod.deleting and pod.phase != "Succeeded"


def _new(
    job: JobView, tracked: list[PodView], noted: Uncounted, *, failing: bool
) -> tuple[list[PodView], list[PodView]]:
    """The pods that have ended and are not noted."""
    known = {*noted.succeeded, *noted.failed}
    room = max(0, MOST_UNCOUNTED - len(known))
    fresh = [pod for pod in tracked if pod.uid not in known and _has_valid_index(job, pod)]
    succeeded = [pod for pod in fresh if pod.phase == "Succeeded"][:room]
    failed = [
        pod for pod in fresh if is_failed(job, pod) or (failing and pod.phase != "Succeeded" and pod.deleting)
    ]
    return succeeded, failed[: max(0, room - len(succeeded))]


def _counted_succeeded(job: JobView, completed: set[int], kept: Uncounted) -> int:
    if job.indexed:
        return len(completed)
    return job.status.succeeded + len(job.status.uncounted.succeeded) - len(kept.succeeded)


def _noted(job: JobView, kept: Uncounted, succeeded: list[PodView], failed: list[PodView]) -> Uncounted:
    """Successes of an indexed Job need no note: the index itself tells that they are counted."""
    wins = () if job.indexed else tuple(pod.uid for pod in succeeded)
    return Uncounted(succeeded=kept.succeeded + wins, failed=kept.failed + tuple(pod.uid for pod in failed))


def _may_be_released(job: JobView, pod: PodView, noted: Uncounted, completed: set[int]) -> bool:
    if job.deleting or pod.uid in noted.succeeded or pod.uid in noted.failed:
        return True
    if not job.indexed or not pod.finished:
        return False
    return not _has_valid_index(job, pod) or (pod.phase == "Succeeded" and pod.completion_index in completed)


def _has_valid_index(job: JobView, pod: PodView) -> bool:
    return not job.indexed or 0 <= pod.completion_index < (job.completions or 0)
