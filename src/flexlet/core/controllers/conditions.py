"""Lists of status conditions: a new one replaces the one of its type and goes to the end.

Conditions are plain values, kept and written as the server shows them. Who changes a list gets a new one. Anyone
may have written what is found in a status, so nothing is taken for granted about its members.
"""

from collections.abc import Sequence
from typing import Any

from flexlet.api import age

Condition = dict[str, Any]


def find(conditions: Sequence[Condition], kind: str) -> Condition | None:
    """The condition of a type."""
    return next((condition for condition in conditions if condition.get("type") == kind), None)


def text(condition: Condition | None, member: str) -> str:
    """A member of a condition; empty if there is none."""
    return str((condition or {}).get(member) or "")


def without(conditions: Sequence[Condition], kind: str) -> list[Condition]:
    """All but the condition of a type."""
    return [condition for condition in conditions if condition.get("type") != kind]


def put(conditions: Sequence[Condition], new: Condition) -> list[Condition]:
    """With the new condition, unless one of equal status and reason is there already."""
    current = find(conditions, text(new, "type"))
    if current is not None and text(current, "status") == text(new, "status"):
        if text(current, "reason") == text(new, "reason"):
            return list(conditions)
        since = text(current, "lastTransitionTime") or text(new, "lastTransitionTime")
        new = {**new, "lastTransitionTime": since}
    return [*without(conditions, text(new, "type")), new]


def made(kind: str, status: str, reason: str, message: str, now: float) -> Condition:
    """A condition that became so now."""
    return {
        "type": kind,
        "status": status,
        "lastTransitionTime": age.format_seconds(now),
        "reason": reason,
        "message": message,
    }


def seconds(timestamp: str) -> float:
    """A timestamp as seconds since the epoch; 0 for none."""
    return age.parse(timestamp).timestamp() if timestamp else 0.0
