"""What is counted when a node follows its machine: the metrics' names and the increments, as data.

The first four are those of KEP-3953 and KEP-5578, the next two those of their successor draft.
"""

from typing import Final

import msgspec

from flexlet.core.hotplug.plan import ResizePlan
from flexlet.core.resize.metrics import Metric

RESYNCS: Final = Metric("node_resize_resync_request_total", "counter")
RESYNC_ERRORS: Final = Metric("node_resize_resync_errors_total", "counter")
UNPLUGS: Final = Metric("node_hot_unplug_request_total", "counter")
UNPLUG_ERRORS: Final = Metric("node_hot_unplug_errors_total", "counter")
REQUESTS: Final = Metric("kubelet_node_resize_requests_total", "counter", ("resource", "direction"))
ERRORS: Final = Metric("kubelet_node_resize_errors_total", "counter", ("subsystem",))
VICTIMS: Final = Metric("flexlet_unplug_victims_total", "counter", ("reason",))
REJECTIONS: Final = Metric("kubelet_admission_rejections_total", "counter", ("reason",))
GENERATION: Final = Metric("flexlet_node_generation", "gauge")
HALF_PLUGGED: Final = Metric("flexlet_node_half_plugged", "gauge", ("kind",))
DURATION: Final = Metric("flexlet_node_resize_duration_seconds", "histogram", ("phase",))
"""``detect`` from the first sign of a change to its plan, ``terminate`` while pods end, ``apply`` all the rest."""
UEVENTS: Final = Metric("flexlet_uevents_total", "counter", ("subsystem", "action"))
OVERRUNS: Final = Metric("flexlet_uevent_overruns_total", "counter")
ALL: Final = (
    *(RESYNCS, RESYNC_ERRORS, UNPLUGS, UNPLUG_ERRORS, REQUESTS, ERRORS, VICTIMS),
    *(GENERATION, HALF_PLUGGED, DURATION, UEVENTS, OVERRUNS),
)
"""Those that are new; victims are also counted in `REJECTIONS`, which others count in, too."""

CPU_MANAGER: Final = "cpu_manager_sync"
MEMORY_MANAGER: Final = "memory_manager_sync"
CGROUPS: Final = "cgroup_update"
CONTAINERS: Final = "container_swap_resize"
NODE_STATUS: Final = "node_status_update"
READMISSION: Final = "pod_readmission"


class Count(msgspec.Struct, frozen=True):
    """One more of something; `labels` are the values of the metric's labels, in their order."""

    metric: Metric
    labels: tuple[str, ...] = ()


def begun(plan: ResizePlan) -> tuple[Count, ...]:
    """Another size was noticed; one that is taken up again was counted before."""
    if plan.generation.number == plan.before.number:
        return ()
    return (Count(RESYNCS), *([Count(UNPLUGS)] if plan.generation.shrank else []))


def done(plan: ResizePlan) -> tuple[Count, ...]:
    """The node has followed."""
    return tuple(
        Count(REQUESTS, (change.resource, change.direction))
        for change in plan.generation.changes
        if change.direction != "moved"
    )


def ended(plan: ResizePlan) -> tuple[Count, ...]:
    """Pods were told to go."""
    return tuple(Count(metric, (each.reason,)) for each in plan.victims for metric in (VICTIMS, REJECTIONS))


def failed(plan: ResizePlan, subsystem: str) -> tuple[Count, ...]:
    """A step failed, and with it the attempt; which one is the subsystem."""
    unplug = [Count(UNPLUG_ERRORS)] if plan.generation.shrank and subsystem == READMISSION else []
    return (Count(RESYNC_ERRORS), Count(ERRORS, (subsystem,)), *unplug)
