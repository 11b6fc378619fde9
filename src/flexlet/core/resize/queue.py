"""Who is asked first when room appears: the order of waiting resizes (KEP-1287, priority of resize requests).

Resizes that ask for no more come first, then higher priority, then Guaranteed pods, then those who have waited
longest; a pod without a waiting time goes last.
"""

from flexlet.api.pod import Pod
from flexlet.core.gates import Gates
from flexlet.core.resize.allocation import DEFAULT_GATES, Allocation, applied
from flexlet.core.resize.room import increases
from flexlet.core.resources import effective, statusaware
from flexlet.core.resources.qos import GUARANTEED, recorded_qos_class

Order = tuple[bool, int, bool, bool, str]


def order(pod: Pod, allocation: Allocation, since: str | None = None, gates: Gates = DEFAULT_GATES) -> Order:
    """A sort key: smaller is asked earlier. `since` is the waiting time the node knows; else the pod's status."""
    held = effective.pod_requests(applied(pod, allocation, gates))
    growing = increases(effective.pod_requests(pod), held)
    since = _waiting_since(pod) if since is None else since
    return (growing, -(pod.spec.priority or 0), recorded_qos_class(pod) != GUARANTEED, not since, since)


def _waiting_since(pod: Pod) -> str:
    for condition in pod.status.conditions:
        if condition.type == statusaware.RESIZE_PENDING:
            return condition.last_transition_time or ""
    return ""
