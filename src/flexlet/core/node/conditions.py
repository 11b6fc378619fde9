"""The node's conditions on top of those it has: what holds now, since when, and what of it is news.

A condition keeps its time of transition while its status stays. Conditions of other agents stay where they are,
those of the node's own of which it has nothing to say any more (it no longer follows its machine) are dropped;
Ready comes last among the node's own, because old control planes look only there.
"""

from typing import Any, Final

import msgspec

from flexlet.api import age
from flexlet.core.node.facts import (
    DISK_PRESSURE,
    MEMORY_PRESSURE,
    NODE_RESIZE,
    PID_PRESSURE,
    READY,
    STABLE,
    NodeFacts,
)

Condition = dict[str, Any]

_PRESSURES: Final = {
    MEMORY_PRESSURE: (
        ("KubeletHasSufficientMemory", "kubelet has sufficient memory available", "NodeHasSufficientMemory"),
        ("KubeletHasInsufficientMemory", "kubelet has insufficient memory available", "NodeHasInsufficientMemory"),
    ),
    DISK_PRESSURE: (
        ("KubeletHasNoDiskPressure", "kubelet has no disk pressure", "NodeHasNoDiskPressure"),
        ("KubeletHasDiskPressure", "kubelet has disk pressure", "NodeHasDiskPressure"),
    ),
    PID_PRESSURE: (
        ("KubeletHasSufficientPID", "kubelet has sufficient PID available", "NodeHasSufficientPID"),
        ("KubeletHasInsufficientPID", "kubelet has insufficient PID available", "NodeHasInsufficientPID"),
    ),
}
OWN: Final = (*_PRESSURES, NODE_RESIZE, READY)


class Conditions(msgspec.Struct, frozen=True):
    """All conditions as they should be published, and the transitions among them as reasons of events."""

    all: tuple[Condition, ...]
    news: tuple[str, ...] = ()


def conditions(published: list[Condition], facts: NodeFacts, problems: str, now: float) -> Conditions:
    """What holds at `now`; `problems` is why the node is not ready."""
    stamp = age.format_seconds(now)
    before = {condition.get("type", ""): condition for condition in published}
    wanted: dict[str, Condition] = {}
    news: list[str] = []
    for kind, (fine, bad) in _PRESSURES.items():
        holds = kind in facts.pressures
        reason, message, event = bad if holds else fine
        wanted[kind] = _condition(kind, holds, reason, message, before.get(kind), stamp)
        news += [event] if _is_news(wanted[kind], before.get(kind)) else []
    if facts.resizing is not None:
        reason, message = facts.resizing.reason, facts.resizing.message
        moves = reason != STABLE
        wanted[NODE_RESIZE] = _condition(NODE_RESIZE, moves, reason, message, before.get(NODE_RESIZE), stamp)
    ready = "KubeletNotReady" if problems else "KubeletReady"
    message = problems or "kubelet is posting ready status"
    wanted[READY] = _condition(READY, not problems, ready, message, before.get(READY), stamp)
    if READY in before and _is_news(wanted[READY], before[READY]):
        news.append("NodeNotReady" if problems else "NodeReady")
    silent = set(OWN) - wanted.keys()
    told = [condition for condition in published if condition.get("type", "") not in silent]
    kept = [wanted.pop(condition.get("type", ""), condition) for condition in told]
    return Conditions((*kept, *wanted.values()), tuple(news))


def without_heartbeat(condition: Condition) -> Condition:
    """What of a condition counts as a change."""
    return {key: value for key, value in condition.items() if key != "lastHeartbeatTime"}


def _condition(
    kind: str, holds: bool, reason: str, message: str, before: Condition | None, stamp: str
) -> Condition:
    status = "True" if holds else "False"
    stays = before is not None and before.get("status") == status
    since = before.get("lastTransitionTime", stamp) if before is not None and stays else stamp
    return {
        "type": kind,
        "status": status,
        "lastHeartbeatTime": stamp,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }


def _is_news(condition: Condition, before: Condition | None) -> bool:
    return before is None or before.get("status") != condition["status"]
