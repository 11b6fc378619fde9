"""Conditions of the standard form (``metav1.Condition``): what they must say."""

import re
from collections.abc import Sequence
from typing import Final

from flexlet.api import fielderrors, names
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Object

_STATUSES: Final = ("False", "True", "Unknown")
_REASON: Final = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON_COMPLAINT: Final = names.regex_complaint(
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_'",
    _REASON,
    *("my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"),
)
MAX_REASON: Final = 1024
MAX_MESSAGE: Final = 32 * 1024


def check_conditions(conditions: Sequence[Object], field: str) -> list[FieldError]:
    """Each complete, each type only once."""
    seen: set[str] = set()
    errors = []
    for index, condition in enumerate(conditions):
        kind = condition.get("type", "")
        if kind in seen:
            errors.append(fielderrors.duplicate(f"{field}[{index}].type", kind))
        seen.add(kind)
        errors += _check_condition(condition, f"{field}[{index}]")
    return errors


def _check_condition(condition: Object, field: str) -> list[FieldError]:
    kind, status = condition.get("type", ""), condition.get("status", "")
    errors = [fielderrors.invalid(f"{field}.type", kind, complaint) for complaint in names.label_key(kind)]
    if status not in _STATUSES:
        errors.append(fielderrors.not_supported(f"{field}.status", status, _STATUSES))
    generation = condition.get("observedGeneration", 0)
    if generation < 0:
        text = "must be greater than or equal to zero"
        errors.append(fielderrors.invalid(f"{field}.observedGeneration", generation, text))
    if not condition.get("lastTransitionTime"):
        errors.append(fielderrors.required(f"{field}.lastTransitionTime"))
    errors += _check_reason(condition.get("reason", ""), f"{field}.reason")
    if len(condition.get("message", "").encode()) > MAX_MESSAGE:
        errors.append(fielderrors.too_long(f"{field}.message", MAX_MESSAGE))
    return errors


def _check_reason(reason: str, field: str) -> list[FieldError]:
    if not reason:
        return [fielderrors.required(field)]
    errors = []
    if not re.fullmatch(_REASON, reason):
        errors.append(fielderrors.invalid(field, reason, _REASON_COMPLAINT))
    if len(reason) > MAX_REASON:
        errors.append(fielderrors.too_long(field, MAX_REASON))
    return errors


def is_true(obj: Object, kind: str) -> bool:
    """Whether the object's status has the condition, and it holds."""
    return status_of(obj, kind) == "True"


def status_of(obj: Object, kind: str) -> str:
    """The condition's status, empty where there is none; of several of one type the first counts."""
    conditions = obj.get("status", {}).get("conditions") or ()
    return next((entry.get("status", "") for entry in conditions if entry.get("type") == kind), "")
