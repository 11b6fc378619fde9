"""What the agent's own process takes, under the names every Prometheus client uses. Blocks, if only on /proc."""

import os
import resource
from pathlib import Path
from typing import Final

from flexlet.core.stats import procfiles
from flexlet.core.stats.exposition import COUNTER, GAUGE, Family, Sample

_PROC: Final = Path("/proc")
_START_FIELD: Final = 19
"""Of /proc/PID/stat, counted after the name in brackets, which may hold spaces."""


def families() -> list[Family]:
    """CPU, memory and file descriptors of this process."""
    size, resident = (int(word) for word in (_PROC / "self/statm").read_text().split()[:2])
    page = resource.getpagesize()
    used = resource.getrusage(resource.RUSAGE_SELF)
    most_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    open_files = sum(1 for _ in (_PROC / "self/fd").iterdir())
    cpu = used.ru_utime + used.ru_stime
    return [
        Family("process_cpu_seconds_total", COUNTER, "CPU time spent in seconds.", [Sample(cpu)]),
        Family("process_resident_memory_bytes", GAUGE, "Memory in use.", [Sample(resident * page)]),
        Family("process_virtual_memory_bytes", GAUGE, "Address space in use.", [Sample(size * page)]),
        Family("process_open_fds", GAUGE, "Open file descriptors.", [Sample(open_files)]),
        Family("process_max_fds", GAUGE, "Most file descriptors allowed.", [Sample(most_files)]),
        start_time(),
    ]


def start_time() -> Family:
    """When this process started, in seconds since the epoch."""
    ticks = int((_PROC / "self/stat").read_text().rpartition(")")[2].split()[_START_FIELD])
    boot = procfiles.boot_time((_PROC / "stat").read_text()) or 0
    started = boot + ticks / os.sysconf("SC_CLK_TCK")
    return Family("process_start_time_seconds", GAUGE, "When the process started.", [Sample(started)])
