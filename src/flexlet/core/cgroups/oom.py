"""``oom_score_adj``: whom the kernel kills first when memory runs out.

A container that asks for a large part of the node's memory is protected in proportion; one that asks for nothing
goes first. Memory that a pod requests beyond its containers is shared out among them, and a sidecar is never
killed before the smallest container it serves. Follows the kubelet of Kubernetes 1.36.3, whose divisions cut
towards zero.
"""

from typing import Final

from flexlet.api.pod import Container, Pod
from flexlet.core.critical import is_node_critical
from flexlet.core.resources.amounts import memory_bytes
from flexlet.core.resources.effective import aggregate_requests
from flexlet.core.resources.names import MEMORY
from flexlet.core.resources.qos import BEST_EFFORT, BURSTABLE, recorded_qos_class

NODE_DAEMONS: Final = -999
"""The kubelet and kube-proxy themselves."""

PROTECTED: Final = -997
FIRST: Final = 1000
_LEAST: Final = 1000 + PROTECTED


def oom_score_adj(pod: Pod, container: Container, node_memory: int, *, qos: str | None = None) -> int:
    """The score of one container of the pod; `node_memory` is the node's capacity, not allocatable."""
    qos = qos or recorded_qos_class(pod)
    if (fixed := _fixed(pod, qos)) is not None:
        return fixed
    is_sidecar = container.is_sidecar and any(c.name == container.name for c in pod.spec.init_containers)
    return _burstable(pod, container, pod_share(pod), node_memory, is_sidecar=is_sidecar)


def oom_scores(pod: Pod, node_memory: int, *, qos: str | None = None) -> dict[str, int]:
    """The scores of all containers, init containers included, by name."""
    spec = pod.spec
    if (fixed := _fixed(pod, qos or recorded_qos_class(pod))) is not None:
        return {c.name: fixed for c in (*spec.containers, *spec.init_containers)}
    share = pod_share(pod)
    regular = {c.name: _burstable(pod, c, share, node_memory, is_sidecar=False) for c in spec.containers}
    init = {c.name: _burstable(pod, c, share, node_memory, is_sidecar=c.is_sidecar) for c in spec.init_containers}
    return regular | init


def _fixed(pod: Pod, qos: str) -> int | None:
    if is_node_critical(pod):
        return PROTECTED
    if qos == BURSTABLE:
        return None
    return FIRST if qos == BEST_EFFORT else PROTECTED


def _burstable(pod: Pod, container: Container, share: int, node_memory: int, *, is_sidecar: bool) -> int:
    score = _score(memory_bytes(container.resources.requests) + share, node_memory)
    if is_sidecar:
        smallest = min((memory_bytes(c.resources.requests) for c in pod.spec.containers), default=0)
        score = min(score, _score(smallest + share, node_memory))
    # Only the exact 1000 is BestEffort's own; upstream lets a higher score pass.
    return FIRST - 1 if score == FIRST else max(score, _LEAST)


def _score(request: int, node_memory: int) -> int:
    return 1000 - _cut(1000 * request, node_memory)


def pod_share(pod: Pod) -> int:
    """Each container's part of what the pod requests beyond its containers."""
    resources = pod.spec.resources
    if resources is None or not resources.requests.get(MEMORY):
        return 0
    rest = memory_bytes(resources.requests) - memory_bytes(aggregate_requests(pod))
    return _cut(rest, len(pod.spec.containers) + len(pod.spec.init_containers))


def _cut(number: int, divisor: int) -> int:
    """Integer division towards zero; the share is negative if containers ask for more than their pod."""
    return number // divisor if number >= 0 else -(-number // divisor)
