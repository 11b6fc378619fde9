"""Who is asked first when room appears: the order of waiting resizes.

Resizes that ask for no more come first, then higher priority, then Guaranteed pods, then those who have waited
longest; a pod without a waiting time goes last.
"""

from flexlet.api.pod import Pod
from flexlet.core.resize.admit import increases
from flexlet.core.resize.allocation import Allocation, applied
from flexlet.core.resources import effective, statusaware

Order = tuple[bool, int, bool, bool, str]


def order(pod: Pod, allocation: Allocation) -> Order:
    """A sort key: smaller is asked earlier."""
    growing = increases(effective.pod_requests(pod), effective.pod_requests(applied(pod, allocation)))
    since = _waiting_since(pod)
    return (growing, -(pod.spec.priority or 0), pod.status.qos_class != "Guaranteed", not since, since)


def _waiting_since(pod: Pod) -> str:
    for condition in pod.status.conditions:
        if condition.type == statusaware.RESIZE_PENDING:
            return condition.last_transition_time or ""
    return ""
