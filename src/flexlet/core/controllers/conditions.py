"""Lists of status conditions: a new one replaces the one of its type and goes to the end.

Conditions are plain values, kept and written as the server shows them. Who changes a list gets a new one.
"""

from collections.abc import Sequence
from typing import Any

from flexlet.api import age

Condition = dict[str, Any]


def find(conditions: Sequence[Condition], kind: str) -> Condition | None:
    """The condition of a type."""
    return next((condition for condition in conditions if condition.get("type") == kind), None)


def without(conditions: Sequence[Condition], kind: str) -> list[Condition]:
    """All but the condition of a type."""
    return [condition for condition in conditions if condition.get("type") != kind]


def put(conditions: Sequence[Condition], new: Condition) -> list[Condition]:
    """With the new condition, unless one of equal status and reason is there already."""
    current = find(conditions, new["type"])
    if current is not None and current.get("status") == new["status"]:
        if current.get("reason") == new.get("reason"):
            return list(conditions)
        new = {**new, "lastTransitionTime": current.get("lastTransitionTime", new["lastTransitionTime"])}
    return [*without(conditions, new["type"]), new]


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
