"""Which vCPUs and memory modules take a machine from where it is to where it shall be.

vCPUs come at the lowest free places and go from the highest on, whole sockets at a time; the first socket stays,
because QEMU does not let the boot CPU go. A wish beyond what the machine was started with is a `Refused`.
"""

from itertools import groupby

from flexlet.core.lab import plans
from flexlet.core.lab.devices import CpuSlot, Dimm, Memory, VirtioMem, present
from flexlet.core.lab.plans import Refused
from flexlet.core.lab.spec import MEMORY_STEP, text_of
from flexlet.core.vm.bootline import vcpus_a_socket
from flexlet.core.vm.guest import Machine


def usable(slots: tuple[CpuSlot, ...], machine: Machine) -> tuple[CpuSlot, ...]:
    """The places that are meant for this machine; emulation has more."""
    return tuple(slot for slot in slots if slot.socket < machine.max_sockets)


def whole(vcpus: int, machine: Machine) -> int:
    """A number of vCPUs as whole sockets, at least one of them."""
    unit = vcpus_a_socket(machine)
    return max(-(-vcpus // unit), 1) * unit


def vcpus_to_plug(slots: tuple[CpuSlot, ...], vcpus: int) -> tuple[CpuSlot, ...] | Refused:
    """The places to fill, lowest first, so that there are that many vCPUs."""
    missing = vcpus - len(present(slots))
    free = sorted((slot for slot in slots if not slot.path), key=lambda slot: slot.place)
    if missing > len(free):
        return Refused("NoFreeSlot", f"the machine was started for {len(slots)} vCPUs at most, not {vcpus}")
    return tuple(free[: max(missing, 0)])


def sockets_to_unplug(slots: tuple[CpuSlot, ...]) -> tuple[tuple[CpuSlot, ...], ...]:
    """All sockets that may go, in the order in which they are tried; the last thread of each first."""
    movable = [slot for slot in present(slots) if slot.socket > 0]
    groups = [tuple(group)[::-1] for _, group in groupby(movable, key=lambda slot: slot.socket)]
    return tuple(groups[::-1])


def elastic_wish(memory: Memory, target: int) -> int | Refused:
    """What to ask virtio-mem for, so that the guest has that much in all."""
    if memory.elastic is None:
        return Refused("NoElasticMemory", f"the machine was started with {text_of(memory.base)} for good")
    wish = target - memory.base
    if wish < 0:
        return Refused("TooLittle", f"the machine was started with {text_of(memory.base)} that stay")
    if wish > memory.elastic.max_size:
        most = text_of(memory.base + memory.elastic.max_size)
        return Refused("BeyondMaximum", f"the machine was started for {most} at most, not {text_of(target)}")
    if wish % memory.elastic.block_size:
        block = text_of(memory.elastic.block_size)
        return Refused(
            "NotAligned", f"{text_of(target)} is not {text_of(memory.base)} and whole blocks of {block}"
        )
    return wish


def modules_to_plug(memory: Memory, target: int, machine: Machine) -> tuple[Dimm, ...] | Refused:
    """New modules, so that the guest has that much in all."""
    roomy = Memory(memory.base, memory.dimms, VirtioMem(0, 0, machine.max_memory - memory.base, MEMORY_STEP))
    return plans.dimms_to_plug(roomy, target - memory.asked)


def modules_to_unplug(memory: Memory, target: int) -> tuple[Dimm, ...]:
    """The modules that bring the guest nearest to that much without going below: newer ones rather than older."""
    excess = memory.present - target
    sums: dict[int, tuple[Dimm, ...]] = {0: ()}
    for dimm in sorted(memory.dimms, key=lambda dimm: -dimm.slot):
        for total, chosen in list(sums.items()):
            if total + dimm.size <= excess:
                sums.setdefault(total + dimm.size, (*chosen, dimm))
    return sums[max(sums)]


def gap(slots: tuple[CpuSlot, ...]) -> Refused | None:
    """A machine with an empty place below a full one cannot be built elsewhere from its number of vCPUs."""
    numbers = sorted({slot.socket for slot in present(slots)})
    if numbers == list(range(len(numbers))):
        return None
    return Refused(
        "Gap", f"vCPU sockets {numbers} leave a gap, as the guest kept a higher one: grow it first, then migrate"
    )
