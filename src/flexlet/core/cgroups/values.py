"""The values of one cgroup, and the files they go into.

None leaves a file alone, which is not the same as ``max``: a pod that becomes unlimited needs the word written.
"""

from typing import Final

import msgspec

from flexlet.api.units import Bytes, CpuShares, CpuWeight, Microseconds
from flexlet.core.cgroups import cpu
from flexlet.core.cgroups.hugetlb import size_text

UNLIMITED: Final = Bytes(-1)


class CgroupValues(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a cgroup of the kubelet's own (pod, tier, root) shall be set to."""

    shares: CpuShares | None = None
    quota: Microseconds | None = None
    period: Microseconds | None = None
    memory_max: Bytes | None = None
    memory_min: Bytes | None = None
    memory_low: Bytes | None = None
    pids_max: int | None = None
    hugetlb: dict[int, int] = {}

    @property
    def weight(self) -> CpuWeight | None:
        """The shares as ``cpu.weight``."""
        return None if self.shares is None else cpu.linear_weight(self.shares)


def files(values: CgroupValues, hugepage_sizes: tuple[int, ...] = ()) -> dict[str, str]:
    """File name to text; huge page sizes of the host that the values do not mention are closed."""
    written = {
        "cpu.weight": _text(values.weight),
        "cpu.max": _cpu_max(values.quota, values.period),
        "memory.max": _limit_text(values.memory_max),
        "memory.min": _text(values.memory_min),
        "memory.low": _text(values.memory_low),
        "pids.max": _text(values.pids_max),
    }
    for size, limit in {**dict.fromkeys(hugepage_sizes, 0), **values.hugetlb}.items():
        written[f"hugetlb.{size_text(size)}.max"] = str(limit)
        written[f"hugetlb.{size_text(size)}.rsvd.max"] = str(limit)
    return {name: text for name, text in written.items() if text}


def _text(value: int | None) -> str:
    return "" if value is None else str(value)


def _limit_text(value: int | None) -> str:
    """A limit of 0 means that none is set, as in the runtimes' own configuration."""
    return "max" if value == UNLIMITED else _text(value or None)


def _cpu_max(quota: int | None, period: int | None) -> str:
    if quota is None and period is None:
        return ""
    return cpu.max_text(quota or 0, period or cpu.DEFAULT_PERIOD)
