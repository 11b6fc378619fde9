"""Amounts on the wire: what a container or sandbox may use.

Creating and updating differ. An update is merged into what the runtime remembers, where 0 means "as before": so
the quota is never sent alone, "no limit" is said as -1, and huge page limits, which never change and which
containerd would add again each time, stay out.
"""

from typing import Final

from flexlet.adapters.cri._gen import cri_pb2 as pb
from flexlet.api.units import Bytes, CpuShares, Microseconds
from flexlet.core.cgroups.containers import RuntimeResources
from flexlet.core.cgroups.cpu import DEFAULT_PERIOD

NO_QUOTA: Final = -1


def created(resources: RuntimeResources) -> pb.LinuxContainerResources:
    """What a new container or sandbox gets."""
    return pb.LinuxContainerResources(
        cpu_period=resources.cpu_period,
        cpu_quota=resources.cpu_quota,
        cpu_shares=resources.cpu_shares,
        memory_limit_in_bytes=resources.memory_limit,
        oom_score_adj=resources.oom_score_adj,
        hugepage_limits=[
            pb.HugepageLimit(page_size=size, limit=limit) for size, limit in resources.hugepage_limits.items()
        ],
        unified=resources.unified,
        cpuset_cpus=resources.cpuset_cpus,
        cpuset_mems=resources.cpuset_mems,
    )


def updated(resources: RuntimeResources) -> pb.LinuxContainerResources:
    """What a running container is changed to."""
    limited = resources.cpu_quota or resources.cpu_period
    return pb.LinuxContainerResources(
        cpu_period=(resources.cpu_period or DEFAULT_PERIOD) if limited else 0,
        cpu_quota=(resources.cpu_quota or NO_QUOTA) if limited else 0,
        cpu_shares=resources.cpu_shares,
        memory_limit_in_bytes=resources.memory_limit,
        oom_score_adj=resources.oom_score_adj,
        unified=resources.unified,
        cpuset_cpus=resources.cpuset_cpus,
        cpuset_mems=resources.cpuset_mems,
    )


def shown(wire: pb.LinuxContainerResources) -> RuntimeResources:
    """What the runtime says it was asked for."""
    return RuntimeResources(
        cpu_shares=CpuShares(wire.cpu_shares),
        cpu_quota=Microseconds(wire.cpu_quota),
        cpu_period=Microseconds(wire.cpu_period),
        memory_limit=Bytes(wire.memory_limit_in_bytes),
        oom_score_adj=wire.oom_score_adj,
        hugepage_limits={limit.page_size: limit.limit for limit in wire.hugepage_limits},
        unified=dict(wire.unified),
        cpuset_cpus=wire.cpuset_cpus,
        cpuset_mems=wire.cpuset_mems,
    )
