"""What a hollow node reports of a pod, as the patch of its status subresource."""

from collections.abc import Iterable
from typing import Any, Final

from flexlet.api import age, decode
from flexlet.api.meta import Condition
from flexlet.api.pod import Container, Pod
from flexlet.core.resize.allocation import Allocation, applied
from flexlet.core.resources import effective

PENDING: Final = "PodResizePending"
IN_PROGRESS: Final = "PodResizeInProgress"
_RESIZE: Final = {PENDING, IN_PROGRESS}


def running(pod: Pod, allocation: Allocation, *, ip: str, now: float) -> dict[str, Any]:
    """The pod runs with these resources; resize conditions are cleared."""
    stamp = pod.status.start_time or age.format_seconds(now)
    state = {"running": {"startedAt": stamp}}
    done = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": stamp, "finishedAt": stamp}}
    conditions = _ready_conditions(pod, "True", "", now)
    return _status(pod, allocation, "Running", conditions, stamp, state, done) | {
        "podIP": ip,
        "podIPs": [{"ip": ip}],
        "hostIP": "127.0.0.1",
        "hostIPs": [{"ip": "127.0.0.1"}],
    }


def succeeded(pod: Pod, allocation: Allocation, now: float) -> dict[str, Any]:
    """Every container has exited well."""
    begin, end = pod.status.start_time or age.format_seconds(now), age.format_seconds(now)
    state = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": begin, "finishedAt": end}}
    conditions = _ready_conditions(pod, "False", "PodCompleted", now)
    return _status(pod, allocation, "Succeeded", conditions, begin, state, state)


def rejected(pod: Pod, reason: str, message: str, now: float) -> dict[str, Any]:
    """The node does not take the pod."""
    return {
        "phase": "Failed",
        "reason": reason,
        "message": f"Pod was rejected: {message}",
        "startTime": age.format_seconds(now),
        "observedGeneration": pod.metadata.generation,
    }


def pending_resize(pod: Pod, reason: str, message: str, now: float) -> dict[str, Any]:
    """The wish waits (Deferred) or is refused (Infeasible); everything else stays as reported."""
    before = next((c for c in pod.status.conditions if c.type == PENDING), None)
    same = before is not None and before.reason == reason
    condition = {
        "type": PENDING,
        "status": "True",
        "reason": reason,
        "message": message,
        "observedGeneration": pod.metadata.generation,
        "lastProbeTime": age.format_seconds(now),
        "lastTransitionTime": before.last_transition_time if same and before else age.format_seconds(now),
    }
    kept = [decode.to_value(c) for c in pod.status.conditions if c.type not in _RESIZE]
    return {"conditions": [*kept, condition], "observedGeneration": pod.metadata.generation}


def is_doubted(pod: Pod) -> bool:
    """Whether somebody else called a pod unready that runs."""
    found = any(c.type == "Ready" and c.status == "False" for c in pod.status.conditions)
    return found and pod.status.phase == "Running"


def ready(pod: Pod, now: float) -> dict[str, Any]:
    """It is ready; everything else stays as reported."""
    return {"conditions": [_condition(pod, "Ready", "True", "", None, now)]}


def _status(
    pod: Pod,
    allocation: Allocation,
    phase: str,
    conditions: list[dict[str, Any]],
    started: str,
    state: dict[str, Any],
    init_state: dict[str, Any],
) -> dict[str, Any]:
    granted = applied(pod, allocation)
    sidecars = [c for c in granted.spec.init_containers if c.is_sidecar]
    init = [
        _container(c, state if c in sidecars else init_state, ready=phase == "Running" or c not in sidecars)
        for c in granted.spec.init_containers
    ]
    result: dict[str, Any] = {
        "phase": phase,
        "conditions": conditions,
        "startTime": started,
        "observedGeneration": pod.metadata.generation,
        "containerStatuses": [_container(c, state, ready=phase == "Running") for c in granted.spec.containers],
        "allocatedResources": decode.to_value(effective.pod_requests(granted)),
        "resources": _requirements(effective.pod_requests(granted), effective.pod_limits(granted)),
    }
    if init:
        result["initContainerStatuses"] = init
    return result


def _container(container: Container, state: dict[str, Any], *, ready: bool) -> dict[str, Any]:
    resources = container.resources
    result = {
        "name": container.name,
        "image": container.image,
        "imageID": f"hollow://{container.image}",
        "containerID": f"hollow://{container.name}",
        "ready": ready,
        "started": "running" in state,
        "restartCount": 0,
        "state": state,
        "lastState": {},
        "resources": _requirements(resources.requests, resources.limits),
    }
    if resources.requests:
        result["allocatedResources"] = decode.to_value(resources.requests)
    return result


def _requirements(requests: Any, limits: Any) -> dict[str, Any]:
    """Empty maps are left out: clients tell them from absent ones."""
    both = {"limits": decode.to_value(limits), "requests": decode.to_value(requests)}
    return {name: amounts for name, amounts in both.items() if amounts}


def _ready_conditions(pod: Pod, ready: str, reason: str, now: float) -> list[dict[str, Any]]:
    before = {c.type: c for c in pod.status.conditions}
    wanted = {
        "PodReadyToStartContainers": ready,
        "Initialized": "True",
        "Ready": ready,
        "ContainersReady": ready,
        "PodScheduled": "True",
    }
    others = [c for c in pod.status.conditions if c.type not in wanted and c.type not in _RESIZE]
    gates = {"Ready", "ContainersReady", "PodReadyToStartContainers"}
    made = [
        _condition(pod, kind, status, reason if kind in gates else "", before.get(kind), now)
        for kind, status in wanted.items()
    ]
    return [*made, *_kept(others)]


def _kept(conditions: Iterable[Condition]) -> list[dict[str, Any]]:
    return [decode.to_value(condition) for condition in conditions]


def _condition(
    pod: Pod, kind: str, status: str, reason: str, before: Condition | None, now: float
) -> dict[str, Any]:
    same = before is not None and before.status == status and before.last_transition_time
    condition = {
        "type": kind,
        "status": status,
        "observedGeneration": pod.metadata.generation,
        "lastProbeTime": None,
        "lastTransitionTime": before.last_transition_time if same and before else age.format_seconds(now),
    }
    return condition | ({"reason": reason} if reason else {})
