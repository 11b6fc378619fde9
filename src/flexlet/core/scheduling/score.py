"""How good a node is for a pod: the emptier after placing, the better; siblings apart."""

from typing import Final

from flexlet.core.scheduling import filters, nodeaffinity
from flexlet.core.scheduling.nodes import NodeInfo
from flexlet.core.scheduling.pods import WaitingPod

_SIBLING_PENALTY: Final = 20
_SOFT_TAINT_PENALTY: Final = 50
_DEFAULT_CPU_MILLI: Final = 100
_DEFAULT_MEMORY: Final = 200 * 1024 * 1024


def score(pod: WaitingPod, node: NodeInfo, preferred_weight: int) -> float:
    """Least allocated (0-100), less a penalty per sibling and soft taint, plus preferred affinity (0-100)."""
    result = (
        _free_share(pod, node, "cpu", _DEFAULT_CPU_MILLI) + _free_share(pod, node, "memory", _DEFAULT_MEMORY)
    ) / 2
    result -= _SIBLING_PENALTY * node.owners.get(pod.owner, 0) if pod.owner else 0
    if node.node.spec.taints:
        result -= _SOFT_TAINT_PENALTY * _soft_taints(pod, node)
    if preferred_weight:
        result += 100 * nodeaffinity.preference(pod.pod.spec, node.node) / preferred_weight
    return result


def preferred_weight(pod: WaitingPod) -> int:
    """The largest weight preferred node affinity could add up to; 0 if there is none."""
    affinity = (pod.pod.spec.affinity or {}).get("nodeAffinity") or {}
    terms = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return sum(int(term["weight"]) for term in terms)


def _free_share(pod: WaitingPod, node: NodeInfo, resource: str, unasked: int) -> float:
    """Per cent of the resource left after placing; a pod that asks for nothing counts as a small one."""
    capacity = node.allocatable.get(resource, 0)
    if capacity <= 0:
        return 0.0
    asked = pod.requests.get(resource, 0) or unasked
    return max(0.0, 100.0 * (node.free(resource) - asked) / capacity)


def _soft_taints(pod: WaitingPod, node: NodeInfo) -> int:
    tolerations = pod.pod.spec.tolerations
    soft = (taint for taint in node.node.spec.taints if taint.effect == "PreferNoSchedule")
    return sum(1 for taint in soft if not filters.tolerates(taint, tolerations))
