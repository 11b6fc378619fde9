"""The names, kinds and labels of the resize metrics, as data; whoever counts and prints them is elsewhere.

Names follow the kubelet's, label values are the words used in conditions and verdicts, so that metrics, status and
events tell one story.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from flexlet.api.pod import Pod, ResourceList
from flexlet.api.quantity import ZERO
from flexlet.core.gates import Gates
from flexlet.core.resize.allocation import DEFAULT_GATES, resizable
from flexlet.core.resources.names import CPU, MEMORY


class Metric(msgspec.Struct, frozen=True):
    """A family of samples."""

    name: str
    kind: str
    labels: tuple[str, ...] = ()
    buckets: tuple[int, ...] = ()


_DURATIONS: Final = (*(10, 50, 100, 500, 1000, 2000, 5000, 10000, 20000, 30000, 60000, 120000, 300000, 600000),)

REQUESTED: Final = Metric(
    "kubelet_container_requested_resizes_total", "counter", ("resource", "requirement", "operation")
)
DURATION: Final = Metric("kubelet_pod_resize_duration_milliseconds", "histogram", ("success",), _DURATIONS)
PENDING: Final = Metric("kubelet_pod_pending_resizes", "gauge", ("reason",))
INFEASIBLE: Final = Metric("kubelet_pod_infeasible_resizes_total", "counter", ("reason_detail",))
IN_PROGRESS: Final = Metric("kubelet_pod_in_progress_resizes", "gauge")
DEFERRED_ACCEPTED: Final = Metric("kubelet_pod_deferred_accepted_resizes_total", "counter", ("retry_trigger",))
ALL: Final = (REQUESTED, DURATION, PENDING, INFEASIBLE, IN_PROGRESS, DEFERRED_ACCEPTED)

Sample = tuple[str, str, str]
"""Values of the labels resource, requirement, operation."""


def requested(before: Pod, after: Pod, gates: Gates = DEFAULT_GATES) -> tuple[Sample, ...]:
    """What a new spec counts in `REQUESTED`: one sample per container, resource and requirement that moves."""
    old = {container.name: container.resources for container in resizable(before, gates)}
    return tuple(
        sample
        for container in resizable(after, gates)
        if container.name in old
        for sample in (
            *_moves("requests", old[container.name].requests, container.resources.requests),
            *_moves("limits", old[container.name].limits, container.resources.limits),
        )
    )


def _moves(requirement: str, before: ResourceList, after: ResourceList) -> Iterator[Sample]:
    for name in (MEMORY, CPU):
        old, new = before.get(name, ZERO), after.get(name, ZERO)
        if old == new:
            continue
        if not old or not new:
            yield name, requirement, "add" if new else "remove"
        else:
            yield name, requirement, "increase" if new > old else "decrease"
