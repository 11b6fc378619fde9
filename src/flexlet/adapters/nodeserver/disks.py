"""How full file systems are, and how much of them logs and volumes take. Blocks: belongs into a thread.

Adding up a volume means looking at every file in it, so that is done at most once a minute.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from flexlet.core.stats.readings import ContainerReading, FsReading, NodeReading, PodReading, VolumeReading
from flexlet.core.stats.sources import ContainerSource, NodeSource, PodSource
from flexlet.ports.clock import Clock

RECOUNT_S: Final = 60.0
_SECTOR: Final = 512

ImageFilesystem = tuple[str, int, int]
"""Mount point, bytes and inodes that images take of it."""


class Disks:
    """Fills a reading with what file systems say."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._counted: dict[str, tuple[float, int, int]] = {}

    def fill(self, node: NodeReading, source: NodeSource, images: Sequence[ImageFilesystem]) -> NodeReading:
        """The reading with file systems, logs, volumes and ephemeral storage."""
        own = self._filesystem(source.data_directory)
        image_fs = None
        if images:
            mountpoint, used, inodes = images[0]
            image_fs = self._filesystem(mountpoint)
            if image_fs is not None:
                image_fs = msgspec.structs.replace(image_fs, used=used, inodes_used=inodes)
        measured = zip(node.pods, source.pods, strict=True)
        return msgspec.structs.replace(
            node,
            fs=own,
            image_fs=image_fs,
            container_fs=image_fs,
            pods=tuple(self._pod(reading, pod, own, image_fs) for reading, pod in measured),
        )

    def _pod(
        self, reading: PodReading, pod: PodSource, own: FsReading | None, image_fs: FsReading | None
    ) -> PodReading:
        measured = zip(reading.containers, pod.containers, strict=True)
        containers = tuple(self._container(each, container, own, image_fs) for each, container in measured)
        volumes = tuple(
            VolumeReading(name=volume.name, fs=self._part(self._filesystem(volume.path), volume.path))
            for volume in pod.volumes
        )
        parts = [fs for each in containers for fs in (each.rootfs, each.logs)]
        ephemeral = {volume.name for volume in pod.volumes if volume.is_ephemeral}
        parts += [volume.fs for volume in volumes if volume.name in ephemeral]
        return msgspec.structs.replace(
            reading,
            containers=containers,
            volumes=volumes,
            ephemeral_storage=None if own is None else _sum(own, parts),
        )

    def _container(
        self,
        reading: ContainerReading,
        container: ContainerSource,
        own: FsReading | None,
        image_fs: FsReading | None,
    ) -> ContainerReading:
        rootfs = None
        if image_fs is not None:
            used, inodes = container.rootfs_bytes, container.rootfs_inodes
            rootfs = msgspec.structs.replace(image_fs, used=used, inodes_used=inodes)
        logs = self._part(own, container.log_directory) if own and container.log_directory else None
        return msgspec.structs.replace(reading, rootfs=rootfs, logs=logs)

    def _filesystem(self, path: str) -> FsReading | None:
        try:
            found = os.statvfs(path)
        except OSError:
            return None
        return FsReading(
            time=self._clock.now(),
            capacity=found.f_blocks * found.f_frsize,
            available=found.f_bavail * found.f_frsize,
            used=(found.f_blocks - found.f_bfree) * found.f_frsize,
            inodes=found.f_files or None,
            inodes_free=found.f_ffree if found.f_files else None,
            inodes_used=found.f_files - found.f_ffree if found.f_files else None,
        )

    def _part(self, filesystem: FsReading | None, path: str) -> FsReading:
        """A file system with what one directory takes of it."""
        whole = filesystem or FsReading(time=self._clock.now())
        now = self._clock.now()
        counted = self._counted.get(path)
        if counted is None or now - counted[0] >= RECOUNT_S:
            self._counted = {key: value for key, value in self._counted.items() if now - value[0] < RECOUNT_S}
            counted = self._counted[path] = (now, *count(Path(path)))
        return msgspec.structs.replace(whole, used=counted[1], inodes_used=counted[2])


def count(directory: Path) -> tuple[int, int]:
    """Bytes on disk and inodes of a directory and everything in it; what vanishes meanwhile is left out."""
    seen: set[tuple[int, int]] = set()
    total, waiting = 0, [os.fspath(directory)]
    while waiting:
        path = waiting.pop()
        try:
            found = os.lstat(path)
            if (found.st_dev, found.st_ino) in seen:
                continue
            seen.add((found.st_dev, found.st_ino))
            total += found.st_blocks * _SECTOR
            with os.scandir(path) as entries:
                waiting += [entry.path for entry in entries]
        except OSError:  # a file is no directory, and what is gone takes no room
            continue
    return total, len(seen)


def _sum(own: FsReading, parts: Sequence[FsReading | None]) -> FsReading:
    """What a pod takes of the node's disk; unknown if any part is."""
    known = [part for part in parts if part is not None]
    used = [part.used for part in known]
    inodes = [part.inodes_used for part in known]
    return msgspec.structs.replace(own, used=_total(used), inodes_used=_total(inodes))


def _total(amounts: Sequence[int | None]) -> int | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known and len(known) == len(amounts) else None
