"""What a Job's status may say, and what of it may change.

A job ends once: `Complete` and `Failed` exclude each other, are announced (`SuccessCriteriaMet`, `FailureTarget`)
before they come, and never go away; a finished job has no pods left and has begun. Follows
``ValidateJobStatusUpdate`` with the options that the server uses: most rules only apply where what they look at
has changed.
"""

from typing import Any, Final

from flexlet.api import fielderrors
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.amounts import check_counts
from flexlet.apiserver.kinds.conditions import is_true, status_of
from flexlet.apiserver.kinds.job import indexes
from flexlet.apiserver.kinds.job.policies import unquoted
from flexlet.apiserver.kinds.job.spec import INDEXED
from flexlet.errors import InputError

_CONDITIONS: Final = "status.conditions"
_COUNTS: Final = ("active", "succeeded", "failed", "ready", "terminating")
_TERMINAL: Final = ("Failed", "Complete", "FailureTarget")


def check_status_change(job: Object, old: Object) -> list[FieldError]:
    """What is wrong with a new status."""
    change = _Change(job, old)
    return [
        *check_counts(change.status, _COUNTS, "status"),
        *_check_uncounted(change.status.get("uncountedTerminatedPods", {})),
        *_check_conditions(change),
        *_check_completion_time(change),
        *_check_finished(change),
        *_check_indexes(change),
        *_check_progress(change),
    ]


class _Change:
    """Both states of a job, and what differs between them."""

    def __init__(self, job: Object, old: Object) -> None:
        self.job, self.old = job, old
        self.spec: Object = job["spec"]
        self.status: Object = job.get("status", {})
        self.before: Object = old.get("status", {})
        self.complete, self.failed = is_true(job, "Complete"), is_true(job, "Failed")
        self.finished = self.complete or self.failed

    def changes(self, *fields: str) -> bool:
        """Whether any of these fields of the status changed; words in capitals are conditions."""
        return any(
            is_true(self.job, field) != is_true(self.old, field)
            if field[0].isupper()
            else self.status.get(field) != self.before.get(field)
            for field in fields
        )

    @property
    def finishes(self) -> bool:
        """Whether the job ends, or starts over, with this change."""
        return (is_true(self.old, "Complete") or is_true(self.old, "Failed")) != self.finished


def _check_uncounted(uncounted: Object) -> list[FieldError]:
    errors, seen = [], set()
    for key in ("succeeded", "failed"):
        for index, uid in enumerate(uncounted.get(key) or ()):
            field = f"status.uncountedTerminatedPods.{key}[{index}]"
            if not uid:
                errors.append(fielderrors.invalid(field, uid, "must not be empty"))
            elif uid in seen:
                errors.append(fielderrors.duplicate(field, uid))
            seen.add(uid)
    return errors


def _check_conditions(change: _Change) -> list[FieldError]:
    target, met = is_true(change.job, "FailureTarget"), is_true(change.job, "SuccessCriteriaMet")
    policy = "successPolicy" in change.spec
    rules = (
        (change.complete and change.failed and change.changes("Complete", "Failed"))
        and "cannot set Complete=True and Failed=true conditions",
        (change.complete and target and change.changes("Complete", "FailureTarget"))
        and "cannot set Complete=True and FailureTarget=true conditions",
        (change.failed and not target and change.changes("Failed", "failedIndexes"))
        and "cannot set Failed=True condition without the FailureTarget=true condition",
        (change.complete and not met and change.changes("Complete", "SuccessCriteriaMet"))
        and "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
        (met and change.failed) and "cannot set SuccessCriteriaMet=True and Failed=true conditions",
        (met and target) and "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
        (policy and not met and change.complete)
        and "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
        *(
            is_true(change.old, kind)
            and not is_true(change.job, kind)
            and f"cannot disable the terminal {kind}=True condition"
            for kind in _TERMINAL
        ),
    )
    return [unquoted(_CONDITIONS, text) for text in rules if text]


def _check_completion_time(change: _Change) -> list[FieldError]:
    field, ended, begun = (
        "status.completionTime",
        change.status.get("completionTime"),
        change.status.get("startTime"),
    )
    errors = []
    if change.changes("Complete", "completionTime"):
        if ended and not change.complete:
            text = "cannot set completionTime when there is no Complete=True condition"
            errors.append(fielderrors.invalid(field, ended, text))
        if not ended and change.complete:
            errors.append(fielderrors.required(field, "completionTime is required for Complete jobs"))
    # Both are in the server's own form, in which text order is time order.
    if change.changes("startTime", "completionTime") and begun and ended and ended < begun:
        errors.append(fielderrors.invalid(field, ended, "must be equal to or after `startTime`"))
    before = change.before.get("completionTime")
    if ended and before and ended != before:
        errors.append(fielderrors.invalid(field, ended, "field is immutable"))
    return errors


def _check_finished(change: _Change) -> list[FieldError]:
    if not change.finished:
        return []
    status, finishes = change.status, change.finishes
    errors = []
    if status.get("active", 0) > 0 and (finishes or change.changes("active")):
        text = "active>0 is invalid for finished job"
        errors.append(fielderrors.invalid("status.active", status["active"], text))
    never_ran = change.spec.get("suspend") and change.spec.get("completions") == 0
    if "startTime" not in status and (finishes or change.changes("startTime")) and not never_ran:
        errors.append(fielderrors.required("status.startTime", "startTime is required for finished job"))
    uncounted = status.get("uncountedTerminatedPods", {})
    if any(uncounted.values()) and (finishes or change.changes("uncountedTerminatedPods")):
        field = "status.uncountedTerminatedPods"
        errors.append(fielderrors.invalid(field, _internal(uncounted), "must be empty for finished job"))
    if status.get("terminating", 0) > 0 and (finishes or change.changes("terminating")):
        text = "terminating>0 is invalid for finished job"
        errors.append(fielderrors.invalid("status.terminating", status["terminating"], text))
    return errors


def _check_indexes(change: _Change) -> list[FieldError]:
    spec, completions = change.spec, change.spec.get("completions")
    completed, failed = change.status.get("completedIndexes", ""), change.status.get("failedIndexes")
    errors = []
    if change.changes("completedIndexes"):
        errors += _unreadable(completed, completions, "completedIndexes")
        if completed and spec.get("completionMode") != INDEXED:
            text = "cannot set non-empty completedIndexes when non-indexed completion mode"
            errors.append(fielderrors.invalid("status.completedIndexes", completed, text))
    if change.changes("failedIndexes") and failed is not None:
        if "backoffLimitPerIndex" in spec:
            errors += _unreadable(failed, completions, "failedIndexes")
        else:
            text = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
            errors.append(fielderrors.invalid("status.failedIndexes", failed, text))
    if change.changes("completedIndexes", "failedIndexes") and failed is not None and completions is not None:
        shared = indexes.overlap(completed, failed, completions)
        if shared is not None:
            text = f"failedIndexes and completedIndexes overlap at index: {shared}"
            errors.append(fielderrors.invalid("status.failedIndexes", failed, text))
    return errors


def _unreadable(text: str, completions: int | None, key: str) -> list[FieldError]:
    if completions is None:
        return []
    try:
        indexes.count(text, completions)
    except InputError as fault:
        return [fielderrors.invalid(f"status.{key}", text, f"error parsing {key}: {fault.message}")]
    return []


def _check_progress(change: _Change) -> list[FieldError]:
    """Counters do not go back, and a running job does not begin again."""
    status, before, spec = change.status, change.before, change.spec
    errors = []
    ready, active = status.get("ready"), status.get("active", 0)
    if ready is not None and ready > active and change.changes("ready", "active"):
        errors.append(fielderrors.invalid("status.ready", ready, "cannot set more ready pods than active"))
    elastic = spec.get("completionMode") == INDEXED and spec.get("completions") == spec.get("parallelism")
    for key in ("failed", "succeeded"):
        if status.get(key, 0) < before.get(key, 0) and not (elastic and key == "succeeded"):
            text = f"cannot decrease the {key} counter"
            errors.append(fielderrors.invalid(f"status.{key}", status.get(key, 0), text))
    resumes = is_true(change.old, "Suspended") and status_of(change.job, "Suspended") == "False"
    begun: Any = status.get("startTime")
    if "startTime" in before and change.changes("startTime") and not resumes and not spec.get("suspend"):
        text = "field is immutable for unsuspended job once set"
        errors.append(fielderrors.invalid("status.startTime", begun, text))
    return errors


def _internal(uncounted: Object) -> Object:
    return {"Succeeded": uncounted.get("succeeded"), "Failed": uncounted.get("failed")}
