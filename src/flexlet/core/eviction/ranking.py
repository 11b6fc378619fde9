"""Which pod is ended first when something runs out.

Pods that use more than they requested before those that do not, then by priority, then by how much more they use.
A pod that cannot be measured comes first. Processes cannot be requested, so there priority decides alone.

Two positions of our own: a request that is set at pod level only for one resource does not make the containers'
requests for another one disappear, and from inodes no bytes are subtracted.
"""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from flexlet.api.nodepod import NodePod
from flexlet.api.quantity import ZERO
from flexlet.core.eviction.signals import (
    IMAGEFS_AVAILABLE,
    IMAGEFS_INODES,
    INODES,
    NODEFS_AVAILABLE,
    NODEFS_INODES,
    RESOURCES,
)
from flexlet.core.resources.effective import pod_requests
from flexlet.core.resources.names import MEMORY
from flexlet.core.stats.readings import FsReading, PodReading

LOGS: Final = "logs"
ROOT: Final = "root"
VOLUMES: Final = "volumes"
_EVERYTHING: Final = frozenset({LOGS, ROOT, VOLUMES})


class Candidate(msgspec.Struct, frozen=True):
    """A pod that could be ended, with its allocated resources, and what it uses."""

    pod: NodePod
    reading: PodReading | None = None


def ranked(candidates: Iterable[Candidate], signal: str, *, own_image_fs: bool = False) -> list[Candidate]:
    """The candidates, the first to go first; `own_image_fs` says that images have a filesystem of their own."""
    resource = RESOURCES[signal]
    if resource == MEMORY:
        return sorted(candidates, key=_by_use(resource, memory_in_use))
    if signal in (NODEFS_AVAILABLE, NODEFS_INODES, IMAGEFS_AVAILABLE, IMAGEFS_INODES):
        parts = _parts(signal, own_image_fs)
        return sorted(candidates, key=_by_use(resource, lambda each: disk_in_use(each, parts, resource == INODES)))
    return sorted(candidates, key=_by_processes)


def memory_in_use(candidate: Candidate) -> int:
    """The pod's working set, 0 if it is unknown."""
    reading = candidate.reading
    usage = None if reading is None else reading.usage
    return 0 if usage is None else usage.working_set or 0


def disk_in_use(candidate: Candidate, parts: frozenset[str], inodes: bool) -> int:
    """Bytes or inodes of logs, writable layers and local volumes, as far as `parts` names them."""
    reading = candidate.reading
    if reading is None:
        return 0
    total = 0
    for container in reading.containers:
        total += _used(container.rootfs, inodes) if ROOT in parts else 0
        total += _used(container.logs, inodes) if LOGS in parts else 0
    if VOLUMES in parts:
        local = local_volumes(candidate.pod)
        total += sum(_used(volume.fs, inodes) for volume in reading.volumes if volume.name in local)
    return total


def local_volumes(pod: NodePod) -> frozenset[str]:
    """Names of volumes on the node's own disk."""
    return frozenset(
        volume.name
        for volume in pod.spec.volumes
        if volume.host_path is not None
        or volume.config_map is not None
        or (volume.empty_dir is not None and not volume.empty_dir.medium)
    )


def request(pod: NodePod, resource: str) -> int:
    """What the pod requested; the overhead of its sandbox counts if it requested anything."""
    asked = pod_requests(pod, overhead=False).get(resource, ZERO)
    return (asked + pod.spec.overhead.get(resource, ZERO)).value if asked else 0


def _by_use(resource: str, used: Callable[[Candidate], int]) -> Callable[[Candidate], tuple[int, int, int]]:
    def key(candidate: Candidate) -> tuple[int, int, int]:
        if candidate.reading is None:
            return 0, _priority(candidate), 0
        over = used(candidate) - request(candidate.pod, resource)
        return 1 if over > 0 else 2, _priority(candidate), -over

    return key


def _by_processes(candidate: Candidate) -> tuple[int, bool, int]:
    reading = candidate.reading
    return _priority(candidate), reading is not None, -((reading.processes or 0) if reading is not None else 0)


def _priority(candidate: Candidate) -> int:
    return candidate.pod.spec.priority or 0


def _parts(signal: str, own_image_fs: bool) -> frozenset[str]:
    if not own_image_fs:
        return _EVERYTHING
    return frozenset({LOGS, VOLUMES}) if signal in (NODEFS_AVAILABLE, NODEFS_INODES) else frozenset({ROOT})


def _used(fs: FsReading | None, inodes: bool) -> int:
    return 0 if fs is None else (fs.inodes_used if inodes else fs.used) or 0
