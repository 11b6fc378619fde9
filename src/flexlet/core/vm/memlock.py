"""Memory that devices reach by themselves: what must be locked for them, and in what blocks it may come and go."""

from typing import Final

from flexlet.api.units import MIB
from flexlet.core.vm.guest import ANY, AS_IT_IS
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


def lock_limit(wanted: Wanted) -> int:
    """RLIMIT_MEMLOCK of QEMU for a device that is attached: any amount, or as it is if nothing is locked.

    Any amount, as in KubeVirt: one that was computed for a machine broke its devices at a later grow.
    """
    return ANY if needs_lock(wanted) else AS_IT_IS
