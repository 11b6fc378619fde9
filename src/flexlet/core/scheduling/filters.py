"""The questions a node must answer before a pod may run there.

Each filter returns the reason it refuses, in kube-scheduler's words, or an empty string. Static filters depend on
the Node object alone and can be remembered per pod signature; the others depend on the pods that run there.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from flexlet.api.node import Taint
from flexlet.api.pod import Toleration
from flexlet.core.scheduling import nodeaffinity
from flexlet.core.scheduling.nodes import NodeInfo
from flexlet.core.scheduling.pods import HostPort, WaitingPod

UNSCHEDULABLE: Final = "node(s) were unschedulable"
TAINTS: Final = "node(s) had untolerated taint(s)"
AFFINITY: Final = "node(s) didn't match Pod's node affinity/selector"
PORTS: Final = "node(s) didn't have free ports for the requested pod ports"
TOO_MANY_PODS: Final = "Too many pods"
_UNSCHEDULABLE_TAINT: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
_ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 the API's word for every address


def static_reason(pod: WaitingPod, node: NodeInfo) -> str:
    """The first refusal that no departing pod can lift."""
    spec = pod.pod.spec
    if node.node.spec.unschedulable and not tolerates(_UNSCHEDULABLE_TAINT, spec.tolerations):
        return UNSCHEDULABLE
    if untolerated(node.node.spec.taints, spec.tolerations) is not None:
        return TAINTS
    if not nodeaffinity.matches(spec, node.node):
        return AFFINITY
    return ""


def fit_reasons(pod: WaitingPod, node: NodeInfo, reserved: Mapping[str, int]) -> list[str]:
    """Every resource that is short; `reserved` is room promised to nominated pods."""
    reasons = []
    if len(node.pods) + reserved.get("pods", 0) + 1 > node.allocatable.get("pods", 0):
        reasons.append(TOO_MANY_PODS)
    reasons += [
        f"Insufficient {name}"
        for name, amount in pod.requests.items()
        if amount > 0 and amount > node.free(name) - reserved.get(name, 0)
    ]
    return reasons


def exceeds_allocatable(pod: WaitingPod, node: NodeInfo) -> bool:
    """Whether the pod is larger than the empty node: no eviction can help."""
    return any(amount > node.allocatable.get(name, 0) for name, amount in pod.requests.items() if amount > 0)


def ports_reason(pod: WaitingPod, node: NodeInfo) -> str:
    """A refusal when a host port is taken."""
    return PORTS if any(is_taken(port, node.ports) for port in pod.ports) else ""


def is_taken(wanted: HostPort, used: Iterable[HostPort]) -> bool:
    """Whether someone else listens where `wanted` would."""
    protocol, address, port = wanted
    return any(
        port == other_port
        and protocol == other_protocol
        and (address == other or _ANY_ADDRESS in {address, other})
        for other_protocol, other, other_port in used
    )


def untolerated(taints: Iterable[Taint], tolerations: tuple[Toleration, ...]) -> Taint | None:
    """The first hard taint that nothing tolerates."""
    hard = (taint for taint in taints if taint.effect in {"NoSchedule", "NoExecute"})
    return next((taint for taint in hard if not tolerates(taint, tolerations)), None)


def tolerates(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Whether one of the tolerations matches the taint."""
    return any(_matches(taint, toleration) for toleration in tolerations)


def _matches(taint: Taint, toleration: Toleration) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return bool(toleration.key) and toleration.value == taint.value
