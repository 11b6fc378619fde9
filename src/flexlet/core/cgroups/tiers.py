"""The QoS tiers: burstable, besteffort, and kubepods itself for Guaranteed pods.

The burstable tier weighs what its pods request together, by their desired spec: a resize counts from the moment it
is asked for, even while it waits. BestEffort pods share the least weight. There are no limits here (the alpha
QOSReserved excepted); huge pages are limited pod by pod.
"""

from collections.abc import Iterable, Sequence

from flexlet.api.pod import Pod
from flexlet.api.units import Bytes
from flexlet.core.cgroups import cpu, hugetlb, memoryqos
from flexlet.core.cgroups.settings import DEFAULTS, CgroupSettings
from flexlet.core.cgroups.values import CgroupValues
from flexlet.core.resources.amounts import cpu_milli, memory_bytes
from flexlet.core.resources.effective import pod_requests
from flexlet.core.resources.qos import BEST_EFFORT, BURSTABLE, GUARANTEED, recorded_qos_class


def tier_values(
    pods: Iterable[Pod],
    settings: CgroupSettings = DEFAULTS,
    *,
    hugepage_sizes: Sequence[int] = (),
    reserved_percent: int | None = None,
    allocatable_memory: int = 0,
) -> dict[str, CgroupValues]:
    """The values of the three tiers by QoS class, from the active pods.

    With `reserved_percent` (QOSReserved) a lower tier may not touch that part of what the tiers above request.
    """
    cpu_sum, memory_sums = _sums(pods)
    kubepods_min, burstable_low = _protection(memory_sums, settings)
    burstable_max, best_effort_max = _reserved(memory_sums, reserved_percent, allocatable_memory)
    unbounded = dict.fromkeys(hugepage_sizes, int(hugetlb.UNBOUNDED))
    return {
        GUARANTEED: CgroupValues(memory_min=kubepods_min, hugetlb=unbounded),
        BURSTABLE: CgroupValues(
            shares=cpu.shares(cpu_sum), memory_low=burstable_low, memory_max=burstable_max, hugetlb=unbounded
        ),
        BEST_EFFORT: CgroupValues(shares=cpu.MIN_SHARES, memory_max=best_effort_max, hugetlb=unbounded),
    }


def _sums(pods: Iterable[Pod]) -> tuple[int, dict[str, int]]:
    """Milli-CPU of Burstable pods, and memory by class."""
    cpu_sum, memory_sums = 0, {GUARANTEED: 0, BURSTABLE: 0}
    for pod in pods:
        qos = recorded_qos_class(pod)
        if qos in memory_sums:
            requests = pod_requests(pod)
            memory_sums[qos] += memory_bytes(requests)
            cpu_sum += cpu_milli(requests) if qos == BURSTABLE else 0
    return cpu_sum, memory_sums


def _protection(sums: dict[str, int], settings: CgroupSettings) -> tuple[Bytes | None, Bytes | None]:
    """A parent must cover what its children protect, or their protection is void."""
    if not settings.memory_qos:
        return None, None
    if not memoryqos.reserves(settings):
        return Bytes(0), Bytes(0)
    return Bytes(sums[GUARANTEED] + sums[BURSTABLE]), Bytes(sums[BURSTABLE])


def _reserved(sums: dict[str, int], percent: int | None, allocatable: int) -> tuple[Bytes | None, Bytes | None]:
    if percent is None or not allocatable:
        return None, None
    burstable = allocatable - sums[GUARANTEED] * percent // 100
    return Bytes(burstable), Bytes(burstable - sums[BURSTABLE] * percent // 100)
