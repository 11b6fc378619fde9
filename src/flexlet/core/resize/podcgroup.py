"""A pod's cgroup as it is read back, and as it will be read back once a value is written.

The kernel and the systemd driver round: weights are coarse, ``memory.max`` holds whole pages, systemd knows only
whole percents of a CPU. Comparing what is read with what was asked would see a difference for ever; compared are
the value read and the value that the wish reads back as.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from flexlet.core.cgroups import cpu
from flexlet.core.cgroups.paths import CGROUPFS, SYSTEMD
from flexlet.core.cgroups.values import CgroupValues

UNLIMITED: Final = -1


class PodCgroup(msgspec.Struct, frozen=True):
    """The three files that a resize concerns; -1 is unlimited."""

    weight: int
    quota: int
    memory_max: int
    period: int = cpu.DEFAULT_PERIOD


class Kernel(msgspec.Struct, frozen=True):
    """How this host rounds."""

    page_size: int = 4096
    driver: str = CGROUPFS


HOST: Final = Kernel()
"""Pages of 4 KiB, and nobody between us and the files."""


def of_files(texts: Mapping[str, str]) -> PodCgroup:
    """The values from the texts of ``cpu.weight``, ``cpu.max`` and ``memory.max``."""
    quota, period = cpu.parse_max(texts["cpu.max"])
    memory = texts["memory.max"].strip()
    return PodCgroup(
        weight=int(texts["cpu.weight"]),
        quota=quota,
        period=period,
        memory_max=UNLIMITED if memory == "max" else int(memory),
    )


def written(before: PodCgroup, values: CgroupValues, kernel: Kernel = HOST) -> PodCgroup:
    """What is read back after `values` were written; those that are None leave their file alone."""
    return PodCgroup(
        weight=before.weight if values.weight is None else values.weight,
        quota=before.quota if values.quota is None else _quota(values.quota, values.period, kernel),
        period=values.period or before.period,
        memory_max=_memory(values.memory_max, kernel) if values.memory_max else before.memory_max,
    )


def limit_order(value: int) -> float:
    """For comparing limits: no limit is the largest."""
    return float("inf") if value == UNLIMITED else value


def _quota(quota: int, period: int | None, kernel: Kernel) -> int:
    if quota <= 0:
        return UNLIMITED
    return cpu.systemd_quota(quota, period or cpu.DEFAULT_PERIOD) if kernel.driver == SYSTEMD else quota


def _memory(limit: int, kernel: Kernel) -> int:
    return limit if limit == UNLIMITED else limit // kernel.page_size * kernel.page_size
