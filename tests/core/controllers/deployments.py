"""Deployments and their ReplicaSets as servers show them."""

from typing import Any

import msgspec
from tests.core.controllers.world import (
    TEMPLATE,
    Object,
    meta,
    seen,
    stamp,
    tell,
)

from flexlet.core.actions import RecordEvent
from flexlet.core.controllers import templates
from flexlet.core.controllers.deployment.decider import DeploymentDecider
from flexlet.core.refs import DEPLOYMENTS, REPLICA_SETS

ABOUT = {"kind": "Deployment", "apiVersion": "apps/v1", "namespace": "default", "name": "web", "uid": "uid-web"}
PREFIX = "deployment.kubernetes.io/"
HASH = templates.hash_of(msgspec.json.encode(TEMPLATE), None)
NEXT: Object = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "x:2"}]}}


def deployment(replicas: int = 2, **parts: Any) -> Object:
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "web"}},
        "template": parts.pop("template", TEMPLATE),
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
    }
    spec |= parts.pop("spec", {})
    status = parts.pop("status", {})
    return {"metadata": meta("web", **parts), "spec": spec, "status": status}


def replica_set(
    name: str, replicas: int, *, up: int | None = None, template: Object = TEMPLATE, **parts: Any
) -> Object:
    """A ReplicaSet of the deployment; `up` of its pods are available, all unless told."""
    annotations = {f"{PREFIX}desired-replicas": "2", f"{PREFIX}max-replicas": "3", f"{PREFIX}revision": "1"}
    annotations |= parts.pop("annotations", {})
    labels = {"app": "web", "pod-template-hash": name}
    described = {**template["metadata"], "labels": labels}
    count = replicas if up is None else up
    status = {"replicas": replicas, "readyReplicas": count, "availableReplicas": count}
    status |= {"terminatingReplicas": 0, "observedGeneration": 1} | parts.pop("status", {})
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {**template, "metadata": described},
    }
    parts.setdefault("owner", ("Deployment", "web"))
    found = meta(name, labels=labels, annotations=annotations, **parts)
    return {"metadata": found, "spec": spec | parts.get("spec", {}), "status": status}


def condition(kind: str, status: str, reason: str, message: str, at: float = 0.0) -> Object:
    return {
        "type": kind,
        "status": status,
        "lastUpdateTime": stamp(at),
        "lastTransitionTime": stamp(at),
        "reason": reason,
        "message": message,
    }


AVAILABLE = condition("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
UNAVAILABLE = condition(
    "Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."
)


def progressing(status: str, reason: str, message: str, at: float = 0.0) -> Object:
    return condition("Progressing", status, reason, message, at)


def complete(name: str, replicas: int = 2) -> Object:
    """The status of a rollout that is done."""
    counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    done = progressing("True", "NewReplicaSetAvailable", f'ReplicaSet "{name}" has successfully progressed.', -60)
    return {
        **dict.fromkeys(counts, replicas),
        "observedGeneration": 1,
        "terminatingReplicas": 0,
        "conditions": [AVAILABLE, done],
    }


def event(message: str, reason: str = "ScalingReplicaSet", kind: str = "Normal") -> RecordEvent:
    return RecordEvent(about=ABOUT, type=kind, reason=reason, message=message, component="deployment-controller")


def decider(*bodies: Object, sets: tuple[Object, ...] = ()) -> DeploymentDecider:
    made = DeploymentDecider()
    tell(made, seen(DEPLOYMENTS, *bodies), seen(REPLICA_SETS, *sets))
    return made
