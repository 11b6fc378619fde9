"""What each family of ``/metrics/cadvisor`` is, as tables: name, kind, help, and where the value comes from."""

from collections.abc import Callable
from typing import Final

from flexlet.core.stats.cgroupfiles import DeviceIo, Pressure
from flexlet.core.stats.exposition import COUNTER, GAUGE
from flexlet.core.stats.procfiles import InterfaceUse
from flexlet.core.stats.readings import CgroupDetail, CgroupReading, FsReading

_MICRO: Final = 1e6

Value = Callable[[CgroupReading], float | None]


def _cpu(key: str, scale: float = 1.0) -> Value:
    return lambda usage: None if key not in usage.cpu else usage.cpu[key] / scale


def _quota_cpu(key: str, scale: float = 1.0) -> Value:
    """Only what has a quota is throttled."""
    read = _cpu(key, scale)
    return lambda usage: read(usage) if usage.detail and usage.detail.cpu_quota else None


def _memory(key: str) -> Value:
    return lambda usage: usage.memory.get(key)


def _detail(read: Callable[[CgroupDetail], float | None]) -> Value:
    return lambda usage: None if usage.detail is None else read(usage.detail)


def _pressure(which: str, kind: str) -> Value:
    def read(usage: CgroupReading) -> float | None:
        pressure: Pressure | None = getattr(usage, f"{which}_pressure")
        return None if pressure is None else getattr(pressure, kind).total / _MICRO

    return read


def _shares(detail: CgroupDetail) -> float | None:
    """The weight in the units of cgroup v1, which dashboards compare with requests."""
    weight = detail.cpu_weight
    return None if weight is None else 2 + (weight - 1) * 262142 // 9999


SIMPLE: Final[dict[str, tuple[str, str, Value]]] = {
    "container_cpu_user_seconds_total": (COUNTER, "User CPU time in seconds.", _cpu("user_usec", _MICRO)),
    "container_cpu_system_seconds_total": (COUNTER, "System CPU time in seconds.", _cpu("system_usec", _MICRO)),
    "container_cpu_cfs_periods_total": (COUNTER, "Elapsed enforcement periods.", _quota_cpu("nr_periods")),
    "container_cpu_cfs_throttled_periods_total": (COUNTER, "Throttled periods.", _quota_cpu("nr_throttled")),
    "container_cpu_cfs_throttled_seconds_total": (
        COUNTER,
        "Time the container has been throttled.",
        _quota_cpu("throttled_usec", _MICRO),
    ),
    "container_cpu_cfs_burst_periods_total": (COUNTER, "Periods with a burst.", _quota_cpu("nr_bursts")),
    "container_cpu_cfs_burst_seconds_total": (COUNTER, "Time spent in bursts.", _quota_cpu("burst_usec", _MICRO)),
    "container_memory_usage_bytes": (
        GAUGE,
        "Memory in use, reclaimable or not.",
        lambda usage: usage.memory_usage,
    ),
    "container_memory_working_set_bytes": (GAUGE, "Working set in bytes.", lambda usage: usage.working_set),
    "container_memory_rss": (GAUGE, "Anonymous memory in bytes.", _memory("anon")),
    "container_memory_cache": (GAUGE, "Page cache in bytes.", _memory("file")),
    "container_memory_mapped_file": (GAUGE, "Memory mapped files in bytes.", _memory("file_mapped")),
    "container_memory_kernel_usage": (GAUGE, "Kernel memory in bytes.", _memory("kernel")),
    "container_memory_total_active_file_bytes": (GAUGE, "Active file pages in bytes.", _memory("active_file")),
    "container_memory_total_inactive_file_bytes": (
        GAUGE,
        "Inactive file pages in bytes.",
        _memory("inactive_file"),
    ),
    "container_memory_swap": (GAUGE, "Swap usage in bytes.", lambda usage: usage.swap_usage),
    "container_memory_max_usage_bytes": (GAUGE, "Most memory ever used.", _detail(lambda d: d.memory_peak)),
    "container_memory_failcnt": (COUNTER, "Times the limit was hit.", _detail(lambda d: d.events.get("max"))),
    "container_oom_events_total": (COUNTER, "Out of memory events.", _detail(lambda d: d.events.get("oom"))),
    "container_threads": (GAUGE, "Threads in the container.", _detail(lambda d: d.threads)),
    "container_threads_max": (
        GAUGE,
        "Threads allowed, 0 for no limit.",
        _detail(lambda d: None if d.threads is None else d.threads_max or 0),
    ),
    "container_pressure_cpu_waiting_seconds_total": (COUNTER, "Some waited for CPU.", _pressure("cpu", "some")),
    "container_pressure_cpu_stalled_seconds_total": (COUNTER, "All waited for CPU.", _pressure("cpu", "full")),
    "container_pressure_memory_waiting_seconds_total": (
        COUNTER,
        "Some waited for memory.",
        _pressure("memory", "some"),
    ),
    "container_pressure_memory_stalled_seconds_total": (
        COUNTER,
        "All waited for memory.",
        _pressure("memory", "full"),
    ),
    "container_pressure_io_waiting_seconds_total": (COUNTER, "Some waited for IO.", _pressure("io", "some")),
    "container_pressure_io_stalled_seconds_total": (COUNTER, "All waited for IO.", _pressure("io", "full")),
}
"""Families with one sample per cgroup, at the time of its reading."""

SPEC: Final[dict[str, tuple[str, Value]]] = {
    "container_spec_cpu_period": ("CPU period of the container.", _detail(lambda d: d.cpu_period)),
    "container_spec_cpu_quota": ("CPU quota of the container.", _detail(lambda d: d.cpu_quota)),
    "container_spec_cpu_shares": ("CPU share of the container.", _detail(_shares)),
    "container_spec_memory_limit_bytes": (
        "Memory limit for the container, 0 for none.",
        lambda usage: None if usage.memory_usage is None else usage.memory_limit or 0,
    ),
    "container_spec_memory_swap_limit_bytes": (
        "Swap limit for the container, 0 for none.",
        lambda usage: None if usage.swap_usage is None else usage.swap_limit or 0,
    ),
    "container_spec_memory_reservation_limit_bytes": (
        "Memory reservation of the container.",
        _detail(lambda d: d.memory_min),
    ),
}
"""What was asked for; gauges without a time."""

NETWORK: Final[dict[str, Callable[[InterfaceUse], int]]] = {
    "container_network_receive_bytes_total": lambda use: use.rx_bytes,
    "container_network_receive_packets_total": lambda use: use.rx_packets,
    "container_network_receive_packets_dropped_total": lambda use: use.rx_dropped,
    "container_network_receive_errors_total": lambda use: use.rx_errors,
    "container_network_transmit_bytes_total": lambda use: use.tx_bytes,
    "container_network_transmit_packets_total": lambda use: use.tx_packets,
    "container_network_transmit_packets_dropped_total": lambda use: use.tx_dropped,
    "container_network_transmit_errors_total": lambda use: use.tx_errors,
}

DISK: Final[dict[str, Callable[[DeviceIo], int]]] = {
    "container_fs_reads_bytes_total": lambda io: io.read_bytes,
    "container_fs_writes_bytes_total": lambda io: io.written_bytes,
    "container_fs_reads_total": lambda io: io.reads,
    "container_fs_writes_total": lambda io: io.writes,
}

FS: Final[dict[str, Callable[[FsReading], int | None]]] = {
    "container_fs_usage_bytes": lambda fs: fs.used,
    "container_fs_limit_bytes": lambda fs: fs.capacity,
    "container_fs_inodes_free": lambda fs: fs.inodes_free,
    "container_fs_inodes_total": lambda fs: fs.inodes,
}
