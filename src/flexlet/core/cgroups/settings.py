"""What the operator and the machine decide about cgroups, apart from any pod."""

from typing import Final

import msgspec

from flexlet.api.units import Bytes, Microseconds
from flexlet.core.cgroups.cpu import DEFAULT_PERIOD

NO_RESERVATION: Final = "None"
TIERED_RESERVATION: Final = "TieredReservation"
NO_SWAP: Final = "NoSwap"
LIMITED_SWAP: Final = "LimitedSwap"


class CgroupSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of KubeletConfiguration that decide cgroup values, with its defaults on cgroup v2."""

    cpu_cfs_quota: bool = True
    cpu_cfs_quota_period: Microseconds = DEFAULT_PERIOD
    pod_pids_limit: int = -1
    single_process_oom_kill: bool = False
    memory_swap_behavior: str = NO_SWAP
    memory_qos: bool = False
    memory_reservation_policy: str = NO_RESERVATION
    memory_throttling_factor: float = 0.9


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of the machine that container values depend on."""

    memory: Bytes
    swap: Bytes = Bytes(0)
    allocatable_memory: Bytes = Bytes(0)
    swap_controller: bool = True
    page_size: int = 4096
    hugepage_sizes: tuple[Bytes, ...] = ()


DEFAULTS: Final = CgroupSettings()
