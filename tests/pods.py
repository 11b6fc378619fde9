"""Pods in the notation of tables: ``pod(container("a", "100m,128Mi", "500m,512Mi"), level=("1,1Gi", ""))``.

Amounts are written ``cpu,memory``; either may be empty, and further ones carry their name (``hugepages-2Mi=4Mi``).
"""

from flexlet.api.meta import Condition
from flexlet.api.pod import (
    Container,
    ContainerStatus,
    Pod,
    PodSpec,
    PodStatus,
    ResourceList,
    ResourceRequirements,
)
from flexlet.api.quantity import Quantity

Level = tuple[str, str]


def amounts(text: str) -> ResourceList:
    """``"100m,128Mi"`` as a resource list."""
    result: ResourceList = {}
    for position, part in enumerate(text.split(",")):
        name, _, value = part.rpartition("=")
        if value:
            result[name or ("cpu", "memory")[position]] = Quantity.parse(value)
    return result


def resources(requests: str = "", limits: str = "") -> ResourceRequirements:
    """Requests and limits."""
    return ResourceRequirements(requests=amounts(requests), limits=amounts(limits))


def container(name: str, requests: str = "", limits: str = "", *, sidecar: bool = False) -> Container:
    """A container; a sidecar is for `init`."""
    return Container(
        name=name, resources=resources(requests, limits), restart_policy="Always" if sidecar else None
    )


def pod(
    *containers: Container,
    init: tuple[Container, ...] = (),
    level: Level | None = None,
    overhead: str = "",
    status: PodStatus | None = None,
    priority: int | None = None,
    priority_class: str = "",
) -> Pod:
    """A pod of these containers; `level` is pod-level requests and limits."""
    spec = PodSpec(
        containers=containers,
        init_containers=init,
        resources=None if level is None else resources(*level),
        overhead=amounts(overhead),
        priority=priority,
        priority_class_name=priority_class,
    )
    return Pod(spec=spec, status=status or PodStatus())


def reported(name: str, allocated: str, actual: str | None, actual_limits: str = "") -> ContainerStatus:
    """What a node reports of a container; `actual` None leaves ``resources`` out."""
    return ContainerStatus(
        name=name,
        allocated_resources=amounts(allocated),
        resources=None if actual is None else resources(actual, actual_limits),
    )


def resize_pending(reason: str) -> Condition:
    """The condition of a resize that waits."""
    return Condition(type="PodResizePending", status="True", reason=reason)


def texts(amounts: ResourceList) -> dict[str, str]:
    """A resource list as readable text."""
    return {name: str(amount) for name, amount in amounts.items()}
