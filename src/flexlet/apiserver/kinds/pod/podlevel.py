"""Resources of the pod as a whole (KEP-2837): names, amounts, and room for what the containers ask.

The containers' requests together fit into the pod's request; each container's limit fits into the pod's limit,
though their sum may not; huge pages, which cannot be overcommitted, fit together.
"""

from collections.abc import Iterable

from flexlet.api.fielderrors import forbidden, invalid
from flexlet.api.pod import ResourceList
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.resources import amounts, validate_pod_requirements
from flexlet.apiserver.kinds.pod.scope import Errors
from flexlet.core.resources.effective import aggregate
from flexlet.core.resources.names import is_hugepages


def validate_pod_level(spec: Object, path: str, claims: Iterable[str], errors: Errors) -> None:
    """``spec.resources``, which is set."""
    resources, field = spec["resources"], f"{path}.resources"
    if (spec.get("os") or {}).get("name") == "windows":
        errors.append(forbidden(field, "may not be set for a windows pod"))
        return
    if resources.get("claims") is not None:
        errors.append(forbidden(f"{field}.claims", "claims may not be set for Resources at pod-level"))
    validate_pod_requirements(resources, field, claims, errors)
    _validate_room(spec, amounts(resources.get("requests")), amounts(resources.get("limits")), field, errors)


def _validate_room(spec: Object, requests: ResourceList, limits: ResourceList, path: str, errors: Errors) -> None:
    for name, asked in _together(spec, "requests").items():
        if name in requests and asked > requests[name]:
            text = f"must be greater than or equal to aggregate container requests of {asked}"
            errors.append(invalid(f"{path}.requests[{name}]", requests[name], text))
    for name, limited in _together(spec, "limits").items():
        if is_hugepages(name) and name in limits and limited > limits[name]:
            text = f"must be greater than or equal to aggregate container limits of {limited}"
            errors.append(invalid(f"{path}.limits[{name}]", limits[name], text))
    for i, container in enumerate(spec.get("containers") or ()):
        for name, limit in amounts((container.get("resources") or {}).get("limits")).items():
            if name in limits and limit > limits[name]:
                field = f"{path}.containers[{i}][{name}].limits"
                errors.append(invalid(field, limit, f"must be less than or equal to pod limits of {limits[name]}"))


def _together(spec: Object, key: str) -> ResourceList:
    """What all containers ask for (or are limited to) in the pod's most demanding moment."""
    regular = [amounts((c.get("resources") or {}).get(key)) for c in spec.get("containers") or ()]
    init = [
        (c.get("restartPolicy") == "Always", amounts((c.get("resources") or {}).get(key)))
        for c in spec.get("initContainers") or ()
    ]
    return aggregate(regular, init)
