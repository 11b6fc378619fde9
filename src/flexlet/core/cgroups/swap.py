"""How much swap a container may use (KEP-2400).

With LimitedSwap a Burstable container gets the part of the node's swap that it requests of the node's memory,
unless its request equals its limit, it names no memory at all, or its pod is critical. Pod-level memory plays no
part.
"""

from flexlet.api.pod import Container, Pod
from flexlet.api.quantity import ZERO
from flexlet.api.units import Bytes
from flexlet.core.cgroups.settings import LIMITED_SWAP, CgroupSettings, Host
from flexlet.core.critical import is_critical
from flexlet.core.resources.names import MEMORY
from flexlet.core.resources.qos import BURSTABLE, recorded_qos_class


def swap_max(pod: Pod, container: Container, host: Host, settings: CgroupSettings) -> Bytes | None:
    """The value of ``memory.swap.max``; None if the kernel has no such file."""
    if not host.swap_controller:
        return None
    if not may_swap(pod, container, settings):
        return Bytes(0)
    return limited_swap(container.resources.requests.get(MEMORY, ZERO).value, host.memory, host.swap)


def may_swap(pod: Pod, container: Container, settings: CgroupSettings) -> bool:
    """Whether LimitedSwap applies to the container."""
    if settings.memory_swap_behavior != LIMITED_SWAP or is_critical(pod):
        return False
    request = container.resources.requests.get(MEMORY, ZERO)
    limit = container.resources.limits.get(MEMORY, ZERO)
    # Two absent amounts are equal too: a container that names no memory does not swap.
    return recorded_qos_class(pod) == BURSTABLE and request != limit


def limited_swap(request: int, node_memory: int, node_swap: int) -> Bytes:
    """The container's part of the swap; none if the node's memory cannot hold the request."""
    if node_memory <= 0 or request > node_memory:
        return Bytes(0)
    return Bytes(int(request / node_memory * node_swap))
