"""``/metrics/cadvisor``: the families that dashboards know from cAdvisor, under its names and labels.

Shown are the root cgroup (``id="/"``), the cgroup of all pods, every pod (with pod and namespace but without a
container) and every container. A pod's network is shown at its cgroup, which dashboards sum up by pod.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from flexlet.core.stats.cadvisorvalues import DISK, FS, NETWORK, SIMPLE, SPEC
from flexlet.core.stats.exposition import COUNTER, GAUGE, Family, Labels, Sample
from flexlet.core.stats.procfiles import InterfaceUse
from flexlet.core.stats.readings import CgroupReading, FsReading, NodeReading, PodReading
from flexlet.core.stats.sources import MachineFacts

FAULTS: Final = ("pgfault", "pgmajfault")


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """A cgroup and whose it is."""

    id: str
    container: str = ""
    image: str = ""
    name: str = ""
    namespace: str = ""
    pod: str = ""
    started_at: float = 0.0
    usage: CgroupReading
    processes: int | None = None
    network: Sequence[InterfaceUse] = ()
    fs: FsReading | None = None

    @property
    def labels(self) -> Labels:
        """What every sample of it is labelled with."""
        named = ("container", "id", "image", "name", "namespace", "pod")
        return tuple((label, getattr(self, label)) for label in named)


def families(node: NodeReading, machine: MachineFacts) -> list[Family]:
    """Everything, from a reading in detail."""
    subjects = list(_subjects(node))
    return [
        *_simple(subjects),
        *_labelled(subjects),
        *_filesystems(subjects),
        *_presence(subjects, node.time),
        *_machine(machine),
    ]


def _subjects(node: NodeReading) -> Iterator[Subject]:
    if node.usage is not None:
        interfaces = node.network or ()
        yield Subject(id="/", started_at=node.started_at, usage=node.usage, network=interfaces, fs=node.fs)
    for system in node.systems:
        if system.usage is not None:
            yield Subject(id=f"/{system.cgroup}", started_at=system.started_at, usage=system.usage)
    for pod in node.pods:
        yield from _of_pod(pod)


def _of_pod(pod: PodReading) -> Iterator[Subject]:
    if pod.usage is not None:
        yield Subject(
            id=f"/{pod.cgroup}",
            namespace=pod.namespace,
            pod=pod.name,
            started_at=pod.started_at,
            usage=pod.usage,
            network=pod.network or (),
        )
    for each in pod.containers:
        if each.usage is not None:
            yield Subject(
                id=f"/{each.cgroup}",
                container=each.name,
                image=each.image,
                name=each.id,
                namespace=pod.namespace,
                pod=pod.name,
                started_at=each.started_at,
                usage=each.usage,
                processes=each.processes,
                fs=each.rootfs,
            )


def _simple(subjects: Sequence[Subject]) -> Iterator[Family]:
    for name, (kind, text, read) in SIMPLE.items():
        found = [(read(each.usage), each) for each in subjects]
        yield Family(name, kind, text, [Sample(v, s.labels, s.usage.time) for v, s in found if v is not None])
    for name, (text, read) in SPEC.items():
        found = [(read(each.usage), each) for each in subjects]
        yield Family(name, GAUGE, text, [Sample(v, s.labels) for v, s in found if v is not None])


def _labelled(subjects: Sequence[Subject]) -> Iterator[Family]:
    """Those with labels beside the subject's own."""
    yield Family("container_cpu_usage_seconds_total", COUNTER, "CPU time in seconds.", list(_cpu(subjects)))
    yield Family("container_memory_failures_total", COUNTER, "Page faults.", list(_faults(subjects)))
    for name, of_interface in NETWORK.items():
        samples = [
            _sample(each, of_interface(use), ("interface", use.name)) for each in subjects for use in each.network
        ]
        yield Family(name, COUNTER, "Network traffic of an interface.", samples)
    for name, of_device in DISK.items():
        samples = [
            _sample(each, of_device(io), ("device", io.device))
            for each in subjects
            for io in (each.usage.detail.devices if each.usage.detail else ())
        ]
        yield Family(name, COUNTER, "Traffic of a block device.", samples)


def _cpu(subjects: Sequence[Subject]) -> Iterator[Sample]:
    for each in subjects:
        if each.usage.cpu_ns:
            yield _sample(each, each.usage.cpu_ns / 1e9, ("cpu", "total"))


def _faults(subjects: Sequence[Subject]) -> Iterator[Sample]:
    for each in subjects:
        for scope in ("container", "hierarchy"):
            for kind in FAULTS:
                if kind in each.usage.memory:
                    yield _sample(each, each.usage.memory[kind], ("failure_type", kind), ("scope", scope))


def _sample(subject: Subject, value: float, *more: tuple[str, str]) -> Sample:
    return Sample(value, tuple(sorted((*subject.labels, *more))), subject.usage.time)


def _filesystems(subjects: Sequence[Subject]) -> Iterator[Family]:
    for name, read in FS.items():
        found = [(each, read(each.fs)) for each in subjects if each.fs is not None]
        samples = [_sample(each, value, ("device", "")) for each, value in found if value is not None]
        yield Family(name, GAUGE, "A file system and what is used of it.", samples)


def _presence(subjects: Sequence[Subject], now: float) -> Iterator[Family]:
    started = [Sample(int(each.started_at), each.labels) for each in subjects if each.started_at]
    running = [
        Sample(each.processes, each.labels, each.usage.time) for each in subjects if each.processes is not None
    ]
    yield Family("container_start_time_seconds", GAUGE, "When the container started.", started)
    yield Family("container_processes", GAUGE, "Processes in the container.", running)
    yield Family("container_last_seen", GAUGE, "When it was last seen.", [_seen(each, now) for each in subjects])
    yield Family("container_scrape_error", GAUGE, "1 if containers could not be read.", [Sample(0)])


def _seen(subject: Subject, now: float) -> Sample:
    return Sample(int(now), subject.labels, now)


def _machine(machine: MachineFacts) -> Iterator[Family]:
    named = ("machine_id", "system_uuid", "boot_id")
    labels = tuple((name, getattr(machine, name)) for name in sorted(named))
    yield Family("machine_cpu_cores", GAUGE, "Logical CPUs.", [Sample(machine.cpus, labels)])
    yield Family("machine_memory_bytes", GAUGE, "Memory of the machine.", [Sample(machine.memory_bytes, labels)])
    yield Family("machine_swap_bytes", GAUGE, "Swap of the machine.", [Sample(machine.swap_bytes, labels)])
    yield Family("machine_scrape_error", GAUGE, "1 if the machine could not be read.", [Sample(0)])
    version = (
        ("cadvisorRevision", ""),
        ("cadvisorVersion", ""),
        ("dockerVersion", ""),
        ("kernelVersion", machine.kernel_version),
        ("osVersion", machine.os_image),
    )
    yield Family("cadvisor_version_info", GAUGE, "What the machine runs.", [Sample(1, version)])
