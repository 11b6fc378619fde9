"""Whether the host's cgroups are such that pods can run on it."""

from typing import Final

from flexlet.core.machine.machine import Cgroups
from flexlet.errors import ConfigError

REQUIRED: Final = ("cpu", "cpuset", "memory", "pids")


def check(cgroups: Cgroups) -> None:
    """ConfigError, with what to do, if the host is on cgroup v1 or lacks a controller that pods need."""
    if not cgroups.unified:
        raise ConfigError(
            "this host is on cgroup v1, and flexlet needs cgroup v2 (a cgroup2 filesystem on /sys/fs/cgroup): "
            "boot with systemd.unified_cgroup_hierarchy=1, or without cgroup_no_v1 and the v1 mounts"
        )
    missing = [name for name in REQUIRED if name not in cgroups.controllers]
    if missing:
        raise ConfigError(
            f"cgroup v2 on this host lacks {', '.join(missing)} (see /sys/fs/cgroup/cgroup.controllers): "
            "the kernel was built without it, or started with cgroup_disable"
        )
