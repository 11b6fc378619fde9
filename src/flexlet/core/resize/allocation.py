"""The resources a node has granted to a pod: a copy of the resizable part of its spec.

A whole resize (all containers, requests and limits, pod level) is allocated at once or not at all. The same shape
records what was last handed to the runtime and the kernel (actuated). Two gates narrow it: without
InPlacePodLevelResourcesVerticalScaling the pod level is neither recorded nor compared, without
InPlacePodVerticalScalingInitContainers the same holds for init containers that are no sidecars.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from flexlet.api.pod import Container, ContainerStatus, Pod, ResourceRequirements
from flexlet.core.gates import Gates

IN_PLACE: Final = "InPlacePodVerticalScaling"
POD_LEVEL: Final = "InPlacePodLevelResourcesVerticalScaling"
INIT_CONTAINERS: Final = "InPlacePodVerticalScalingInitContainers"
DEFAULT_GATES: Final = Gates()


class Allocation(msgspec.Struct, frozen=True):
    """Resources by container name (init containers included) and for the pod as a whole."""

    containers: dict[str, ResourceRequirements]
    pod: ResourceRequirements | None = None


NOTHING: Final = Allocation({})


def resizable(pod: Pod, gates: Gates = DEFAULT_GATES) -> Iterator[Container]:
    """The containers that can change size, in the order they start."""
    for container in pod.spec.init_containers:
        if container.is_sidecar or gates[INIT_CONTAINERS]:
            yield container
    yield from pod.spec.containers


def of_spec(pod: Pod, gates: Gates = DEFAULT_GATES) -> Allocation:
    """What granting everything the spec asks for would be."""
    containers = {container.name: container.resources for container in resizable(pod, gates)}
    return Allocation(containers, pod.spec.resources if gates[POD_LEVEL] else None)


def of_status(pod: Pod) -> Allocation | None:
    """What the node last reported; None if it never reported this pod."""
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    if not statuses:
        return None
    reported = {status.name: _reported(status) for status in statuses}
    spec = of_spec(pod)
    containers = {name: reported.get(name, resources) for name, resources in spec.containers.items()}
    return Allocation(containers, _pod_level(pod))


def applied(pod: Pod, allocation: Allocation, gates: Gates = DEFAULT_GATES) -> Pod:
    """The pod as the node runs it: its spec with the granted resources."""
    spec = msgspec.structs.replace(
        pod.spec,
        containers=_with(pod.spec.containers, allocation),
        init_containers=_with(pod.spec.init_containers, allocation),
        resources=allocation.pod if gates[POD_LEVEL] else pod.spec.resources,
    )
    return msgspec.structs.replace(pod, spec=spec)


def is_pending(pod: Pod, allocation: Allocation, gates: Gates = DEFAULT_GATES) -> bool:
    """Whether the pod asks for anything else than it was granted."""
    return applied(pod, allocation, gates).spec != pod.spec


def _with(containers: Iterable[Container], allocation: Allocation) -> tuple[Container, ...]:
    return tuple(
        msgspec.structs.replace(c, resources=allocation.containers.get(c.name, c.resources)) for c in containers
    )


def _reported(status: ContainerStatus) -> ResourceRequirements:
    limits = status.resources.limits if status.resources is not None else {}
    return ResourceRequirements(requests=status.allocated_resources, limits=limits)


def _pod_level(pod: Pod) -> ResourceRequirements | None:
    """Pod-level values exist only for pods that ask for some; status reports totals for every pod."""
    wanted, actual = pod.spec.resources, pod.status.resources
    if wanted is None or actual is None:
        return wanted
    return ResourceRequirements(
        requests={name: actual.requests.get(name, amount) for name, amount in wanted.requests.items()},
        limits={name: actual.limits.get(name, amount) for name, amount in wanted.limits.items()},
    )
