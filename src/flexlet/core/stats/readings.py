"""What was measured at one moment: a cgroup, a pod, a file system, the whole node."""

from collections.abc import Mapping
from typing import Final

import msgspec

from flexlet.core.stats import cgroupfiles
from flexlet.core.stats.cgroupfiles import DeviceIo, Pressure
from flexlet.core.stats.procfiles import InterfaceUse

RATE_WINDOW_S: Final = 1.0
"""Two readings that are closer than this say nothing about a rate."""


class CgroupReading(msgspec.Struct, frozen=True, kw_only=True):
    """A cgroup's use; every number may be unknown."""

    time: float
    cpu: Mapping[str, int] = {}
    """``cpu.stat``."""
    memory: Mapping[str, int] = {}
    """``memory.stat``."""
    memory_usage: int | None = None
    memory_limit: int | None = None
    swap_usage: int | None = None
    swap_limit: int | None = None
    cpu_pressure: Pressure | None = None
    memory_pressure: Pressure | None = None
    io_pressure: Pressure | None = None
    usage_nano_cores: int | None = None
    detail: "CgroupDetail | None" = None

    @property
    def cpu_ns(self) -> int | None:
        """Nanoseconds of CPU used in all."""
        micros = self.cpu.get("usage_usec")
        return None if micros is None else micros * 1000

    @property
    def working_set(self) -> int | None:
        """What cannot be reclaimed easily: usage without inactive file pages."""
        if self.memory_usage is None:
            return None
        return max(0, self.memory_usage - self.memory.get("inactive_file", 0))


class CgroupDetail(msgspec.Struct, frozen=True, kw_only=True):
    """What only ``/metrics/cadvisor`` shows."""

    memory_peak: int | None = None
    memory_min: int | None = None
    events: Mapping[str, int] = {}
    """``memory.events``."""
    cpu_quota: int | None = None
    cpu_period: int | None = None
    cpu_weight: int | None = None
    devices: tuple[DeviceIo, ...] = ()
    threads: int | None = None
    threads_max: int | None = None


class FsReading(msgspec.Struct, frozen=True, kw_only=True):
    """A file system, and what someone uses of it."""

    time: float
    capacity: int | None = None
    available: int | None = None
    used: int | None = None
    inodes: int | None = None
    inodes_free: int | None = None
    inodes_used: int | None = None


class ContainerReading(msgspec.Struct, frozen=True, kw_only=True):
    """One container."""

    name: str
    id: str = ""
    image: str = ""
    cgroup: str = ""
    started_at: float = 0.0
    usage: CgroupReading | None = None
    processes: int | None = None
    rootfs: FsReading | None = None
    logs: FsReading | None = None


class VolumeReading(msgspec.Struct, frozen=True, kw_only=True):
    """One volume of a pod."""

    name: str
    fs: FsReading


class PodReading(msgspec.Struct, frozen=True, kw_only=True):
    """One pod with its containers; the sandbox is none of them."""

    namespace: str
    name: str
    uid: str
    cgroup: str = ""
    started_at: float = 0.0
    usage: CgroupReading | None = None
    containers: tuple[ContainerReading, ...] = ()
    network: tuple[InterfaceUse, ...] | None = None
    volumes: tuple[VolumeReading, ...] = ()
    ephemeral_storage: FsReading | None = None
    processes: int | None = None


class SystemReading(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the node that is no pod: ``kubelet``, or ``pods`` for all pods together."""

    name: str
    cgroup: str
    started_at: float = 0.0
    usage: CgroupReading | None = None


class NodeReading(msgspec.Struct, frozen=True, kw_only=True):
    """The node and everything on it."""

    name: str
    time: float
    started_at: float = 0.0
    usage: CgroupReading | None = None
    network: tuple[InterfaceUse, ...] | None = None
    fs: FsReading | None = None
    image_fs: FsReading | None = None
    container_fs: FsReading | None = None
    max_tasks: int | None = None
    tasks: int | None = None
    systems: tuple[SystemReading, ...] = ()
    pods: tuple[PodReading, ...] = ()


def read_cgroup(files: Mapping[str, str], time: float, *, in_detail: bool = False) -> CgroupReading | None:
    """A reading from a cgroup's files; None if the cgroup is gone."""
    if not files:
        return None
    return CgroupReading(
        time=time,
        cpu=cgroupfiles.flat_keyed(files.get("cpu.stat", "")),
        memory=cgroupfiles.flat_keyed(files.get("memory.stat", "")),
        memory_usage=cgroupfiles.amount(files.get("memory.current")),
        memory_limit=cgroupfiles.amount(files.get("memory.max")),
        swap_usage=cgroupfiles.amount(files.get("memory.swap.current")),
        swap_limit=cgroupfiles.amount(files.get("memory.swap.max")),
        cpu_pressure=cgroupfiles.pressure(files.get("cpu.pressure")),
        memory_pressure=cgroupfiles.pressure(files.get("memory.pressure")),
        io_pressure=cgroupfiles.pressure(files.get("io.pressure")),
        detail=_detail(files) if in_detail else None,
    )


def _detail(files: Mapping[str, str]) -> CgroupDetail:
    quota, _, period = files.get("cpu.max", "").partition(" ")
    return CgroupDetail(
        memory_peak=cgroupfiles.amount(files.get("memory.peak")),
        memory_min=cgroupfiles.amount(files.get("memory.min")),
        events=cgroupfiles.flat_keyed(files.get("memory.events", "")),
        cpu_quota=cgroupfiles.amount(quota),
        cpu_period=cgroupfiles.amount(period),
        cpu_weight=cgroupfiles.amount(files.get("cpu.weight")),
        devices=cgroupfiles.devices(files.get("io.stat")),
        threads=cgroupfiles.amount(files.get("pids.current")),
        threads_max=cgroupfiles.amount(files.get("pids.max")),
    )


def of_root(reading: CgroupReading, meminfo: Mapping[str, int]) -> CgroupReading:
    """The root cgroup, which has no memory files but memory.stat; the machine's own size is its limit."""
    stat = reading.memory
    has_stat = "anon" in stat and "file" in stat
    total, free = meminfo.get("MemTotal"), meminfo.get("MemFree")
    in_use = None if total is None or free is None else total - free
    swap, swap_free = meminfo.get("SwapTotal"), meminfo.get("SwapFree")
    return msgspec.structs.replace(
        reading,
        memory_usage=stat["anon"] + stat["file"] if has_stat else in_use,
        memory_limit=total,
        swap_usage=None if swap is None or swap_free is None else swap - swap_free,
        swap_limit=swap,
    )


def with_rate(reading: CgroupReading, earlier: CgroupReading | None) -> CgroupReading:
    """The reading with the cores used since an earlier one; too soon after it, with that one's rate."""
    if earlier is None or reading.cpu_ns is None or earlier.cpu_ns is None:
        return reading
    elapsed, used = reading.time - earlier.time, reading.cpu_ns - earlier.cpu_ns
    if used < 0:  # another cgroup of the same name
        return reading
    rate = earlier.usage_nano_cores if elapsed < RATE_WINDOW_S else int(used / elapsed)
    return msgspec.structs.replace(reading, usage_nano_cores=rate)
