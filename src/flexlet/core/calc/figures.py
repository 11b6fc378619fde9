"""The numbers of a pod: defaulted resources, totals, QoS class, cgroup values, oom scores.

Field names and units are those of the vectors recorded from upstream, so that the two can be compared line by
line. All but `scheduler_requests` come from the spec alone; a recorded QoS class in the status is not looked at.
The ``cpu.weight`` is that of the runtimes' formula, as in the vectors (the kubelet itself writes the linear one).
"""

import msgspec

from flexlet.api.pod import Pod, ResourceList
from flexlet.core.cgroups import cpu
from flexlet.core.cgroups.oom import oom_scores
from flexlet.core.cgroups.pods import pod_cgroup_of
from flexlet.core.resources import effective, statusaware
from flexlet.core.resources.amounts import as_integers
from flexlet.core.resources.defaults import default_pod
from flexlet.core.resources.qos import qos_class
from flexlet.core.resources.rounding import text_requirements

Integers = dict[str, int]
Requirements = dict[str, dict[str, str]]


class PodFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What upstream computes for a pod; CPU in thousandths, everything else in its own unit."""

    aggregated_requests: Integers
    defaulted_container_resources: dict[str, Requirements]
    defaulted_resources: Requirements | None
    limits: Integers
    node_memory: int
    oom_score_adj: Integers
    pod_cgroup: dict[str, int | Integers]
    qos: str
    requests: Integers
    scheduler_requests: Integers


def figures(pod: Pod, node_memory: int) -> PodFigures:
    """The figures of a pod as a client wrote it, on a node with that much memory."""
    return figures_of_defaulted(default_pod(pod), node_memory)


def figures_of_defaulted(pod: Pod, node_memory: int) -> PodFigures:
    """The figures of a pod that has been through `default_pod`."""
    spec = pod.spec
    aggregated = effective.aggregate_requests(pod)
    requests, limits = effective.requests_with(aggregated, pod), effective.pod_limits(pod)
    counted = as_integers(requests)
    qos = qos_class(pod)
    return PodFigures(
        aggregated_requests=counted
        if spec.resources is None
        else as_integers(effective.requests_with(aggregated, pod, pod_level=False)),
        defaulted_container_resources={
            c.name: text_requirements(c.resources) for c in (*spec.containers, *spec.init_containers)
        },
        defaulted_resources=None if spec.resources is None else text_requirements(spec.resources),
        limits=as_integers(limits),
        node_memory=node_memory,
        oom_score_adj=oom_scores(pod, node_memory, qos=qos),
        pod_cgroup=_cgroup(pod, requests, limits, qos),
        qos=qos,
        requests=counted,
        scheduler_requests=as_integers(statusaware.scheduler_requests(pod)),
    )


def _cgroup(pod: Pod, requests: ResourceList, limits: ResourceList, qos: str) -> dict[str, int | Integers]:
    """Values that are set; what is absent stays as it is in the kernel."""
    values = pod_cgroup_of(pod, requests, limits, qos=qos)
    shares = values.shares or cpu.MIN_SHARES
    result: dict[str, int | Integers] = {
        "cpu.weight": cpu.runtime_weight(shares),
        "hugetlb": {str(size): limit for size, limit in values.hugetlb.items()},
        "shares": shares,
    }
    if values.quota is not None:
        result["cpu.max"] = values.quota
    if values.memory_max is not None:
        result["memory.max"] = values.memory_max
    return result
