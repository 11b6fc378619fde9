"""The QoS class of a pod: who is throttled and killed first when a node runs short.

Only positive amounts of cpu and memory count. A pod with ``spec.resources`` is judged by its pod-level lists only,
otherwise by all its containers, init containers included. Follows ``ComputePodQOS`` of Kubernetes 1.36.3, which
compares the sums over containers, and for which a present but empty ``spec.resources`` hides the containers.

Must stay true: a resize never changes the class; validation and the node rely on it.
"""

from collections.abc import Iterable
from typing import Final

from flexlet.api.pod import Pod, ResourceList, ResourceRequirements
from flexlet.api.quantity import ZERO
from flexlet.core.resources.names import COMPUTE

GUARANTEED: Final = "Guaranteed"
BURSTABLE: Final = "Burstable"
BEST_EFFORT: Final = "BestEffort"


def qos_class(pod: Pod) -> str:
    """The class as computed from the spec; for pods that have one, the node goes by the recorded class."""
    if pod.spec.resources is not None:
        return _class_of((pod.spec.resources,), limited=_has_limits(pod.spec.resources))
    everything = [c.resources for c in (*pod.spec.containers, *pod.spec.init_containers)]
    return _class_of(everything, limited=all(map(_has_limits, everything)))


def recorded_qos_class(pod: Pod) -> str:
    """``status.qosClass``, which is authoritative once set, otherwise the computed class."""
    return pod.status.qos_class or qos_class(pod)


def _class_of(parts: Iterable[ResourceRequirements], *, limited: bool) -> str:
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    for part in parts:
        _add_positive(requests, part.requests)
        _add_positive(limits, part.limits)
    if not requests and not limits:
        return BEST_EFFORT
    return GUARANTEED if limited and requests == limits else BURSTABLE


def _add_positive(total: dict[str, int], amounts: ResourceList) -> None:
    for name in COMPUTE:
        amount = amounts.get(name)
        if amount is not None and amount.nano > 0:
            total[name] = total.get(name, 0) + amount.nano


def _has_limits(part: ResourceRequirements) -> bool:
    return all(part.limits.get(name, ZERO).nano > 0 for name in COMPUTE)
