"""The values of a pod's cgroup.

Shares follow the effective request. Limits are written only where they hold for the whole pod: a pod-level limit,
or a limit in every container, since one container without a limit may use what it likes. Follows
``ResourceConfigForPod`` of Kubernetes 1.36.3, which judges an init container together with the sidecars started
before it (1.37 looks at each container alone).

Must stay true: raising a request or a limit never lowers a value.
"""

from flexlet.api.pod import Pod, ResourceList
from flexlet.core.cgroups import cpu, hugetlb, memoryqos
from flexlet.core.cgroups.settings import DEFAULTS, CgroupSettings
from flexlet.core.cgroups.values import CgroupValues
from flexlet.core.resources.amounts import cpu_milli, memory_bytes
from flexlet.core.resources.effective import init_moments, pod_limits, pod_requests
from flexlet.core.resources.names import CPU, MEMORY
from flexlet.core.resources.qos import BEST_EFFORT, GUARANTEED, recorded_qos_class


def pod_cgroup(
    pod: Pod, settings: CgroupSettings = DEFAULTS, *, qos: str | None = None, exclusive_cpus: bool = False
) -> CgroupValues:
    """What the kubelet writes; `qos` overrides the recorded class, `exclusive_cpus` lifts the quota."""
    return pod_cgroup_of(pod, pod_requests(pod), pod_limits(pod), settings, qos=qos, exclusive_cpus=exclusive_cpus)


def pod_cgroup_of(
    pod: Pod,
    requests: ResourceList,
    limits: ResourceList,
    settings: CgroupSettings = DEFAULTS,
    *,
    qos: str | None = None,
    exclusive_cpus: bool = False,
) -> CgroupValues:
    """`pod_cgroup` for callers that have the effective requests and limits at hand."""
    qos = qos or recorded_qos_class(pod)
    guaranteed, limited = qos == GUARANTEED, qos != BEST_EFFORT
    memory_min, memory_low = memoryqos.pod_protection(qos, memory_bytes(requests), settings)
    has_quota = limited and (guaranteed or limited_throughout(pod, CPU))
    has_memory = limited and (guaranteed or limited_throughout(pod, MEMORY))
    unlimited = exclusive_cpus or not settings.cpu_cfs_quota
    quota = cpu.UNLIMITED if unlimited else cpu.quota(cpu_milli(limits), settings.cpu_cfs_quota_period)
    return CgroupValues(
        shares=cpu.shares(cpu_milli(requests)) if limited else cpu.MIN_SHARES,
        quota=quota if has_quota else None,
        period=settings.cpu_cfs_quota_period if has_quota else None,
        memory_max=memory_bytes(limits) if has_memory else None,
        memory_min=memory_min,
        memory_low=memory_low,
        pids_max=settings.pod_pids_limit if settings.pod_pids_limit > 0 else None,
        hugetlb=hugetlb.by_size(requests),
    )


def limited_throughout(pod: Pod, name: str) -> bool:
    """Whether a limit holds at every moment of the pod's life."""
    spec = pod.spec
    if spec.resources is not None and spec.resources.limits.get(name):
        return True
    if not all(container.resources.limits.get(name) for container in spec.containers):
        return False
    moments = init_moments([(c.is_sidecar, c.resources.limits) for c in spec.init_containers])
    return all(moment.get(name) for moment in moments)
