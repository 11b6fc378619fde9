"""Plugging and unplugging as a whole, on the simulated hypervisor with a pretended guest."""

from collections.abc import Sequence

import msgspec
import pytest

from flexlet.adapters.guest.client import Completed
from flexlet.adapters.sim.hypervisor import SimHypervisor
from flexlet.api.cpuset import CpuSet
from flexlet.api.units import GIB, KIB, MIB
from flexlet.core.lab import devices
from flexlet.core.lab.devices import Dimm
from flexlet.core.lab.plans import Refused
from flexlet.core.lab.spec import MachineSpec
from flexlet.engine.lab import inside, sizing
from flexlet.engine.lab.inside import Inside
from flexlet.engine.lab.sizing import Change, Size, Wish
from flexlet.errors import HypervisorError

SPEC = MachineSpec("n1", cpus=2, max_cpus=4, memory=2 * GIB, max_memory=6 * GIB)
IMPATIENT_S = 0.05


class PretendedGuest:
    """Sees all that the hypervisor has; CPUs come online when they are told to."""

    def __init__(self, hypervisor: SimHypervisor) -> None:
        self._hypervisor = hypervisor
        self.online = CpuSet.of({0, 1})
        self.is_blind = False
        self.complaint = b""

    async def run(self, argv: Sequence[str], /) -> Completed:
        if "online" in argv[2] and "echo 1" in argv[2]:
            if self.complaint:
                return Completed(1, b"", self.complaint)
            self.online |= CpuSet.of(int(word) for word in argv[4:])
            return Completed(0)
        slots = devices.present(await self._hypervisor.cpus())
        present = CpuSet.of({0, 1}) if self.is_blind else CpuSet.of(slot.socket for slot in slots)
        memory = (await self._hypervisor.memory()).present // KIB
        return Completed(0, f"{present}\n{self.online & present}\n{memory}\n".encode())


def cpus(text: str) -> CpuSet:
    return CpuSet.parse(text)


async def plugged(hypervisor: SimHypervisor, *dimms: Dimm) -> SimHypervisor:
    for dimm in dimms:
        await hypervisor.plug(dimm)
    return hypervisor


async def test_what_is_plugged_comes_online_in_the_guest() -> None:
    hypervisor = SimHypervisor(SPEC)
    change = await sizing.plug(hypervisor, PretendedGuest(hypervisor), Wish(cpus=2, memory=GIB))
    assert change == Change(
        Size(2, 2 * GIB, Inside(cpus("0-1"), cpus("0-1"), 2 * GIB)),
        Size(4, 3 * GIB, Inside(cpus("0-3"), cpus("0-3"), 3 * GIB)),
    )


async def test_without_a_guest_the_machine_alone_changes() -> None:
    change = await sizing.plug(SimHypervisor(SPEC), None, Wish(cpus=1, memory=GIB, device="virtio-mem"))
    assert change == Change(Size(2, 2 * GIB), Size(3, 3 * GIB))


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        (Wish(cpus=3, memory=GIB), "NoFreeSlot"),
        (Wish(cpus=1, memory=5 * GIB), "BeyondMaximum"),
        (Wish(cpus=1, memory=5 * GIB, device="virtio-mem"), "BeyondMaximum"),
        (Wish(cpus=1, memory=MIB), "NotAligned"),
    ],
)
async def test_a_wish_that_cannot_be_granted_changes_nothing(wish: Wish, reason: str) -> None:
    """Not even the half of it that could."""
    hypervisor = SimHypervisor(SPEC)
    refusal = await sizing.plug(hypervisor, None, wish)
    assert isinstance(refusal, Refused)
    assert refusal.reason == reason
    assert await sizing.measure(hypervisor, None) == Size(2, 2 * GIB)


async def test_a_guest_that_does_not_notice_is_shown_as_it_is() -> None:
    hypervisor = SimHypervisor(SPEC)
    guest = PretendedGuest(hypervisor)
    guest.is_blind = True
    change = await sizing.plug(hypervisor, guest, Wish(cpus=1, patience_s=IMPATIENT_S))
    assert change == Change(
        Size(2, 2 * GIB, Inside(cpus("0-1"), cpus("0-1"), 2 * GIB)),
        Size(3, 2 * GIB, Inside(cpus("0-1"), cpus("0-1"), 2 * GIB)),
    )


async def test_a_cpu_that_does_not_come_online_is_a_fault() -> None:
    hypervisor = SimHypervisor(SPEC)
    guest = PretendedGuest(hypervisor)
    guest.complaint = b"write error: Input/output error\n"
    with pytest.raises(HypervisorError, match="cannot bring CPUs 2 online in the guest: write error"):
        await sizing.plug(hypervisor, guest, Wish(cpus=1))


async def test_both_go_out_again() -> None:
    hypervisor = SimHypervisor(SPEC)
    await sizing.plug(hypervisor, None, Wish(cpus=2, memory=2 * GIB))
    change = await sizing.unplug(hypervisor, PretendedGuest(hypervisor), Wish(cpus=2, memory=2 * GIB))
    assert isinstance(change, Change)
    assert (change.after.cpus, change.after.memory, change.refusal) == (2, 2 * GIB, None)


async def test_for_a_cpu_that_stays_another_one_goes() -> None:
    hypervisor = SimHypervisor(msgspec.structs.replace(SPEC, cpus=4), keeps={"vcpu-3-0-0"})
    change = await sizing.unplug(hypervisor, None, Wish(cpus=2))
    assert change == Change(Size(4, 2 * GIB), Size(2, 2 * GIB))
    assert [slot.socket for slot in devices.present(await hypervisor.cpus())] == [0, 3]


async def test_when_all_others_stay_it_says_how_far_it_came() -> None:
    hypervisor = SimHypervisor(msgspec.structs.replace(SPEC, cpus=4), keeps={"vcpu-2-0-0", "vcpu-1-0-0"})
    change = await sizing.unplug(hypervisor, None, Wish(cpus=2))
    assert change == Change(
        Size(4, 2 * GIB),
        Size(3, 2 * GIB),
        Refused(
            "GuestRefused",
            "1 of 2 CPUs unplugged: the guest keeps vcpu-1-0-0: the device is busy (ACPI status 130)",
        ),
    )


async def test_after_silence_nothing_else_is_tried() -> None:
    """What was asked for may still go; with another one there would be less than was wanted."""
    hypervisor = SimHypervisor(msgspec.structs.replace(SPEC, cpus=4), ignores={"vcpu-3-0-0"})
    change = await sizing.unplug(hypervisor, None, Wish(cpus=1, patience_s=7))
    assert change == Change(
        Size(4, 2 * GIB),
        Size(4, 2 * GIB),
        Refused(
            "TimedOut",
            "0 of 1 CPUs unplugged: the guest has not let vcpu-3-0-0 go within 7 s;"
            " it was asked and may still do so later",
        ),
    )


async def test_for_a_module_that_stays_one_of_its_size_goes() -> None:
    hypervisor = await plugged(SimHypervisor(SPEC, keeps={"dimm1"}), Dimm(0, GIB), Dimm(1, GIB))
    change = await sizing.unplug(hypervisor, None, Wish(memory=GIB))
    assert change == Change(Size(2, 4 * GIB), Size(2, 3 * GIB))
    assert (await hypervisor.memory()).dimms == (Dimm(1, GIB),)


@pytest.mark.parametrize(("stubborn", "reason"), [("keeps", "GuestRefused"), ("ignores", "TimedOut")])
async def test_a_module_that_stays_for_good_is_a_refusal(stubborn: str, reason: str) -> None:
    hypervisor = await plugged(SimHypervisor(SPEC, **{stubborn: {"dimm0"}}), Dimm(0, GIB))  # type: ignore[arg-type]
    change = await sizing.unplug(hypervisor, None, Wish(memory=GIB))
    assert isinstance(change, Change)
    assert change.refusal is not None
    assert change.refusal.reason == reason
    assert change.refusal.message.startswith("0 of 1Gi unplugged: the guest ")
    assert change.after == change.before


async def test_elastic_memory_that_does_not_shrink_is_a_refusal() -> None:
    hypervisor = SimHypervisor(SPEC, keeps={"vmem0"})
    await hypervisor.ask_elastic(GIB)
    wish = Wish(memory=GIB, device="virtio-mem", patience_s=IMPATIENT_S)
    assert await sizing.unplug(hypervisor, None, wish) == Change(
        Size(2, 3 * GIB),
        Size(2, 3 * GIB),
        Refused("TimedOut", "virtio-mem holds 1Gi and not 0 after 0.05 s; the guest goes on trying"),
    )


@pytest.mark.parametrize("wish", [Wish(cpus=2), Wish(memory=GIB), Wish(memory=GIB, device="virtio-mem")])
async def test_what_is_not_there_cannot_go(wish: Wish) -> None:
    hypervisor = SimHypervisor(SPEC)
    assert isinstance(await sizing.unplug(hypervisor, None, wish), Refused)
    assert await sizing.measure(hypervisor, None) == Size(2, 2 * GIB)


async def test_a_guest_that_answers_nonsense_is_a_fault() -> None:
    class Broken(PretendedGuest):
        async def run(self, argv: Sequence[str], /) -> Completed:
            del argv
            return Completed(1, b"", b"sh: cat: not found\n")

    with pytest.raises(HypervisorError, match="cannot read CPUs and memory in the guest: sh: cat: not found"):
        await inside.look(Broken(SimHypervisor(SPEC)))
