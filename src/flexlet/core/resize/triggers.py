"""When waiting resizes are asked again, and what each occasion is called in metrics.

The names are the kubelet's, but for `NODE_RESIZED`: upstream notices a larger node only by its timer, flexlet asks
at once. Asking again is cheap; a resize that could be granted and is not asked is what must not happen.
"""

from typing import Final

from flexlet.api.pod import Pod, ResourceList
from flexlet.api.quantity import ZERO
from flexlet.core.gates import Gates
from flexlet.core.resize.allocation import DEFAULT_GATES, POD_LEVEL, Allocation, resizable
from flexlet.core.resize.neighbours import held, shrank
from flexlet.core.resources.names import COMPUTE

POD_UPDATED: Final = "pod_updated"
PODS_ADDED: Final = "pods_added"
PODS_REMOVED: Final = "pods_removed"
POD_TERMINATED: Final = "pod_terminated"
POD_RESIZED: Final = "pod_resized"
PERIODIC: Final = "periodic_retry"
NODE_RESIZED: Final = "node_resized"

FIRST_RETRY_S: Final = 30.0
"""After the start, and while not all sources of pods have been heard."""

RETRY_S: Final = 180.0

_TERMINAL: Final = ("Succeeded", "Failed")


def is_terminal(pod: Pod) -> bool:
    """Whether the pod has run to its end."""
    return pod.status.phase in _TERMINAL


def of_update(before: Pod, after: Pod, gates: Gates = DEFAULT_GATES) -> str | None:
    """`POD_UPDATED` if the spec asks for other resources than it did."""
    old = {container.name: container.resources for container in resizable(before, gates)}
    moved = any(old.get(c.name) != c.resources for c in resizable(after, gates))
    if moved or (gates[POD_LEVEL] and before.spec.resources != after.spec.resources):
        return POD_UPDATED
    return None


def of_status(before: Pod, after: Pod, allocation: Allocation | None, gates: Gates = DEFAULT_GATES) -> str | None:
    """The occasion in a new status: the pod ended, or holds less than it did."""
    if is_terminal(after) and not is_terminal(before):
        return POD_TERMINATED
    if shrank(held(before, allocation, gates), held(after, allocation, gates)):
        return POD_RESIZED
    return None


def of_node(before: ResourceList, after: ResourceList) -> str | None:
    """`NODE_RESIZED` if more became allocatable."""
    grew = any(after.get(name, ZERO) > before.get(name, ZERO) for name in COMPUTE)
    return NODE_RESIZED if grew else None
