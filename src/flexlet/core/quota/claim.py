"""What one object asks of the quotas of its namespace.

A pod is charged with its effective requests and limits while it lives; a resize under way counts with the larger
of what it had and what it wants (`core.resources.statusaware`). Once it has finished, or is stuck terminating
beyond its grace period, only ``count/pods`` still counts it. Everything else counts by number.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from flexlet.api.pod import Container, Pod, ResourceList
from flexlet.api.quantity import NANO, ZERO, Quantity
from flexlet.core.quota.names import (
    COMPUTE,
    LIMITS_PREFIX,
    PODS,
    REQUESTS_PREFIX,
    SERVICES,
    count_names,
    is_extended,
)
from flexlet.core.quota.scopes import PodTraits
from flexlet.core.resources.effective import has_pod_level_resources, pod_limits, pod_requests
from flexlet.core.resources.names import is_hugepages
from flexlet.core.resources.qos import BEST_EFFORT, recorded_qos_class
from flexlet.core.resources.statusaware import quota_limits, quota_requests

ONE: Final = Quantity(NANO)

MUST_BE_STATED: Final = frozenset(
    {"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}
)
"""A quota on one of these demands that every container names it; upstream calls this a mistake it has to keep."""


class Counting(Struct, frozen=True, kw_only=True):
    """Which features take part in counting."""

    pod_level: bool = True
    in_place_resize: bool = True


class Claim(Struct, frozen=True, kw_only=True):
    """An object in the eyes of quotas."""

    resource: str
    usage: ResourceList
    traits: PodTraits | None = None
    stated: tuple[tuple[str, frozenset[str]], ...] = ()
    """Per container, the names of `MUST_BE_STATED` that it gives; empty where nothing is demanded."""


def pod_claim(pod: Pod, now: float, counting: Counting) -> Claim:
    """What a pod asks for at the time `now` (seconds since the epoch)."""
    if not counting.pod_level and pod.spec.resources is not None:
        pod = replace(pod, spec=replace(pod.spec, resources=None))
    return Claim(
        resource=PODS,
        usage=_pod_usage(pod, now, counting),
        traits=pod_traits(pod),
        stated=() if has_pod_level_resources(pod) else tuple(_stated(pod)),
    )


def count_claim(resource: str) -> Claim:
    """What any object asks for that is only counted."""
    return Claim(resource=resource, usage=dict.fromkeys(count_names(resource), ONE))


def service_claim(spec: Mapping[str, Any]) -> Claim:
    """What a Service asks for: itself, its node ports, its load balancer."""
    kind = spec.get("type")
    balanced = kind == "LoadBalancer"
    ports = spec.get("ports") or ()
    if balanced and spec.get("allocateLoadBalancerNodePorts") is False:
        ports = [port for port in ports if port.get("nodePort")]
    node_ports = len(ports) if balanced or kind == "NodePort" else 0
    usage = {
        "count/services": ONE,
        SERVICES: ONE,
        "services.loadbalancers": ONE if balanced else ZERO,
        "services.nodeports": Quantity(node_ports * NANO),
    }
    return Claim(resource=SERVICES, usage=usage)


def pod_traits(pod: Pod) -> PodTraits:
    """What scopes ask of this pod."""
    deadline = pod.spec.active_deadline_seconds
    return PodTraits(
        terminating=deadline is not None and deadline >= 0,
        best_effort=recorded_qos_class(pod) == BEST_EFFORT,
        priority_class=pod.spec.priority_class_name,
        cross_namespace_affinity=_crosses_namespaces(pod.spec.affinity or {}),
    )


def is_alive(pod: Pod, now: float) -> bool:
    """Whether the pod still holds compute resources."""
    if pod.status.phase in {"Failed", "Succeeded"}:
        return False
    grace = pod.metadata.deletion_grace_period_seconds
    if pod.metadata.deletion_timestamp is None or grace is None:
        return True
    return now <= datetime.fromisoformat(pod.metadata.deletion_timestamp).timestamp() + grace


def _pod_usage(pod: Pod, now: float, counting: Counting) -> ResourceList:
    usage: ResourceList = {"count/pods": ONE}
    if not is_alive(pod, now):
        return usage
    if counting.in_place_resize:
        requests, limits = quota_requests(pod), quota_limits(pod)
    else:
        requests, limits = pod_requests(pod), pod_limits(pod)
    usage[PODS] = ONE
    usage.update(_named(requests, limits))
    return usage


def _named(requests: ResourceList, limits: ResourceList) -> Iterator[tuple[str, Quantity]]:
    """Amounts under the names a quota may use for them."""
    for name, amount in requests.items():
        if name in COMPUTE or is_hugepages(name):
            yield name, amount
            yield REQUESTS_PREFIX + name, amount
        elif is_extended(name):
            yield REQUESTS_PREFIX + name, amount
    for name, amount in limits.items():
        if name in COMPUTE:
            yield LIMITS_PREFIX + name, amount


def _stated(pod: Pod) -> Iterator[tuple[str, frozenset[str]]]:
    for container in _containers(pod):
        named = dict(_named(container.resources.requests, container.resources.limits))
        yield container.name, MUST_BE_STATED.intersection(named)


def _containers(pod: Pod) -> Iterable[Container]:
    return (*pod.spec.containers, *pod.spec.init_containers)


def _crosses_namespaces(affinity: Mapping[str, Any]) -> bool:
    return any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in _terms(affinity))


def _terms(affinity: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for side in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(side) or {}
        yield from terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for weighted in terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield weighted.get("podAffinityTerm") or {}
