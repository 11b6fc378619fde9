"""CPU amounts in the kernel's units, and back.

A request becomes shares (cgroup v1's unit, still the kubelet's own) and then a weight; a limit becomes a quota of
microseconds per period. Two weight formulas are in use at once: the kubelet writes pod and tier cgroups with the
linear one, runc 1.3.2 and crun 1.23 write container cgroups with a logarithmic one that maps 1024 shares to the
kernel's default of 100. The way back is lossy; the read-back functions are what the kubelet reports.
"""

from math import ceil, log2
from typing import Final

from flexlet.api.units import CpuShares, CpuWeight, Microseconds, MilliCpu

SHARES_PER_CPU: Final = 1024
MIN_SHARES: Final = CpuShares(2)
MAX_SHARES: Final = CpuShares(262144)
MAX_WEIGHT: Final = CpuWeight(10000)
DEFAULT_PERIOD: Final = Microseconds(100_000)
MIN_QUOTA: Final = Microseconds(1000)
UNLIMITED: Final = Microseconds(-1)
SYSTEMD_STEP: Final = 10_000  # microseconds per second: one percent of a CPU


def shares(milli: int) -> CpuShares:
    """The shares of a request; none at all counts as the least."""
    return CpuShares(min(max(milli * SHARES_PER_CPU // 1000, MIN_SHARES), MAX_SHARES))


def quota(milli: int, period: int = DEFAULT_PERIOD) -> Microseconds:
    """The quota of a limit, 0 for no limit; the kernel takes no less than a millisecond."""
    return Microseconds(max(MIN_QUOTA, milli * period // 1000) if milli else 0)


def systemd_quota(quota: int, period: int = DEFAULT_PERIOD) -> Microseconds:
    """The quota that the systemd cgroup driver sets instead: up to a whole percent of a CPU."""
    per_second = quota * 1_000_000 // period
    if per_second % SYSTEMD_STEP == 0:
        return Microseconds(quota)
    whole = (per_second // SYSTEMD_STEP + 1) * SYSTEMD_STEP
    return Microseconds(whole * period // 1_000_000)


def linear_weight(shares: int) -> CpuWeight:
    """The ``cpu.weight`` of pod and tier cgroups."""
    if shares >= MAX_SHARES:
        return MAX_WEIGHT
    return CpuWeight(1 + (shares - 2) * 9999 // 262142)


def runtime_weight(shares: int) -> CpuWeight:
    """The ``cpu.weight`` of container cgroups; 0 leaves the file alone."""
    if shares == 0:
        return CpuWeight(0)
    if shares <= MIN_SHARES:
        return CpuWeight(1)
    if shares >= MAX_SHARES:
        return MAX_WEIGHT
    level = log2(shares)
    return CpuWeight(ceil(10 ** ((level * level + 125 * level) / 612 - 7 / 34)))


def shares_of_weight(weight: int) -> CpuShares:
    """The shares behind a pod's linear weight, as far as it still tells."""
    return CpuShares((weight - 1) * 262142 // 9999 + 2)


def milli_of_shares(shares: int) -> MilliCpu:
    """The request reported for shares; below the least there is none."""
    return MilliCpu(-(-shares * 1000 // SHARES_PER_CPU) if shares >= MIN_SHARES else 0)


def milli_of_quota(quota: int, period: int = DEFAULT_PERIOD) -> MilliCpu:
    """The limit reported for a quota; 0 means unlimited."""
    return MilliCpu(0 if quota == UNLIMITED else quota * 1000 // period)


def max_text(quota: int, period: int = DEFAULT_PERIOD) -> str:
    """The text for ``cpu.max``."""
    return f"{quota if quota > 0 else 'max'} {period}"


def parse_max(text: str) -> tuple[Microseconds, Microseconds]:
    """Quota (-1 if unlimited) and period, from the text of ``cpu.max``."""
    limit, period = text.split()
    return UNLIMITED if limit == "max" else Microseconds(int(limit)), Microseconds(int(period))
