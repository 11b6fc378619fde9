"""Defaulting of a pod's resources, as the API server does when it reads a Pod.

Three steps, in this order: a container's missing requests come from its limits; pod-level huge page limits and
requests come from the containers or from pod-level limits (KEP-2837); every amount is rounded up to thousandths.
Rounding is last upstream too, so a pod-level total is the rounded sum and not the sum of rounded parts. Follows
Kubernetes 1.36.3 (1.37 defers the pod-level step until after admission).

One rule, two faces: `default_pod` for typed pods here, `default_pod_dict` in `defaultdicts` for the JSON dicts of
the API server. Pod templates are never defaulted this way. Must stay true: defaulting twice changes nothing.
"""

from collections.abc import Sequence
from typing import TypeVar

from msgspec.structs import replace

from flexlet.api.pod import (
    Container,
    ContainerStatus,
    Pod,
    PodSpec,
    PodStatus,
    ResourceList,
    ResourceRequirements,
)
from flexlet.api.quantity import MILLI
from flexlet.core.resources.effective import aggregate
from flexlet.core.resources.names import COMPUTE, is_hugepages, is_pod_level

Requirements = TypeVar("Requirements", ResourceRequirements, ResourceRequirements | None)


def default_pod(pod: Pod) -> Pod:
    """The pod as the API server would store it, as far as resources go."""
    return replace(pod, spec=default_spec(pod.spec), status=_round_status(pod.status))


def default_spec(spec: PodSpec) -> PodSpec:
    """The spec with requests filled in from limits, pod level included, rounded."""
    containers = tuple(map(_request_limits, spec.containers))
    init_containers = tuple(map(_request_limits, spec.init_containers))
    pod_level = _default_pod_level(spec.resources, containers, init_containers)
    return replace(
        spec,
        containers=tuple(map(_round_container, containers)),
        init_containers=tuple(map(_round_container, init_containers)),
        resources=_round_requirements(pod_level),
        overhead=rounded(spec.overhead),
    )


def rounded(amounts: ResourceList) -> ResourceList:
    """Every amount rounded up to thousandths; the same dict if there is nothing to round."""
    for amount in amounts.values():
        if amount.nano % MILLI:
            return {name: amount.rounded_up_to_milli() for name, amount in amounts.items()}
    return amounts


def _request_limits(container: Container) -> Container:
    """A limit without a request is requested in full."""
    resources = container.resources
    if resources.limits.keys() <= resources.requests.keys():
        return container
    requests = {**resources.limits, **resources.requests}
    return replace(container, resources=ResourceRequirements(requests=requests, limits=resources.limits))


def _default_pod_level(
    resources: ResourceRequirements | None, containers: Sequence[Container], init_containers: Sequence[Container]
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
    resources: ResourceRequirements, containers: Sequence[Container], init_containers: Sequence[Container]
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
    requests: ResourceList,
    limits: ResourceList,
    containers: Sequence[Container],
    init_containers: Sequence[Container],
) -> ResourceList:
    """First what the containers ask for, then the pod-level limit."""
    asked = aggregate(
        [c.resources.requests for c in containers], [(c.is_sidecar, c.resources.requests) for c in init_containers]
    )
    from_containers = {name: asked[name] for name in COMPUTE if name in asked}
    from_limits = {name: amount for name, amount in limits.items() if is_pod_level(name)}
    return {**from_limits, **from_containers, **requests}


def _round_container(container: Container) -> Container:
    resources = _round_requirements(container.resources)
    return container if resources is container.resources else replace(container, resources=resources)


def _round_status(status: PodStatus) -> PodStatus:
    return replace(
        status,
        container_statuses=tuple(map(_round_container_status, status.container_statuses)),
        init_container_statuses=tuple(map(_round_container_status, status.init_container_statuses)),
        allocated_resources=rounded(status.allocated_resources),
        resources=_round_requirements(status.resources),
    )


def _round_container_status(status: ContainerStatus) -> ContainerStatus:
    allocated = rounded(status.allocated_resources)
    resources = _round_requirements(status.resources)
    if allocated is status.allocated_resources and resources is status.resources:
        return status
    return replace(status, allocated_resources=allocated, resources=resources)


def _round_requirements(resources: Requirements) -> Requirements:
    if resources is None:
        return None
    requests, limits = rounded(resources.requests), rounded(resources.limits)
    if requests is resources.requests and limits is resources.limits:
        return resources
    return ResourceRequirements(requests=requests, limits=limits)
