"""What a Job reports."""

from typing import Any

from flexlet.api import age
from flexlet.core.controllers.conditions import Condition, find, seconds, text
from flexlet.core.controllers.job import ending, indexes
from flexlet.core.controllers.job.accounts import Accounts
from flexlet.core.controllers.job.gang import Gang
from flexlet.core.views.job import JobStatus, JobView


class Draft:
    """The parts of a status that a look changes step by step."""

    def __init__(self, conditions: list[Condition], start_time: str | None) -> None:
        self.conditions = conditions
        self.start_time = start_time
        self.completion_time: str | None = None
        self.event: tuple[str, str, str] | None = None

    @classmethod
    def of(cls, job: JobView, now: float) -> "Draft":
        """What is stored; a Job starts when it is first looked at and not suspended."""
        draft = cls(list(job.status.conditions), job.status.start_time)
        if not job.suspend:
            draft.start(now)
        return draft

    @property
    def started(self) -> float:
        """The time of the start, 0 before it."""
        return seconds(self.start_time or "")

    def start(self, now: float) -> None:
        """Begin, unless it has."""
        self.start_time = self.start_time or age.format_seconds(now)

    def note_suspension(self, job: JobView, now: float) -> None:
        """Tell that the Job was suspended or resumed; time counts anew after that."""
        current = find(self.conditions, "Suspended")
        was_suspended = text(current, "status") == "True"
        if job.suspend == was_suspended:
            return
        word = "suspended" if job.suspend else "resumed"
        noted = ending.made("Suspended", str(job.suspend), f"Job{word.title()}", f"Job {word}", now)
        self.event = ("Normal", word.title(), f"Job {word}")
        self.start_time = None if job.suspend else age.format_seconds(now)
        if current is None:
            self.conditions.append(noted)
        else:
            self.conditions[self.conditions.index(current)] = noted

    def finish(self, decided: Condition, now: float) -> None:
        """End the way that was decided."""
        kind = ending.FINAL[text(decided, "type")]
        final = ending.made(kind, "True", text(decided, "reason"), text(decided, "message"), now)
        self.conditions.append(final)
        self.start(now)
        if final["type"] == "Complete":
            self.completion_time = final["lastTransitionTime"]
            self.event = ("Normal", "Completed", "Job completed")
        else:
            self.event = ("Warning", final["reason"], final["message"])


def is_over(gang: Gang, books: Accounts) -> bool:
    """Whether no pod runs and all are counted."""
    noted = books.noted
    return not (gang.active() or gang.terminating() or noted.succeeded or noted.failed)


def reported(job: JobView, gang: Gang, books: Accounts, draft: Draft) -> JobStatus:
    """The status as it should be."""
    active = gang.active()
    return JobStatus(
        active=len(active),
        ready=sum(pod.ready for pod in active),
        terminating=len(gang.terminating()),
        succeeded=books.counted_succeeded,
        failed=books.counted_failed,
        uncounted_terminated_pods=books.noted,
        completed_indexes=indexes.format_indexes(books.completed) if job.indexed else "",
        start_time=draft.start_time,
        completion_time=draft.completion_time,
        conditions=tuple(draft.conditions),
    )


def value(status: JobStatus) -> dict[str, Any]:
    """The status as it is written; counts that are zero are absent on the wire, except two."""
    noted = status.uncounted
    return {
        "active": status.active or None,
        "ready": status.ready,
        "terminating": status.terminating,
        "succeeded": status.succeeded or None,
        "failed": status.failed or None,
        "uncountedTerminatedPods": {
            "succeeded": list(noted.succeeded) or None,
            "failed": list(noted.failed) or None,
        },
        "completedIndexes": status.completed_indexes or None,
        "startTime": status.start_time,
        "completionTime": status.completion_time,
        "conditions": list(status.conditions) or None,
    }
