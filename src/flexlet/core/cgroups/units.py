"""cgroups as units of systemd, and the values of cgroup files as properties of units.

systemd writes what it knows into the files of its units whenever it sees fit, so it must know what we want. What
it has no property for is in the files alone: huge pages, which it leaves alone, and ``memory.oom.group``, which it
sets to 0 in slices; nobody sets that for more than a container.

Follows the systemd driver of opencontainers/cgroups 0.0.6 and systemd.resource-control(5).
"""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.core.cgroups import cpu

SLICE: Final = ".slice"
SCOPE: Final = ".scope"
INFINITY: Final = (1 << 64) - 1
_PER_SECOND: Final = 1_000_000
_PERIODS: Final = range(1000, _PER_SECOND + 1)
"""Microseconds that the kernel takes."""
_MAX: Final = "max"

_AMOUNTS: Final = {
    "memory.max": "MemoryMax",
    "memory.high": "MemoryHigh",
    "memory.low": "MemoryLow",
    "memory.min": "MemoryMin",
    "memory.swap.max": "MemorySwapMax",
    "cpu.weight": "CPUWeight",
    "pids.max": "TasksMax",
}
_SETS: Final = {"cpuset.cpus": "AllowedCPUs", "cpuset.mems": "AllowedMemoryNodes"}


class UnitProperty(msgspec.Struct, frozen=True):
    """A property with its D-Bus type."""

    name: str
    signature: str
    value: int | bool | str | bytes | tuple[str, ...]


def unit_of(path: str) -> str:
    """The unit whose cgroup this is, empty if it is none of systemd's.

    A slice must lie where its name says; what is below a scope is the runtime's own.
    """
    *above, name = path.split("/")
    if name.endswith(SLICE):
        return name if path == slice_path(name) else ""
    return name if name.endswith(SCOPE) and (not above or unit_of("/".join(above))) else ""


def slice_path(name: str) -> str:
    """Where a slice lies: ``a-b.slice`` is ``a.slice/a-b.slice``."""
    parts = name.removesuffix(SLICE).split("-")
    return "/".join("-".join(parts[: depth + 1]) + SLICE for depth in range(len(parts)))


def slices(path: str) -> Iterator[str]:
    """The slices on the way to a cgroup and itself, from the top."""
    parts = path.split("/")
    for depth in range(len(parts)):
        unit = unit_of("/".join(parts[: depth + 1]))
        if not unit.endswith(SLICE):
            return
        yield unit


def new_slice(unit: str) -> tuple[UnitProperty, ...]:
    """What a slice is made with: accounted for, below its parent, and not stopped before the runtime is."""
    above = unit.removesuffix(SLICE).rpartition("-")[0]
    counted = ("MemoryAccounting", "CPUAccounting", "IOAccounting", "TasksAccounting")
    return (
        UnitProperty("Description", "s", f"flexlet cgroup {unit}"),
        *([UnitProperty("Wants", "as", (above + SLICE,))] if above else []),
        *(UnitProperty(each, "b", value=True) for each in counted),
        UnitProperty("DefaultDependencies", "b", value=False),
    )


def rounded(files: Mapping[str, str]) -> dict[str, str]:
    """The files as systemd would write them: it knows whole percents of a CPU only."""
    return {name: _rounded_max(text) if name == "cpu.max" else text for name, text in files.items()}


def properties(files: Mapping[str, str]) -> tuple[UnitProperty, ...]:
    """The properties that say the same as the files, which the kernel has accepted."""
    return tuple(each for name, text in files.items() for each in _properties(name, text.strip()))


def _properties(name: str, text: str) -> Iterator[UnitProperty]:
    if name in _AMOUNTS:
        yield UnitProperty(_AMOUNTS[name], "t", _amount(name, text))
    elif name in _SETS:
        yield UnitProperty(_SETS[name], "ay", _bits(CpuSet.parse(text)))
    elif name == "cpu.max":
        quota, *period = text.split()
        if period:
            yield UnitProperty("CPUQuotaPeriodUSec", "t", int(period[0]))
        yield UnitProperty("CPUQuotaPerSecUSec", "t", _per_second(quota, *map(int, period)))


def _amount(name: str, text: str) -> int:
    if text == _MAX:
        return INFINITY
    # systemd takes no 0 for TasksMax, and runc sets 1 instead.
    return max(1, int(text)) if name == "pids.max" else int(text)


def _per_second(quota: str, period: int = cpu.DEFAULT_PERIOD) -> int:
    if quota == _MAX:
        return INFINITY
    per_second = int(quota) * _PER_SECOND // period
    return -(-per_second // cpu.SYSTEMD_STEP) * cpu.SYSTEMD_STEP


def _rounded_max(text: str) -> str:
    """What is no quota that the kernel takes is left to it to refuse."""
    quota, _, period = text.partition(" ")
    if (
        not quota.isdecimal()
        or not period.isdecimal()
        or int(quota) < cpu.MIN_QUOTA
        or int(period) not in _PERIODS
    ):
        return text
    return cpu.max_text(cpu.systemd_quota(int(quota), int(period)), int(period))


def _bits(wanted: CpuSet) -> bytes:
    """Bit 0 of the first byte is CPU 0; no bytes at all take the restriction away."""
    number = sum(1 << each for each in wanted)
    return number.to_bytes((number.bit_length() + 7) // 8, "little")
