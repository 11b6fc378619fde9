"""Emptying and removing cgroups, in a thread: bottom-up, killing what is left.

The kernel removes only cgroups without children and without processes, and a killed process is gone a little
later than the signal was sent; so killing and removing are repeated a few times.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from typing import Final

from flexlet.adapters.cgroupfs.faults import GONE, refused
from flexlet.errors import HostBusy

ATTEMPTS: Final = 5
_FIRST_WAIT_S: Final = 0.01


def remove(directory: str) -> None:
    """Remove a cgroup with all below it; HostBusy if its processes do not die."""
    wait_s = _FIRST_WAIT_S
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(wait_s)
            wait_s *= 4
        kill(directory)
        if _remove_once(directory):
            return
    left = list(processes(directory))
    raise HostBusy(f"cannot remove cgroup {directory}: processes {left} are still in it after {ATTEMPTS} kills")


def kill(directory: str) -> None:
    """Send SIGKILL to all processes in it and below; kernels before 5.14 are told one by one."""
    pids = list(processes(directory))
    if not pids:
        return
    try:
        with open(f"{directory}/cgroup.kill", "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write("1")
    except OSError:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def processes(directory: str) -> Iterator[int]:
    """Process ids in it and below."""
    try:
        with open(f"{directory}/cgroup.procs", encoding="utf-8") as file:  # noqa: PTH123
            yield from map(int, file.read().split())
    except OSError as error:
        if error.errno not in GONE:
            raise refused(error, f"read {directory}/cgroup.procs") from error
    for name in children(directory):
        yield from processes(f"{directory}/{name}")


def children(directory: str) -> list[str]:
    """Names of the cgroups directly below, sorted."""
    try:
        with os.scandir(directory) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return []


def _remove_once(directory: str) -> bool:
    """Whether it is gone now."""
    for name in children(directory):
        if not _remove_once(f"{directory}/{name}"):
            return False
    try:
        os.rmdir(directory)  # noqa: PTH106
    except FileNotFoundError:
        return True
    except OSError as error:
        busy = refused(error, f"remove cgroup {directory}")
        if isinstance(busy, HostBusy):
            return False
        raise busy from error
    return True
