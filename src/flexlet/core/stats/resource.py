"""``/metrics/resource``: what metrics-server, and with it ``kubectl top`` and autoscalers, reads.

Each sample carries the time of its reading, for counters are divided by the difference. metrics-server drops a pod
with a container whose value is 0, so a container without a reading is left out rather than shown as 0.
"""

from collections.abc import Iterator
from typing import Final

from flexlet.core.stats.exposition import COUNTER, GAUGE, Family, Labels, Sample
from flexlet.core.stats.readings import CgroupReading, NodeReading

_FAMILIES: Final = {
    "node_cpu_usage_seconds_total": (COUNTER, "Cumulative cpu time of the node in core-seconds"),
    "node_memory_working_set_bytes": (GAUGE, "Current working set of the node in bytes"),
    "node_swap_usage_bytes": (GAUGE, "Current swap usage of the node in bytes"),
    "pod_cpu_usage_seconds_total": (COUNTER, "Cumulative cpu time of the pod in core-seconds"),
    "pod_memory_working_set_bytes": (GAUGE, "Current working set of the pod in bytes"),
    "pod_swap_usage_bytes": (GAUGE, "Current swap usage of the pod in bytes"),
    "container_cpu_usage_seconds_total": (
        COUNTER,
        "Cumulative cpu time of the container in core-seconds",
    ),
    "container_memory_working_set_bytes": (GAUGE, "Current working set of the container in bytes"),
    "container_swap_usage_bytes": (GAUGE, "Current swap usage of the container in bytes"),
    "container_swap_limit_bytes": (GAUGE, "Current swap limit of the container in bytes"),
    "container_start_time_seconds": (GAUGE, "Start time of the container since unix epoch in seconds"),
    "resource_scrape_error": (GAUGE, "1 if there was an error while getting container metrics, 0 otherwise"),
}


def families(node: NodeReading | None) -> list[Family]:
    """The families of a reading; without one, only that there was an error."""
    found: dict[str, list[Sample]] = {name: [] for name in _FAMILIES}
    for name, sample in _samples(node) if node else ():
        found[name].append(sample)
    found["resource_scrape_error"].append(Sample(0 if node else 1))
    return [Family(name, *about, found[name]) for name, about in _FAMILIES.items()]


def _samples(node: NodeReading) -> Iterator[tuple[str, Sample]]:
    yield from _use("node", (), node.usage)
    for pod in node.pods:
        of_pod = (("pod", pod.name), ("namespace", pod.namespace))
        for container in pod.containers:
            labels = (("container", container.name), *of_pod)
            if container.started_at > 0:
                yield "container_start_time_seconds", Sample(container.started_at, labels)
            yield from _use("container", labels, container.usage)
        yield from _use("pod", of_pod, pod.usage)


def _use(what: str, labels: Labels, reading: CgroupReading | None) -> Iterator[tuple[str, Sample]]:
    if reading is None:
        return
    if reading.cpu_ns is not None:
        yield f"{what}_cpu_usage_seconds_total", Sample(reading.cpu_ns / 1e9, labels, reading.time)
    if reading.working_set is not None:
        yield f"{what}_memory_working_set_bytes", Sample(reading.working_set, labels, reading.time)
    if reading.swap_usage is not None:
        yield f"{what}_swap_usage_bytes", Sample(reading.swap_usage, labels, reading.time)
        if what == "container" and reading.swap_limit is not None:
            yield "container_swap_limit_bytes", Sample(reading.swap_limit, labels, reading.time)
