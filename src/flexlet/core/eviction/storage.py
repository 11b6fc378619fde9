"""Pods that use more local storage than their limits allow; disks have no controller that would stop them."""

from collections.abc import Iterator

import msgspec

from flexlet.api.quantity import ZERO, Quantity
from flexlet.core.eviction.ranking import Candidate
from flexlet.core.resources.effective import pod_limits
from flexlet.core.resources.names import EPHEMERAL_STORAGE
from flexlet.core.stats.readings import FsReading, PodReading


class Breach(msgspec.Struct, frozen=True):
    """A limit that a pod exceeds: the name it has in metrics, and the words."""

    signal: str
    message: str


def has_limits(candidate: Candidate) -> bool:
    """Whether it is worth measuring what the pod has on disk."""
    spec = candidate.pod.spec
    return EPHEMERAL_STORAGE in pod_limits(candidate.pod) or any(
        volume.empty_dir is not None and volume.empty_dir.size_limit for volume in spec.volumes
    )


def breach(candidate: Candidate, *, own_image_fs: bool = False) -> Breach | None:
    """The first limit that the pod exceeds: of a volume, of the whole pod, of a container."""
    reading = candidate.reading
    return None if reading is None else next(_breaches(candidate, reading, own_image_fs), None)


def _breaches(candidate: Candidate, reading: PodReading, own_image_fs: bool) -> Iterator[Breach]:
    yield from _volumes(candidate, reading)
    yield from _pod(candidate, reading)
    yield from _containers(candidate, reading, own_image_fs)


def _volumes(candidate: Candidate, reading: PodReading) -> Iterator[Breach]:
    used = {volume.name: volume.fs.used for volume in reading.volumes if volume.fs.used is not None}
    for volume in candidate.pod.spec.volumes:
        limit = None if volume.empty_dir is None else volume.empty_dir.size_limit
        if limit is not None and limit > ZERO and Quantity.of_bytes(used.get(volume.name, 0)) > limit:
            text = f'Usage of EmptyDir volume "{volume.name}" exceeds the limit "{limit}". '
            yield Breach("emptydirfs.limit", text)


def _pod(candidate: Candidate, reading: PodReading) -> Iterator[Breach]:
    limit = pod_limits(candidate.pod).get(EPHEMERAL_STORAGE)
    if limit is not None and Quantity.of_bytes(_used(reading.ephemeral_storage)) > limit:
        text = f"Pod ephemeral local storage usage exceeds the total limit of containers {limit}. "
        yield Breach("ephemeralpodfs.limit", text)


def _containers(candidate: Candidate, reading: PodReading, own_image_fs: bool) -> Iterator[Breach]:
    limits = {
        each.name: each.resources.limits.get(EPHEMERAL_STORAGE, ZERO) for each in candidate.pod.spec.containers
    }
    for container in reading.containers:
        limit = limits.get(container.name, ZERO)
        used = _used(container.logs) + (0 if own_image_fs else _used(container.rootfs))
        if limit and Quantity.of_bytes(used) > limit:
            text = f'Container {container.name} exceeded its local ephemeral storage limit "{limit}". '
            yield Breach("ephemeralcontainerfs.limit", text)


def _used(fs: FsReading | None) -> int:
    return 0 if fs is None else fs.used or 0
