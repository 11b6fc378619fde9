"""What people are told about a resize, in the kubelet's words.

A message is a prefix and a JSON summary of all containers (pod-level values are not part of it) with the
generation it is about. The summary shows the desired resources for a refusal and the allocated ones otherwise,
which the caller decides by the pod it passes.
"""

from typing import Any, Final

from flexlet.api import gotext
from flexlet.api.pod import Container, Pod
from flexlet.core.actions import RecordEvent
from flexlet.core.resize.verdict import Deferred, Infeasible
from flexlet.core.resources.rounding import text_requirements

NORMAL: Final = "Normal"
WARNING: Final = "Warning"
STARTED: Final = "ResizeStarted"
COMPLETED: Final = "ResizeCompleted"
DEFERRED: Final = "ResizeDeferred"
INFEASIBLE: Final = "ResizeInfeasible"
ERROR: Final = "ResizeError"
PREEMPTING: Final = "Preempting"
KILLING: Final = "Killing"
FEATURES_MISSING: Final = "FailedNodeDeclaredFeaturesCheck"
_COMPONENT: Final = "kubelet"


def started(pod: Pod, generation: int | None = None) -> RecordEvent:
    """The node has granted the resize; `generation` is that of the resize, if not of the pod."""
    of = pod.metadata.generation if generation is None else generation
    return about(pod, NORMAL, STARTED, _summary("Pod resize started", pod, of))


def completed(pod: Pod, generation: int) -> RecordEvent:
    """Everything that was allocated is actuated; `generation` is that of the resize, not of the pod."""
    return about(pod, NORMAL, COMPLETED, _summary("Pod resize completed", pod, generation))


def refused(pod: Pod, refusal: Deferred | Infeasible) -> RecordEvent:
    """The resize waits, or can never be done."""
    generation = pod.metadata.generation
    if isinstance(refusal, Infeasible):
        text = _summary("Pod resize Infeasible", pod, generation, refusal.message)
        return about(pod, WARNING, INFEASIBLE, text)
    text = _summary(f"Pod resize {refusal.detail}", pod, generation, refusal.message)
    return about(pod, WARNING, DEFERRED, text)


def failed(pod: Pod, generation: int, error: str) -> RecordEvent:
    """An attempt to actuate failed, and will be made again."""
    return about(pod, WARNING, ERROR, _summary("Pod resize error", pod, generation, error))


def restarting(pod: Pod, container: str, *, init: bool = False) -> RecordEvent:
    """A container is stopped because its resizePolicy asks for it."""
    place = f"spec.{'initContainers' if init else 'containers'}{{{container}}}"
    return about(pod, NORMAL, KILLING, f"Container {container} resize requires restart", fieldPath=place)


def preempted(pod: Pod) -> RecordEvent:
    """The pod must go so that a critical one can grow."""
    return about(pod, WARNING, PREEMPTING, "Preempted in order to admit critical pod")


def features_missing(pod: Pod, names: tuple[str, ...]) -> RecordEvent:
    """The new spec needs features that this node does not declare."""
    text = f"Pod requires node features that are not available: {', '.join(names)}"
    return about(pod, WARNING, FEATURES_MISSING, text)


def about(pod: Pod, kind: str, reason: str, message: str, **more: str) -> RecordEvent:
    """An event of the node about a pod; `more` names a part of it (fieldPath)."""
    meta = pod.metadata
    about = {"kind": "Pod", "apiVersion": "v1", "namespace": meta.namespace, "name": meta.name, "uid": meta.uid}
    return RecordEvent(about=about | more, type=kind, reason=reason, message=message, component=_COMPONENT)


def _summary(prefix: str, pod: Pod, generation: int, error: str = "") -> str:
    detail: dict[str, Any] = {
        "initContainers": [_named(c) for c in pod.spec.init_containers],
        "containers": [_named(c) for c in pod.spec.containers],
        "generation": generation,
        "error": error,
    }
    kept = {key: value for key, value in detail.items() if value or key == "generation"}
    return f"{prefix}: {gotext.json_text(kept)}"


def _named(container: Container) -> dict[str, Any]:
    return {"name": container.name, "resources": text_requirements(container.resources)}
