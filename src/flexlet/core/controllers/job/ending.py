"""How a Job ends: which condition it is heading for, and which it ends with.

An end is told twice. The interim condition (SuccessCriteriaMet, FailureTarget) says what was decided; the final
one (Complete, Failed) follows when no pod is left that runs or is not counted.
"""

from collections.abc import Collection
from typing import Final

from flexlet.api import age
from flexlet.core.controllers.conditions import Condition, seconds, text
from flexlet.core.controllers.job.accounts import Accounts
from flexlet.core.controllers.job.gang import Gang
from flexlet.core.views.job import JobView

SUCCESS: Final = "SuccessCriteriaMet"
FAILURE: Final = "FailureTarget"
FINAL: Final = {SUCCESS: "Complete", FAILURE: "Failed"}


def made(kind: str, status: str, reason: str, message: str, now: float) -> Condition:
    """A Job's condition, which also has a time of probing."""
    stamp = age.format_seconds(now)
    return {
        "type": kind,
        "status": status,
        "lastProbeTime": stamp,
        "lastTransitionTime": stamp,
        "reason": reason,
        "message": message,
    }


def finished(job: JobView) -> Condition | None:
    """The final condition, if the Job has ended."""
    return _true_one(job, FINAL.values())


def decided(job: JobView) -> Condition | None:
    """The interim condition, if the end was decided in an earlier round."""
    return _true_one(job, FINAL)


def _true_one(job: JobView, kinds: Collection[str]) -> Condition | None:
    held = (one for one in job.status.conditions if text(one, "status") == "True")
    return next((one for one in held if text(one, "type") in kinds), None)


def failure(job: JobView, gang: Gang, accounts: Accounts, started: float, now: float) -> Condition | None:
    """Why the Job fails now, if it does."""
    if job.unsupported:
        words = f"flexlet does not support Jobs with {', '.join(job.unsupported)}"
        return made(FAILURE, "True", "NotSupported", words, now)
    if accounts.failed > job.backoff_limit or _restarted_too_often(job, gang):
        words = "Job has reached the specified backoff limit"
        return made(FAILURE, "True", "BackoffLimitExceeded", words, now)
    end = deadline(job, started)
    if end is not None and end <= now:
        words = "Job was active longer than specified deadline"
        return made(FAILURE, "True", "DeadlineExceeded", words, now)
    return None


def deadline(job: JobView, started: float) -> float | None:
    """When a Job that runs has run for too long."""
    if job.active_deadline_seconds is None or job.suspend or not started:
        return None
    return started + job.active_deadline_seconds


def success(job: JobView, accounts: Accounts, active: int, now: float) -> Condition | None:
    """Enough pods have succeeded; without a number of completions, one is enough, when the rest is done."""
    enough = 1 if job.completions is None else job.completions
    if active or accounts.succeeded < enough:
        return None
    words = "Reached expected number of succeeded pods"
    return made(SUCCESS, "True", "CompletionsReached", words, now)


def expiry(job: JobView, end: Condition) -> float | None:
    """When a Job that has ended is to be deleted."""
    if job.ttl_seconds_after_finished is None or job.deleting:
        return None
    return seconds(text(end, "lastTransitionTime")) + job.ttl_seconds_after_finished


def _restarted_too_often(job: JobView, gang: Gang) -> bool:
    """With restartPolicy OnFailure the containers fail, not the pods."""
    if job.restart_policy != "OnFailure":
        return False
    restarts = sum(pod.all_restarts for pod in gang.pods.values() if pod.phase in {"Running", "Pending"})
    return restarts >= max(job.backoff_limit, 1)
