"""The balloon pod, alone or as the template of a DaemonSet."""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from flexlet.api import decode
from flexlet.core.nodesize import names, shapes, sizes
from flexlet.core.nodesize.settings import Settings
from flexlet.core.nodesize.sights import NodeSight
from flexlet.core.nodesize.sizes import Amounts

Object = dict[str, Any]

_LONGEST: Final = 63
_LABELS: Final = {
    names.LABEL: "true",
    "app.kubernetes.io/name": "flexlet-balloon",
    "app.kubernetes.io/managed-by": "flexlet",
}
_NOTES: Final = {
    "cluster-autoscaler.kubernetes.io/daemonset-pod": "true",
    "cluster-autoscaler.kubernetes.io/safe-to-evict": "true",
}


def name_of(node: str) -> str:
    """The name of a node's balloon; long ones end in a hash."""
    name = f"flexlet-balloon-{node}"
    if len(name) <= _LONGEST:
        return name
    digest = hashlib.sha256(node.encode()).hexdigest()[:10]
    return f"{name[: _LONGEST - 11].rstrip('-.')}-{digest}"


def size_text(amounts: Mapping[str, int]) -> str:
    """A size as annotations say it."""
    return decode.to_json(sizes.listed(amounts)).decode()


def pod(
    node: NodeSight, settings: Settings, shape: str, priority_class: str, amounts: Amounts, wanted: Amounts
) -> Object:
    """A balloon for one node; it goes away with it."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": name_of(node.name),
            "namespace": settings.namespace,
            "labels": _LABELS,
            "annotations": {
                names.DESIRED: size_text(wanted),
                names.OWNER: settings.owner,
                **_NOTES,
            },
            "ownerReferences": [owner],
        },
        "spec": {"nodeName": node.name, **_spec(settings, shape, priority_class, amounts)},
    }


def daemonset(settings: Settings, shape: str, priority_class: str) -> Object:
    """Balloons just large enough to start on all nodes that carry the label and want this shape."""
    return {
        "kind": "DaemonSet",
        "apiVersion": "apps/v1",
        "metadata": {"name": daemonset_name(shape), "namespace": settings.namespace, "labels": _LABELS},
        "spec": {
            "selector": {"matchLabels": {names.LABEL: "true", names.SHAPE_LABEL: shape}},
            # A changed template must not recreate balloons: they would all come back small.
            "updateStrategy": {"type": "OnDelete"},
            "template": {
                "metadata": {
                    "labels": {**_LABELS, names.SHAPE_LABEL: shape},
                    "annotations": {names.OWNER: settings.owner, **_NOTES},
                },
                "spec": {
                    "nodeSelector": {names.LABEL: "enabled", names.SHAPE_LABEL: shape},
                    **_spec(settings, shape, priority_class, sizes.START),
                },
            },
        },
    }


def daemonset_name(shape: str) -> str:
    """One DaemonSet per shape."""
    return f"flexlet-balloon-{shape.lower()}"


def _spec(settings: Settings, shape: str, priority_class: str, amounts: Amounts) -> Object:
    return {
        "priorityClassName": priority_class,
        "hostNetwork": True,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 0,
        "tolerations": [{"operator": "Exists"}],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65535,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": names.CONTAINER,
                "image": settings.image,
                "imagePullPolicy": "IfNotPresent",
                "resources": shapes.resources(shape, amounts),
                "resizePolicy": [
                    {"resourceName": resource, "restartPolicy": "NotRequired"} for resource in sizes.RESOURCES
                ],
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
            }
        ],
    }


def resize_patch(shape: str, amounts: Amounts, resource_version: str, uid: str) -> Object:
    """The body of a PATCH of ``pods/NAME/resize``; refused if the pod has changed since it was seen."""
    container = {"name": names.CONTAINER, "resources": shapes.resources(shape, amounts)}
    metadata = {"resourceVersion": resource_version, "uid": uid}
    return {"metadata": metadata, "spec": {"containers": [container]}}
