"""What people are told about a resize, and who is asked first."""

from typing import Any

import msgspec

from flexlet.api import decode
from flexlet.api.pod import Container, Pod
from flexlet.core.actions import RecordEvent
from flexlet.core.resize import queue
from flexlet.core.resize.admit import Deferred, Infeasible
from flexlet.core.resize.allocation import Allocation


def completed(pod: Pod) -> list[RecordEvent]:
    """A granted resize takes effect at once on a hollow node."""
    return [
        _event(pod, "Normal", "ResizeStarted", "Pod resize started"),
        _event(pod, "Normal", "ResizeCompleted", "Pod resize completed"),
    ]


def refused(pod: Pod, verdict: Deferred | Infeasible) -> list[RecordEvent]:
    """A wish that waits, or never can be met."""
    if isinstance(verdict, Deferred):
        return [_event(pod, "Warning", "ResizeDeferred", f"Pod resize {verdict.detail}", verdict.message)]
    return [_event(pod, "Warning", "ResizeInfeasible", "Pod resize Infeasible", verdict.message)]


def order(pod: Pod | None, allocation: Allocation) -> queue.Order:
    """The sort key of a waiting resize; a pod that no longer waits sorts last."""
    return queue.order(pod, allocation) if pod is not None else (True, 0, True, True, "")


def _event(pod: Pod, kind: str, reason: str, prefix: str, error: str = "") -> RecordEvent:
    meta = pod.metadata
    about = {"kind": "Pod", "apiVersion": "v1", "namespace": meta.namespace, "name": meta.name, "uid": meta.uid}
    detail: dict[str, Any] = {}
    if pod.spec.init_containers:
        detail["initContainers"] = [_named(c) for c in pod.spec.init_containers]
    detail |= {"containers": [_named(c) for c in pod.spec.containers], "generation": meta.generation}
    detail |= {"error": error} if error else {}
    message = f"{prefix}: {msgspec.json.encode(detail).decode()}"
    return RecordEvent(about=about, type=kind, reason=reason, message=message, component="kubelet")


def _named(container: Container) -> dict[str, Any]:
    return {"name": container.name, "resources": decode.to_value(container.resources)}
