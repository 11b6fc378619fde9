"""What launcher and QEMU use beside the guest's memory, measured.

The guest's memory is part of QEMU's: the kernel's list of mappings says how much of each is resident, and QEMU
says where the guest's are.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from flexlet.api.units import KIB, MIB
from flexlet.core.vm.qmp import Block

_PROC: Final = Path("/proc")
_MAPPING: Final = re.compile(rb"^([0-9a-f]+)-([0-9a-f]+) ")
STEP: Final = 4 * MIB
"""Reports change only with steps of this: nobody wants to hear of every page."""


def beside_guest(qemu: int, blocks: Iterable[Block]) -> int:
    """Resident bytes of us and of QEMU that are not the guest's; 0 if that cannot be read."""
    try:
        qemus = resident(_PROC / str(qemu) / "smaps", blocks)
        ours = resident(_PROC / str(os.getpid()) / "smaps", ())
    except OSError:
        return 0
    return (qemus + ours + STEP - 1) // STEP * STEP


def resident(smaps: Path, without: Iterable[Block]) -> int:
    """The proportional share of a process's mappings, less those that lie in the blocks."""
    guests, total, counts = tuple(without), 0, True
    with smaps.open("rb") as lines:
        for line in lines:
            if line.startswith(b"Pss:"):
                total += int(line.split()[1]) * KIB if counts else 0
            elif found := _MAPPING.match(line):
                start, end = int(found[1], 16), int(found[2], 16)
                counts = not any(start < block.start + block.size and block.start < end for block in guests)
    return total
