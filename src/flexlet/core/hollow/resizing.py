"""What people are told about a resize, and who is asked first."""

from flexlet.api.pod import Pod
from flexlet.core.actions import RecordEvent
from flexlet.core.resize import events, queue
from flexlet.core.resize.allocation import Allocation
from flexlet.core.resize.verdict import Deferred, Infeasible


def completed(pod: Pod) -> list[RecordEvent]:
    """A granted resize takes effect at once on a hollow node."""
    return [events.started(pod), events.completed(pod, pod.metadata.generation)]


def refused(pod: Pod, verdict: Deferred | Infeasible) -> list[RecordEvent]:
    """A wish that waits, or never can be met."""
    return [events.refused(pod, verdict)]


def order(pod: Pod | None, allocation: Allocation) -> queue.Order:
    """The sort key of a waiting resize; a pod that no longer waits sorts last."""
    return queue.order(pod, allocation) if pod is not None else (True, 0, True, True, "")
