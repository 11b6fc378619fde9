"""The conditions and taints that say what is wrong with a node."""

from typing import Any, Final

from flexlet.api import age
from flexlet.api.node import Taint
from flexlet.core.views.node import NodeView

_PREFIX: Final = "node.kubernetes.io/"
NOT_READY: Final = f"{_PREFIX}not-ready"
UNREACHABLE: Final = f"{_PREFIX}unreachable"
UNSCHEDULABLE: Final = f"{_PREFIX}unschedulable"
_BY_CONDITION: Final = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): f"{_PREFIX}memory-pressure",
    ("DiskPressure", "True"): f"{_PREFIX}disk-pressure",
    ("NetworkUnavailable", "True"): f"{_PREFIX}network-unavailable",
    ("PIDPressure", "True"): f"{_PREFIX}pid-pressure",
}
_OURS: Final = {*_BY_CONDITION.values(), UNSCHEDULABLE}
# NetworkUnavailable belongs to whoever runs the network.
_POSTED_BY_NODE: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


def readiness(node: NodeView) -> str:
    """The status of Ready; empty if the node never said."""
    condition = node.condition("Ready")
    return condition.status if condition else ""


def unknown(node: NodeView, now: float) -> list[dict[str, Any]]:
    """The conditions that can no longer be believed, as Unknown."""
    patches: list[dict[str, Any]] = []
    for kind in _POSTED_BY_NODE:
        current = node.condition(kind)
        mark = {"type": kind, "status": "Unknown", "lastTransitionTime": age.format_seconds(now)}
        if current is None:
            mark |= {
                "reason": "NodeStatusNeverUpdated",
                "message": "Kubelet never posted node status.",
                "lastHeartbeatTime": node.created,
            }
        elif current.status != "Unknown":
            mark |= {"reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}
        else:
            continue
        patches.append(mark)
    return patches


def repelling(node: NodeView) -> set[str]:
    """Keys of the taints that keep new pods away."""
    keys = {_BY_CONDITION.get((condition.type, condition.status), "") for condition in node.conditions}
    return (keys | ({UNSCHEDULABLE} if node.unschedulable else set())) - {""}


def expelling(node: NodeView) -> str:
    """Key of the taint that drives pods out; a node that is not ready has one of two."""
    return _BY_CONDITION.get(("Ready", readiness(node)), "")


def retainted(node: NodeView, expel: str, now: float) -> list[dict[str, Any]] | None:
    """All taints as they should be, or None if they are; `expel` is the key to drive pods out with, or empty."""
    wanted = {(key, "NoSchedule") for key in repelling(node)}
    wanted |= {(expel, "NoExecute")} if expel else set()
    kept = [taint for taint in node.taints if not _is_ours(taint) or (taint.key, taint.effect) in wanted]
    missing = wanted - {(taint.key, taint.effect) for taint in kept}
    if not missing and len(kept) == len(node.taints):
        return None
    stamp = age.format_seconds(now)
    added = [{"key": key, "effect": effect, "timeAdded": stamp} for key, effect in sorted(missing)]
    return [_value(taint) for taint in kept] + added


def has_expelling(node: NodeView) -> str:
    """Key of the taint with which the node drives pods out now."""
    keys = (taint.key for taint in node.taints if taint.effect == "NoExecute")
    return next((key for key in keys if key in {NOT_READY, UNREACHABLE}), "")


def _is_ours(taint: Taint) -> bool:
    if taint.effect == "NoExecute":
        return taint.key in {NOT_READY, UNREACHABLE}
    return taint.effect == "NoSchedule" and taint.key in _OURS


def _value(taint: Taint) -> dict[str, Any]:
    parts = {"key": taint.key, "value": taint.value, "effect": taint.effect, "timeAdded": taint.time_added}
    return {key: part for key, part in parts.items() if part}
