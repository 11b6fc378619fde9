"""Memory that devices reach by themselves: what must be locked for them, and in what blocks it may come and go."""

from typing import Final

from flexlet.api.units import MIB
from flexlet.core.vm.wish import Wanted

BLOCK: Final = 2 * MIB
MAPPINGS: Final = 32768
"""Blocks that virtio-mem may have beside VFIO: half of the 65535 mappings that the kernel allows by default."""


def block_size(pluggable: int, page_size: int, *, has_vfio: bool) -> int:
    """The smallest power of two that pages and, with VFIO, the number of DMA mappings allow."""
    least = max(BLOCK, page_size, -(-pluggable // MAPPINGS) if has_vfio else 0)
    return 1 << (least - 1).bit_length()


def needs_lock(wanted: Wanted) -> bool:
    """Whether the guest's memory may not be moved or swapped."""
    if wanted.mem_lock:
        return wanted.mem_lock == "Required"
    return wanted.has_vfio or wanted.is_encrypted


def lock_limit(wanted: Wanted, overhead: int, *, unlimited: bool = False) -> int | None:
    """RLIMIT_MEMLOCK of QEMU before a device is attached; None: no limit. 0: as it is, nothing is locked.

    It covers all that the guest may ever have: a limit for what it has now would break the device at a later grow.
    `overhead` is without what was added for devices, which comes on top.
    """
    if not needs_lock(wanted):
        return 0
    return None if unlimited else wanted.max_memory + overhead + wanted.added_overhead
