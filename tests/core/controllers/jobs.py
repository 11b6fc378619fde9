"""Jobs and their pods as servers show them, and what is asked of the API for them."""

from collections.abc import Iterable
from typing import Any

from tests.core.controllers.world import (
    Object,
    meta,
    pod,
    seen,
    stamp,
    tell,
)

from flexlet.core.actions import ApiAction, PatchObject, RecordEvent
from flexlet.core.controllers.job.decider import JobDecider
from flexlet.core.refs import JOBS, PODS

OWNER = ("Job", "work")
FINALIZER = "batch.kubernetes.io/job-tracking"
ABOUT = {"kind": "Job", "apiVersion": "batch/v1", "namespace": "default", "name": "work", "uid": "uid-work"}
LABELS = {"batch.kubernetes.io/controller-uid": "uid-work"}
TEMPLATE = {
    "metadata": {"labels": LABELS},
    "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x:1"}]},
}
STARTED: Object = {"startTime": stamp(-100), "ready": 0, "terminating": 0, "uncountedTerminatedPods": {}}


def job(status: Object | None = None, **spec: Any) -> Object:
    parts = {key: spec.pop(key) for key in ("deletionTimestamp", "generation") if key in spec}
    body = {"parallelism": 1, "completions": 1, "backoffLimit": 6, "template": TEMPLATE} | spec
    body["selector"] = {"matchLabels": LABELS}
    return {"metadata": meta("work", **parts), "spec": body, "status": STARTED if status is None else status}


def worker(name: str, *, tracked: bool = True, **parts: Any) -> Object:
    if tracked:
        parts["finalizers"] = [FINALIZER]
    parts.setdefault("labels", LABELS)
    return pod(name, owner=OWNER, **parts)


def done(name: str, **parts: Any) -> Object:
    return worker(name, phase="Succeeded", ready=False, **parts)


def failed(name: str, **parts: Any) -> Object:
    return worker(name, phase="Failed", ready=False, **parts)


def decider(body: Object, *pods: Object) -> JobDecider:
    made = JobDecider()
    tell(made, seen(JOBS, body), seen(PODS, *pods))
    return made


def condition(kind: str, status: str, reason: str, message: str, at: float = 0.0) -> Object:
    return {
        "type": kind,
        "status": status,
        "lastProbeTime": stamp(at),
        "lastTransitionTime": stamp(at),
        "reason": reason,
        "message": message,
    }


REACHED = ("CompletionsReached", "Reached expected number of succeeded pods")


def event(kind: str, reason: str, message: str) -> RecordEvent:
    return RecordEvent(about=ABOUT, type=kind, reason=reason, message=message, component="job-controller")


def status_of(actions: Iterable[ApiAction]) -> Object:
    """The status that is written."""
    [patch] = [one for one in actions if isinstance(one, PatchObject) and one.subresource == "status"]
    status: Object = patch.patch["status"]
    return status


def release(name: str) -> PatchObject:
    return PatchObject(
        ref=PODS,
        namespace="default",
        name=name,
        patch={"metadata": {"uid": f"uid-{name}", "$deleteFromPrimitiveList/finalizers": [FINALIZER]}},
        kind="strategic",
        on_behalf_of="uid-work",
    )
