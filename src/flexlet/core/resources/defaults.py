"""Defaulting of a pod's resources, as the API server does when it reads a Pod.

Three steps, in this order: a container's missing requests come from its limits; pod-level huge page limits and
requests come from the containers or from pod-level limits (KEP-2837); every amount is rounded up to thousandths.
Rounding is last upstream too, so a pod-level total is the rounded sum and not the sum of rounded parts. Follows
Kubernetes 1.36.3 (1.37 defers the pod-level step until after admission).

One rule, two faces: `default_pod` for typed pods, `default_pod_dict` for the JSON dicts of the API server. Pod
templates are never defaulted this way. Must stay true: defaulting twice changes nothing.
"""

from msgspec.structs import replace

from flexlet.api import decode
from flexlet.api.pod import Container, Pod, PodSpec, ResourceList, ResourceRequirements
from flexlet.core.resources.effective import aggregate
from flexlet.core.resources.names import COMPUTE, is_hugepages, is_pod_level
from flexlet.core.resources.rounding import (
    Json,
    pod_lists,
    round_list,
    rounded,
    rounded_requirements,
    rounded_status,
    text_requirements,
)

Containers = tuple[Container, ...]


def default_pod(pod: Pod) -> Pod:
    """The pod as the API server would store it, as far as resources go."""
    return replace(pod, spec=default_spec(pod.spec), status=rounded_status(pod.status))


def default_pod_dict(pod: Json) -> None:
    """Complete and round the resources of a Pod body, in place; other fields keep their content.

    An amount that cannot be read raises InputError with its path.
    """
    spec = pod.get("spec") or {}
    typed = default_spec(decode.from_value({"spec": _resource_part(spec)}, Pod).spec)
    for key, containers in (("containers", typed.containers), ("initContainers", typed.init_containers)):
        for entry, container in zip(spec.get(key) or (), containers, strict=True):
            entry["resources"] = _merged(entry.get("resources"), container.resources)
    if typed.resources is not None:
        spec["resources"] = _merged(spec.get("resources"), typed.resources)
    for amounts, path in pod_lists(spec, pod.get("status") or {}):
        round_list(amounts, path)


def _resource_part(spec: Json) -> Json:
    """The spec without what defaulting does not look at: that may still be wrong, and others say so."""
    part = {key: spec[key] for key in ("resources", "overhead") if spec.get(key) is not None}
    for key in ("containers", "initContainers"):
        part[key] = [
            {name: entry[name] for name in ("resources", "restartPolicy") if entry.get(name) is not None}
            for entry in spec.get(key) or ()
        ]
    return part


def default_spec(spec: PodSpec) -> PodSpec:
    """The spec with requests filled in from limits, pod level included, rounded."""
    containers = tuple(map(_request_limits, spec.containers))
    init_containers = tuple(map(_request_limits, spec.init_containers))
    pod_level = _default_pod_level(spec.resources, containers, init_containers)
    return replace(
        spec,
        containers=tuple(map(_rounded_container, containers)),
        init_containers=tuple(map(_rounded_container, init_containers)),
        resources=rounded_requirements(pod_level),
        overhead=rounded(spec.overhead),
    )


def _request_limits(container: Container) -> Container:
    """A limit without a request is requested in full."""
    resources = container.resources
    if resources.limits.keys() <= resources.requests.keys():
        return container
    requests = {**resources.limits, **resources.requests}
    return replace(container, resources=ResourceRequirements(requests=requests, limits=resources.limits))


def _default_pod_level(
    resources: ResourceRequirements | None, containers: Containers, init_containers: Containers
) -> ResourceRequirements | None:
    """Pod-level lists are completed only where the client began one."""
    if resources is None or not (resources.requests or resources.limits):
        return resources
    limits = _default_hugepage_limits(resources, containers, init_containers)
    if not limits:
        return resources
    requests = _default_pod_level_requests(resources.requests, limits, containers, init_containers)
    return ResourceRequirements(requests=requests, limits=limits)


def _default_hugepage_limits(
    resources: ResourceRequirements, containers: Containers, init_containers: Containers
) -> ResourceList:
    """Huge pages cannot be overcommitted, so the pod's limit is what its containers may use together."""
    limited = aggregate(
        [c.resources.limits for c in containers], [(c.is_sidecar, c.resources.limits) for c in init_containers]
    )
    missing = {
        name: amount
        for name, amount in limited.items()
        if is_hugepages(name) and name not in resources.requests and name not in resources.limits
    }
    return {**resources.limits, **missing} if missing else resources.limits


def _default_pod_level_requests(
    requests: ResourceList, limits: ResourceList, containers: Containers, init_containers: Containers
) -> ResourceList:
    """First what the containers ask for, then the pod-level limit."""
    asked = aggregate(
        [c.resources.requests for c in containers], [(c.is_sidecar, c.resources.requests) for c in init_containers]
    )
    from_containers = {name: asked[name] for name in COMPUTE if name in asked}
    from_limits = {name: amount for name, amount in limits.items() if is_pod_level(name)}
    return {**from_limits, **from_containers, **requests}


def _rounded_container(container: Container) -> Container:
    resources = rounded_requirements(container.resources)
    return container if resources is container.resources else replace(container, resources=resources)


def _merged(entry: Json | None, resources: ResourceRequirements) -> Json:
    """`entry` with its lists replaced; what else it holds (claims) stays."""
    kept = {key: value for key, value in (entry or {}).items() if key not in ("limits", "requests")}
    return kept | text_requirements(resources)
