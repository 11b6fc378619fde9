"""Which devices a wish comes to: the slots to fill, the modules to make, the ones to take out.

A wish that cannot be granted is a `Refused`, with the word scripts can test and the sentence people can act on.
What is planned here always fits: the machine's limit, its free slots, and whole memory blocks.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from flexlet.api.units import GIB
from flexlet.core.lab.devices import CpuSlot, Dimm, Memory, present
from flexlet.core.lab.spec import MEMORY_STEP, text_of

DIMM_SLOTS: Final = 32
MODULE: Final = GIB  # small modules: memory comes out only as whole modules, and a small one is sooner free


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The answer is no; `reason` is one word, `message` says what to do."""

    reason: str
    message: str


def cpus_to_plug(slots: tuple[CpuSlot, ...], count: int) -> tuple[CpuSlot, ...] | Refused:
    """The lowest free slots."""
    free = sorted((slot for slot in slots if not slot.path), key=lambda slot: slot.place)
    if len(free) < count:
        return Refused(
            "NoFreeSlot",
            f"cannot plug {count} CPUs: {len(free)} of {len(slots)} slots are free; create the machine with more"
            " --max-cpus",
        )
    return tuple(free[:count])


def cpus_to_unplug(slots: tuple[CpuSlot, ...], count: int) -> tuple[CpuSlot, ...] | Refused:
    """All CPUs that can go, highest first: the first `count` are wanted, the rest are tried if one refuses."""
    movable = present(slots)[1:]  # the boot CPU stays: QEMU does not unplug it
    if len(movable) < count:
        return Refused("TooFew", f"cannot unplug {count} CPUs: {len(movable)} can go, and the boot CPU stays")
    return movable[::-1]


def dimms_to_plug(memory: Memory, size: int) -> tuple[Dimm, ...] | Refused:
    """Modules of 1 GiB and one for the rest; a single big one when there are fewer free slots than that."""
    refusal = _misfit(memory, size, MEMORY_STEP)
    if refusal:
        return refusal
    taken = {dimm.slot for dimm in memory.dimms}
    free = [slot for slot in range(DIMM_SLOTS) if slot not in taken]
    sizes = [MODULE] * (size // MODULE) + ([size % MODULE] if size % MODULE else [])
    if len(sizes) > len(free):
        sizes = [size]
    if not free:
        return Refused("NoFreeSlot", f"all {DIMM_SLOTS} memory slots are taken; plug with --device virtio-mem")
    return tuple(Dimm(slot, part) for slot, part in zip(free, sizes, strict=False))


def elastic_size(memory: Memory, change: int) -> int | Refused:
    """What to ask the elastic memory for, so that it changes by that much."""
    if memory.elastic is None:
        return Refused("NoElasticMemory", "the machine has no virtio-mem: its --max-memory equals its --memory")
    if change > 0:
        return _misfit(memory, change, memory.elastic.block_size) or memory.elastic.requested + change
    if -change % memory.elastic.block_size:
        return _ragged(-change, memory.elastic.block_size)
    if memory.elastic.requested + change < 0:
        return Refused(
            "TooLittle",
            f"virtio-mem holds {text_of(memory.elastic.requested)}: less than {text_of(-change)} to take",
        )
    return memory.elastic.requested + change


def dimms_to_unplug(memory: Memory, size: int) -> tuple[Dimm, ...] | Refused:
    """Modules that add up to exactly that size; newer ones rather than older ones."""
    if size % MEMORY_STEP:
        return _ragged(size, MEMORY_STEP)
    sums: dict[int, tuple[Dimm, ...]] = {0: ()}
    for dimm in sorted(memory.dimms, key=lambda dimm: -dimm.slot):
        for total, chosen in list(sums.items()):
            sums.setdefault(total + dimm.size, (*chosen, dimm))
    if size in sums:
        return sums[size]
    return Refused("NoSuchModules", f"no modules add up to {text_of(size)}: {_choices(sums)}")


def spare(memory: Memory, refused: Dimm, tried: Iterable[Dimm]) -> Dimm | None:
    """Another module of the same size, for one that did not come out."""
    taken = set(tried)
    same = [dimm for dimm in memory.dimms if dimm.size == refused.size and dimm not in taken]
    return max(same, key=lambda dimm: dimm.slot, default=None)


def _choices(sums: Iterable[int]) -> str:
    sizes = sorted(total for total in sums if total)
    if not sizes:
        return "none is plugged"
    shown = ", ".join(text_of(total) for total in sizes[:8])
    return f"possible are {shown}{' ...' if len(sizes) > 8 else ''}"


def _misfit(memory: Memory, size: int, step: int) -> Refused | None:
    if size % step:
        return _ragged(size, step)
    if memory.asked + size > memory.limit:
        room = max(memory.limit - memory.asked, 0)
        return Refused(
            "BeyondMaximum",
            f"cannot plug {text_of(size)}: {text_of(room)} is left below the machine's maximum of"
            f" {text_of(memory.limit)}",
        )
    return None


def _ragged(size: int, step: int) -> Refused:
    return Refused("NotAligned", f"{text_of(size)} is not a multiple of {text_of(step)}")
