"""Effective requests and limits while a resize is under way.

Until the node has shrunk a pod, the old amount is still taken; once the API has accepted a larger one, the new
amount is already promised. So between desired (spec), allocated and actual (status) the largest counts, except
that an Infeasible wish is ignored. Follows Kubernetes 1.36.3, which takes the largest per container and then adds
up (1.37 adds up each view first, so two containers swapping sizes count once there).

Plain init containers always count with their spec: they cannot be resized.
"""

from collections.abc import Callable
from typing import Final

from flexlet.api.pod import Container, ContainerStatus, Pod, ResourceList, ResourceRequirements
from flexlet.api.quantity import DECIMAL_SI, NANO, ZERO, Quantity
from flexlet.api.units import MIB
from flexlet.core.resources.amounts import add_to, largest
from flexlet.core.resources.effective import (
    add_overhead_to_limits,
    aggregate,
    has_pod_level_requests,
    override,
)
from flexlet.core.resources.names import CPU, MEMORY

RESIZE_PENDING: Final = "PodResizePending"
INFEASIBLE: Final = "Infeasible"
DEFERRED: Final = "Deferred"

_SCORED: Final[ResourceList] = {
    CPU: Quantity.of_milli(100),
    MEMORY: Quantity(200 * MIB * NANO, DECIMAL_SI),
}
"""What a container without requests is taken for when nodes are ranked."""

_NOTHING: Final = ResourceRequirements()


def scheduler_requests(pod: Pod) -> ResourceList:
    """What a bound pod takes from its node, for the scheduler and for a node admitting a resize of another pod."""
    return _requests(pod, pod_level_status=True)


def scoring_requests(pod: Pod) -> ResourceList:
    """`scheduler_requests` with 100m and 200Mi for containers that name none; ranks nodes, never decides fit."""
    assumed = _SCORED
    if has_pod_level_requests(pod):
        named = scheduler_requests(pod)
        assumed = {name: amount for name, amount in _SCORED.items() if name not in named}
    return _requests(pod, pod_level_status=True, assumed=assumed)


def quota_requests(pod: Pod) -> ResourceList:
    """What ResourceQuota charges: container status counts, pod-level status does not."""
    return _requests(pod, pod_level_status=False)


def scheduler_limits(pod: Pod) -> ResourceList:
    """Limits in force or promised; an Infeasible wish is ignored."""
    return _limits(pod, pod_level_status=True)


def quota_limits(pod: Pod) -> ResourceList:
    """The limits that ResourceQuota charges, by the same rule as `quota_requests`."""
    return _limits(pod, pod_level_status=False)


def resize_pending_reason(pod: Pod) -> str:
    """Why a resize waits (``Deferred``, ``Infeasible``), empty if none does."""
    for condition in pod.status.conditions:
        if condition.type == RESIZE_PENDING:
            return condition.reason
    return ""


def is_resize_infeasible(pod: Pod) -> bool:
    """Whether the node has said that the desired size can never fit."""
    return resize_pending_reason(pod) == INFEASIBLE


def _requests(pod: Pod, *, pod_level_status: bool, assumed: ResourceList | None = None) -> ResourceList:
    result = _aggregate(pod, _container_requests, _spec_requests, assumed or {})
    desired = (pod.spec.resources or _NOTHING).requests
    override(result, _pod_level_requests(pod, desired) if pod_level_status else desired)
    add_to(result, pod.spec.overhead)
    return result


def _limits(pod: Pod, *, pod_level_status: bool) -> ResourceList:
    result = _aggregate(pod, _container_limits, _spec_limits, {})
    desired = (pod.spec.resources or _NOTHING).limits
    override(result, _pod_level_limits(pod, desired) if pod_level_status else desired)
    add_overhead_to_limits(result, pod.spec.overhead)
    return result


def _aggregate(
    pod: Pod,
    resized: Callable[[Container, ContainerStatus | None, bool], ResourceList],
    desired: Callable[[Container], ResourceList],
    assumed: ResourceList,
) -> ResourceList:
    status = pod.status
    statuses = {entry.name: entry for entry in (*status.container_statuses, *status.init_container_statuses)}
    infeasible = is_resize_infeasible(pod)
    regular = [resized(c, statuses.get(c.name), infeasible) for c in pod.spec.containers]
    init = [
        (True, resized(c, statuses.get(c.name), infeasible)) if c.is_sidecar else (False, desired(c))
        for c in pod.spec.init_containers
    ]
    if assumed:
        regular = [{**assumed, **amounts} for amounts in regular]
        init = [(is_sidecar, {**assumed, **amounts}) for is_sidecar, amounts in init]
    return aggregate(regular, init)


def _spec_requests(container: Container) -> ResourceList:
    return container.resources.requests


def _spec_limits(container: Container) -> ResourceList:
    return container.resources.limits


def _container_requests(container: Container, status: ContainerStatus | None, infeasible: bool) -> ResourceList:
    if status is None or status.resources is None:
        return container.resources.requests
    reported = (status.resources.requests, status.allocated_resources)
    return largest(reported if infeasible else (container.resources.requests, *reported))


def _container_limits(container: Container, status: ContainerStatus | None, infeasible: bool) -> ResourceList:
    if status is None or status.resources is None:
        return container.resources.limits
    if infeasible:
        return status.resources.limits
    return largest((container.resources.limits, status.resources.limits))


def _pod_level_requests(pod: Pod, desired: ResourceList) -> ResourceList:
    """Only names of the spec count, even one that the status does not mention (it becomes zero)."""
    actual = pod.status.resources
    if actual is None:
        return desired
    reported = (actual.requests, pod.status.allocated_resources)
    taken = largest(reported if is_resize_infeasible(pod) else (desired, *reported))
    return {name: taken.get(name, ZERO) for name in desired}


def _pod_level_limits(pod: Pod, desired: ResourceList) -> ResourceList:
    """As for requests, but a status without any limits leaves the spec in force."""
    actual = pod.status.resources
    if actual is None or not actual.limits:
        return desired
    taken = actual.limits if is_resize_infeasible(pod) else largest((desired, actual.limits))
    return {name: taken.get(name, ZERO) for name in desired}
