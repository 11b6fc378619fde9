"""Ready pods are available once they have been ready for a while."""

from collections.abc import Iterable

from flexlet.core.controllers.conditions import seconds
from flexlet.core.views.pod import PodView


def is_available(pod: PodView, min_ready_seconds: int, now: float) -> bool:
    """Whether the pod is ready, and has been for long enough."""
    if not pod.ready:
        return False
    return not min_ready_seconds or seconds(pod.ready_since) + min_ready_seconds <= now


def next_available(pods: Iterable[PodView], min_ready_seconds: int, now: float) -> float | None:
    """When the next of the ready pods becomes available."""
    if not min_ready_seconds:
        return None
    times = (seconds(pod.ready_since) + min_ready_seconds for pod in pods if pod.ready)
    return min((time for time in times if time > now), default=None)
