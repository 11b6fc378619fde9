"""Status patches that several controllers send to pods: why a pod is going, and that it is no longer ready."""

from typing import Any

from flexlet.api import age
from flexlet.core.actions import PatchObject, RecordEvent
from flexlet.core.refs import PODS
from flexlet.core.views.pod import PodView


def condition(kind: str, status: str, now: float, **parts: str) -> dict[str, Any]:
    """A condition as a strategic patch merges it into a pod's."""
    return {"type": kind, "status": status, "lastTransitionTime": age.format_seconds(now), **parts}


def disruption(reason: str, message: str, now: float) -> dict[str, Any]:
    """Why a pod is about to be deleted."""
    return condition("DisruptionTarget", "True", now, reason=reason, message=message)


def status_patch(pod: PodView, status: dict[str, Any], event: RecordEvent | None = None) -> PatchObject:
    """Merge something into a pod's status."""
    return PatchObject(
        ref=PODS,
        namespace=pod.namespace,
        name=pod.name,
        patch={"metadata": {"uid": pod.uid}, "status": status},
        kind="strategic",
        subresource="status",
        on_behalf_of=pod.uid,
        event=event,
    )


def event(pod: PodView, kind: str, reason: str, message: str, component: str) -> RecordEvent:
    """An event about a pod."""
    about = {"kind": "Pod", "apiVersion": "v1", "namespace": pod.namespace, "name": pod.name, "uid": pod.uid}
    return RecordEvent(about=about, type=kind, reason=reason, message=message, component=component)
