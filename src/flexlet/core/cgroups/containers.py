"""What the runtime is asked to set for a container.

A container without a limit of its own inherits the pod-level limit; requests are never inherited. A container
without a CPU request gets the shares of its limit when it is created. Follows the kubelet of Kubernetes 1.36.3.

Updates differ: a resize names every amount, so a container without a CPU request is updated to the least shares
(kubernetes/kubernetes#135260). `with_amounts` builds the container that an update is computed from.
"""

import msgspec
from msgspec.structs import replace

from flexlet.api.pod import Container, Pod, ResourceList, ResourceRequirements
from flexlet.api.quantity import ZERO, Quantity
from flexlet.api.units import Bytes, CpuShares, Microseconds
from flexlet.core.cgroups import cpu, hugetlb, memoryqos, oom, swap
from flexlet.core.cgroups.settings import DEFAULTS, CgroupSettings, Host
from flexlet.core.resources.names import CPU, MEMORY
from flexlet.core.resources.qos import recorded_qos_class


class RuntimeResources(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """CRI's LinuxContainerResources; 0 and the empty text mean not set."""

    cpu_shares: CpuShares
    cpu_quota: Microseconds = Microseconds(0)
    cpu_period: Microseconds = Microseconds(0)
    memory_limit: Bytes = Bytes(0)
    oom_score_adj: int = 0
    hugepage_limits: dict[str, int] = {}
    unified: dict[str, str] = {}
    cpuset_cpus: str = ""
    """The CPUs it may run on, as the kernel lists them."""
    cpuset_mems: str = ""
    """The NUMA nodes that its memory may lie on."""


def container_resources(
    pod: Pod,
    container: Container,
    host: Host,
    settings: CgroupSettings = DEFAULTS,
    *,
    exclusive_cpus: bool = False,
) -> RuntimeResources:
    """Everything that CreateContainer and UpdateContainerResources carry for a container."""
    qos = recorded_qos_class(pod)
    pod_level = pod.spec.resources.limits if pod.spec.resources is not None else {}
    basic = runtime_resources(
        container.resources.requests.get(CPU),
        effective_limit(pod, container, CPU),
        effective_limit(pod, container, MEMORY),
        settings,
        exclusive_cpus=exclusive_cpus,
    )
    unified = dict(basic.unified)
    if (swap_max := swap.swap_max(pod, container, host, settings)) is not None:
        unified["memory.swap.max"] = str(swap_max)
    return replace(
        basic,
        oom_score_adj=oom.oom_score_adj(pod, container, host.memory, qos=qos),
        hugepage_limits=hugetlb.container_limits(pod_level, container.resources.limits, host.hugepage_sizes),
        unified=unified | memoryqos.container_files(qos, container, host, settings),
    )


def runtime_resources(
    cpu_request: Quantity | None,
    cpu_limit: Quantity,
    memory_limit: Quantity,
    settings: CgroupSettings = DEFAULTS,
    *,
    exclusive_cpus: bool = False,
) -> RuntimeResources:
    """The part that containers and sandboxes share."""
    period = settings.cpu_cfs_quota_period
    quota = cpu.UNLIMITED if exclusive_cpus else cpu.quota(cpu_limit.milli, period)
    return RuntimeResources(
        cpu_shares=cpu.shares((cpu_limit if cpu_request is None else cpu_request).milli),
        cpu_quota=quota if settings.cpu_cfs_quota else Microseconds(0),
        cpu_period=period if settings.cpu_cfs_quota else Microseconds(0),
        memory_limit=Bytes(memory_limit.value),
        unified={} if settings.single_process_oom_kill else {"memory.oom.group": "1"},
    )


def effective_limit(pod: Pod, container: Container, name: str) -> Quantity:
    """The container's own limit, else the pod's, else zero for none."""
    own = container.resources.limits.get(name, ZERO)
    if own or pod.spec.resources is None:
        return own
    return pod.spec.resources.limits.get(name, ZERO)


def with_amounts(
    container: Container, *, cpu_request: int, cpu_limit: int, memory_request: int, memory_limit: int
) -> Container:
    """The container as an update sees it: every amount present, even zero, and nothing else."""
    requests = _amounts(cpu_request, memory_request)
    limits = _amounts(cpu_limit, memory_limit)
    return replace(container, resources=ResourceRequirements(requests=requests, limits=limits))


def files(resources: RuntimeResources, *, logarithmic: bool = True) -> dict[str, str]:
    """What a runtime writes into the container's cgroup; older runtimes use the linear weight."""
    weight = (cpu.runtime_weight if logarithmic else cpu.linear_weight)(resources.cpu_shares)
    written = {"cpu.weight": str(weight)}
    if resources.cpu_quota or resources.cpu_period:
        written["cpu.max"] = cpu.max_text(resources.cpu_quota, resources.cpu_period)
    if resources.memory_limit:
        written["memory.max"] = str(resources.memory_limit)
    if resources.cpuset_cpus:
        written["cpuset.cpus"] = resources.cpuset_cpus
    if resources.cpuset_mems:
        written["cpuset.mems"] = resources.cpuset_mems
    for size, limit in resources.hugepage_limits.items():
        written[f"hugetlb.{size}.max"] = written[f"hugetlb.{size}.rsvd.max"] = str(limit)
    return written | resources.unified


def _amounts(cpu_milli: int, memory: int) -> ResourceList:
    return {CPU: Quantity.of_milli(cpu_milli), MEMORY: Quantity.of_bytes(memory)}
