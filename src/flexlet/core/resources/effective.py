"""Effective requests and limits of a pod, from its spec alone.

Regular containers and sidecars run together, so they add up. Init containers run one after the other, each beside
the sidecars declared before it; the pod needs the largest of these moments. Pod-level values replace the total of
the names they mention, and the overhead of the runtime class comes on top.

Follows ``PodRequests`` and ``PodLimits`` of Kubernetes 1.36.3. Must stay true: the result is never below what any
single container asks for, unless the pod level says otherwise.
"""

from collections.abc import Iterable, Iterator, Sequence

from flexlet.api.pod import Pod, ResourceList
from flexlet.core.resources.amounts import add_to, raise_to
from flexlet.core.resources.names import is_pod_level

InitAmounts = Sequence[tuple[bool, ResourceList]]
"""Per init container, in order: whether it is a sidecar, and its requests or limits."""


def pod_requests(pod: Pod, *, pod_level: bool = True, overhead: bool = True) -> ResourceList:
    """What the scheduler and the node reserve for the pod.

    `pod_level=False` is a cluster without pod-level resources; `overhead=False` leaves the sandbox out.
    """
    return requests_with(aggregate_requests(pod), pod, pod_level=pod_level, overhead=overhead)


def requests_with(
    aggregated: ResourceList, pod: Pod, *, pod_level: bool = True, overhead: bool = True
) -> ResourceList:
    """`pod_requests` for callers that have `aggregate_requests` at hand; it stays as it is."""
    result = dict(aggregated)
    if pod_level and pod.spec.resources is not None:
        override(result, pod.spec.resources.requests)
    if overhead:
        add_to(result, pod.spec.overhead)
    return result


def pod_limits(pod: Pod, *, pod_level: bool = True, overhead: bool = True) -> ResourceList:
    """What the pod may use at most; a name that is absent is unlimited."""
    result = aggregate_limits(pod)
    if pod_level and pod.spec.resources is not None:
        override(result, pod.spec.resources.limits)
    if overhead:
        add_overhead_to_limits(result, pod.spec.overhead)
    return result


def aggregate_requests(pod: Pod) -> ResourceList:
    """The requests of all containers together, without pod level and overhead."""
    return aggregate(
        [c.resources.requests for c in pod.spec.containers],
        [(c.is_sidecar, c.resources.requests) for c in pod.spec.init_containers],
    )


def aggregate_limits(pod: Pod) -> ResourceList:
    """The limits of all containers together, without pod level and overhead."""
    return aggregate(
        [c.resources.limits for c in pod.spec.containers],
        [(c.is_sidecar, c.resources.limits) for c in pod.spec.init_containers],
    )


def aggregate(regular: Iterable[ResourceList], init: InitAmounts) -> ResourceList:
    """The largest need of any moment in the pod's life."""
    result: ResourceList = {}
    for amounts in regular:
        add_to(result, amounts)
    for is_sidecar, amounts in init:
        if is_sidecar:
            add_to(result, amounts)
    if init:
        for moment in init_moments(init):
            raise_to(result, moment)
    return result


def init_moments(init: InitAmounts) -> Iterator[ResourceList]:
    """What is in use while each init container starts: itself and the sidecars declared before it.

    A sidecar's moment is the running sum of sidecars; the same dict is yielded again for the next one.
    """
    running: ResourceList = {}
    for is_sidecar, amounts in init:
        if is_sidecar:
            add_to(running, amounts)
            yield running
        else:
            moment = dict(amounts)
            add_to(moment, running)
            yield moment


def override(total: ResourceList, pod_level: ResourceList) -> None:
    """Let pod-level values replace the totals of the same name, in place."""
    for name, amount in pod_level.items():
        if is_pod_level(name):
            total[name] = amount


def add_overhead_to_limits(limits: ResourceList, overhead: ResourceList) -> None:
    """Add overhead to limits that exist and are not zero: an unlimited resource stays unlimited."""
    for name, amount in overhead.items():
        held = limits.get(name)
        if held:
            limits[name] = held + amount


def has_pod_level_requests(pod: Pod) -> bool:
    """Whether ``spec.resources.requests`` names a resource that counts at pod level."""
    resources = pod.spec.resources
    return resources is not None and any(map(is_pod_level, resources.requests))


def has_pod_level_resources(pod: Pod) -> bool:
    """Whether ``spec.resources`` names any resource that counts at pod level."""
    resources = pod.spec.resources
    return resources is not None and any(map(is_pod_level, (*resources.requests, *resources.limits)))
