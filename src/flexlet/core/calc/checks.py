"""What makes the figures of a pod meaningless: no containers, negative amounts, requests above limits.

Not the API server's validation, which knows far more; just enough that nobody trusts a number computed from
nonsense. The first finding is raised with its path, in words a person can act on.
"""

from flexlet.api.pod import ContainerStatus, Pod, PodStatus, ResourceList, ResourceRequirements
from flexlet.errors import InputError


def check(pod: Pod) -> None:
    """Raise InputError for the first thing that cannot be computed with."""
    spec, status = pod.spec, pod.status
    if not spec.containers:
        raise InputError("a pod needs at least one container", "$.spec.containers")
    for i, container in enumerate(spec.containers):
        _check_desired(container.resources, "$.spec.containers", i)
    for i, container in enumerate(spec.init_containers):
        _check_desired(container.resources, "$.spec.initContainers", i)
    if spec.resources is not None:
        _check_desired(spec.resources, "$.spec")
    _check_amounts(spec.overhead, "$.spec", None, "overhead")
    for i, entry in enumerate(status.container_statuses):
        _check_reported(entry, "$.status.containerStatuses", i)
    for i, entry in enumerate(status.init_container_statuses):
        _check_reported(entry, "$.status.initContainerStatuses", i)
    _check_reported(status, "$.status")


def _check_desired(resources: ResourceRequirements, owner: str, index: int | None = None) -> None:
    _check_amounts(resources.requests, owner, index, "resources.requests")
    _check_amounts(resources.limits, owner, index, "resources.limits")
    for name, limit in resources.limits.items():
        request = resources.requests.get(name)
        if request is not None and request.nano > limit.nano:
            path = _path(owner, index, "resources.requests", name)
            raise InputError(f"request {request} is above limit {limit}", path)


def _check_reported(entry: ContainerStatus | PodStatus, owner: str, index: int | None = None) -> None:
    _check_amounts(entry.allocated_resources, owner, index, "allocatedResources")
    if entry.resources is not None:
        _check_amounts(entry.resources.requests, owner, index, "resources.requests")
        _check_amounts(entry.resources.limits, owner, index, "resources.limits")


def _check_amounts(amounts: ResourceList, owner: str, index: int | None, key: str) -> None:
    for name, amount in amounts.items():
        if amount.nano < 0:
            raise InputError(f"{amount} is negative", _path(owner, index, key, name))


def _path(owner: str, index: int | None, key: str, name: str) -> str:
    return f"{owner if index is None else f'{owner}[{index}]'}.{key}.{name}"
