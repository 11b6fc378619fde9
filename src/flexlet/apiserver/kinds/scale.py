"""The Scale face of Deployments and ReplicaSets: object to Scale, and a Scale's wish back into the object."""

import copy
from typing import Final

from flexlet.api import names
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds import metadata, shape, workload
from flexlet.apiserver.kinds.amounts import check_count

TYPE_NAME: Final = "autoscaling.v1.Scale"
_IDENTITY: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def to_scale(obj: Object) -> Object:
    """The Scale of a workload."""
    identity = obj["metadata"]
    scale: Object = {
        "metadata": {key: identity[key] for key in _IDENTITY if key in identity},
        "spec": {"replicas": obj["spec"].get("replicas", 0)},
        "status": {
            "replicas": obj.get("status", {}).get("replicas", 0),
            "selector": str(workload.compiled(obj["spec"]) or ""),
        },
    }
    shape.settle(scale, TYPE_NAME)
    return {"kind": "Scale", "apiVersion": "autoscaling/v1", **scale}


def validate_scale(scale: Object) -> list[FieldError]:
    """What is wrong with a Scale that a client sent."""
    errors = metadata.validate(scale, names.dns1123_subdomain)
    return errors + check_count(scale.get("spec", {}).get("replicas"), "spec.replicas")


def scaled(obj: Object, scale: Object) -> Object:
    """A copy of the workload with the wanted replicas, and the version that the client has seen."""
    result = copy.deepcopy(obj)
    result["spec"]["replicas"] = scale.get("spec", {}).get("replicas", 0)
    version = scale["metadata"].get("resourceVersion")
    if version:
        result["metadata"]["resourceVersion"] = version
    else:
        result["metadata"].pop("resourceVersion", None)
    return result
