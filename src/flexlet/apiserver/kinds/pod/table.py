"""A pod as a line of ``kubectl get pods``.

The Status column is a summary of summaries: the pod's reason or phase, overruled by what keeps init containers
busy, overruled by the first regular container that waits or ended. Follows ``printPod``.
"""

from typing import Any, Final

from flexlet.api import age
from flexlet.apiserver.contract.kind import Object

_ENDED: Final = frozenset({"Succeeded", "Failed"})
_OVER: Final = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}


class _Restarts:
    """How often containers were restarted, and when last; times compare as text because all are UTC."""

    def __init__(self) -> None:
        self.total = 0
        self.last = ""

    def count(self, status: Object) -> None:
        """Add what one container reports."""
        self.total += status.get("restartCount") or 0
        ended = ((status.get("lastState") or {}).get("terminated") or {}).get("finishedAt") or ""
        self.last = max(self.last, ended)

    def text(self, now: float) -> str:
        """``2 (5m ago)``."""
        return f"{self.total} ({age.since(self.last, now)} ago)" if self.total and self.last else str(self.total)


class _Summary:
    """What init and regular containers add up to."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.ready = 0
        self.restarts = _Restarts()
        self.of_sidecars = _Restarts()


def pod_cells(pod: Object, now: float) -> list[Any]:
    """Name, Ready, Status, Restarts, Age, and the wide columns."""
    meta, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    sidecars = {c.get("name") for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always"}
    summary = _summary(spec, status, sidecars)
    addresses = status.get("podIPs") or [{}]
    return [
        meta.get("name", ""),
        f"{summary.ready}/{len(spec.get('containers') or ()) + len(sidecars)}",
        _status_text(meta, status, summary),
        summary.restarts.text(now),
        age.since(meta.get("creationTimestamp"), now),
        addresses[0].get("ip") or "<none>",
        spec.get("nodeName") or "<none>",
        status.get("nominatedNodeName") or "<none>",
        _readiness_text(spec, status),
    ]


def _summary(spec: Object, status: Object, sidecars: set[str]) -> _Summary:
    summary = _Summary(status.get("reason") or status.get("phase") or "")
    conditions = status.get("conditions") or []
    if any(c.get("type") == "PodScheduled" and c.get("reason") == "SchedulingGated" for c in conditions):
        summary.reason = "SchedulingGated"
    initializing = _add_init_containers(summary, spec, status, sidecars)
    if not initializing or _is_true(conditions, "Initialized"):
        # Once a pod is initialized, only sidecars among its init containers still restart.
        summary.restarts = summary.of_sidecars
        _add_containers(summary, status)
    return summary


def _is_true(conditions: list[Object], kind: str) -> bool:
    return any(c.get("type") == kind and c.get("status") == "True" for c in conditions)


def _add_init_containers(summary: _Summary, spec: Object, status: Object, sidecars: set[str]) -> bool:
    """Whether the pod still initializes; the first container that is not done says why."""
    for i, entry in enumerate(status.get("initContainerStatuses") or ()):
        sidecar = entry.get("name") in sidecars
        summary.restarts.count(entry)
        if sidecar:
            summary.of_sidecars.count(entry)
        state = entry.get("state") or {}
        ended, waiting = state.get("terminated"), (state.get("waiting") or {}).get("reason")
        if ended is not None and not ended.get("exitCode"):
            continue
        if sidecar and entry.get("started"):
            summary.ready += bool(entry.get("ready"))
            continue
        if ended is not None:
            summary.reason = f"Init:{_end_text(ended)}"
        elif waiting and waiting != "PodInitializing":
            summary.reason = f"Init:{waiting}"
        else:
            summary.reason = f"Init:{i}/{len(spec.get('initContainers') or ())}"
        return True
    return False


def _add_containers(summary: _Summary, status: Object) -> None:
    running, failure = False, ""
    for entry in reversed(status.get("containerStatuses") or ()):
        summary.restarts.count(entry)
        state = entry.get("state") or {}
        ended, waiting = state.get("terminated"), (state.get("waiting") or {}).get("reason")
        if waiting:
            summary.reason = waiting
        elif ended is not None:
            summary.reason = _end_text(ended)
            failure = summary.reason if ended.get("exitCode") else failure
        elif entry.get("ready") and state.get("running") is not None:
            running = True
            summary.ready += 1
    if summary.reason == "Completed":
        summary.reason = _completed_text(running, failure, status.get("conditions") or [])


def _completed_text(running: bool, failure: str, conditions: list[Object]) -> str:
    """One container is done; what about the others?"""
    if running and _is_true(conditions, "Ready"):
        return "Running"
    return failure or ("NotReady" if running else "Completed")


def _end_text(ended: Object) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode') or 0}"


def _status_text(meta: Object, status: Object, summary: _Summary) -> str:
    if meta.get("deletionTimestamp") is not None:
        if status.get("reason") == "NodeLost":
            return "Unknown"
        if status.get("phase") not in _ENDED:
            return "Terminating"
    return summary.reason


def _readiness_text(spec: Object, status: Object) -> str:
    gates = spec.get("readinessGates") or ()
    if not gates:
        return "<none>"
    conditions: dict[str, str] = {}
    for condition in status.get("conditions") or ():
        conditions.setdefault(condition.get("type") or "", condition.get("status") or "")
    met = sum(conditions.get(gate.get("conditionType")) == "True" for gate in gates)
    return f"{met}/{len(gates)}"


def over(pod: Object) -> list[Object]:
    """The condition of a row whose pod will not run again."""
    phase = pod["status"].get("phase", "")
    if phase not in _OVER:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _OVER[phase]}]
