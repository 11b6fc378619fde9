"""Which vCPUs and modules are plugged and unplugged."""

import msgspec
import pytest

from flexlet.api.units import GIB, MIB
from flexlet.core.lab.devices import CpuSlot, Dimm, Memory, VirtioMem
from flexlet.core.lab.plans import Refused
from flexlet.core.vm import plugging
from flexlet.core.vm.guest import Machine

MACHINE = Machine(name="db", sockets=1, max_sockets=4, min_memory=GIB, memory=GIB, max_memory=4 * GIB)
PAIRS = msgspec.structs.replace(MACHINE, cores=2)
ELASTIC = Memory(GIB, (), VirtioMem(0, 0, 3 * GIB, 2 * MIB))


def slots(full: set[int], sockets: int = 4, cores: int = 1) -> tuple[CpuSlot, ...]:
    return tuple(
        CpuSlot("t", {"socket-id": n, "core-id": core, "thread-id": 0}, f"/p/{n}-{core}" if n in full else "")
        for n in range(sockets)
        for core in range(cores)
    )


def places(found: tuple[CpuSlot, ...]) -> list[tuple[int, int, int]]:
    return [slot.place for slot in found]


def test_only_the_machines_own_places_count() -> None:
    assert len(plugging.usable(slots(set(), sockets=255), MACHINE)) == 4


@pytest.mark.parametrize(("vcpus", "whole"), [(0, 2), (1, 2), (2, 2), (3, 4)])
def test_vcpus_are_whole_sockets(vcpus: int, whole: int) -> None:
    assert plugging.whole(vcpus, PAIRS) == whole


def test_the_lowest_free_places_are_filled() -> None:
    plan = plugging.vcpus_to_plug(slots({0, 2}), 4)
    assert isinstance(plan, tuple)
    assert places(plan) == [(1, 0, 0), (3, 0, 0)]
    assert plugging.vcpus_to_plug(slots({0, 2}), 1) == ()
    assert plugging.vcpus_to_plug(slots({0}), 5) == Refused(
        "NoFreeSlot", "the machine was started for 4 vCPUs at most, not 5"
    )


def test_the_highest_socket_goes_first_and_whole_and_the_first_stays() -> None:
    assert [places(socket) for socket in plugging.sockets_to_unplug(slots({0, 1, 3}, cores=2))] == [
        [(3, 1, 0), (3, 0, 0)],
        [(1, 1, 0), (1, 0, 0)],
    ]


@pytest.mark.parametrize(
    ("target", "wish"),
    [
        (GIB, 0),
        (3 * GIB, 2 * GIB),
        (GIB + MIB, Refused("NotAligned", "1025Mi is not 1Gi and whole blocks of 2Mi")),
        (5 * GIB, Refused("BeyondMaximum", "the machine was started for 4Gi at most, not 5Gi")),
        (512 * MIB, Refused("TooLittle", "the machine was started with 1Gi that stay")),
    ],
)
def test_what_virtio_mem_is_asked_for(target: int, wish: int | Refused) -> None:
    assert plugging.elastic_wish(ELASTIC, target) == wish


def test_a_machine_without_virtio_mem_stays_as_it_is() -> None:
    assert plugging.elastic_wish(Memory(GIB), 2 * GIB) == Refused(
        "NoElasticMemory", "the machine was started with 1Gi for good"
    )


def test_modules_to_plug() -> None:
    some = Memory(GIB, (Dimm(0, GIB),))
    assert plugging.modules_to_plug(some, 3 * GIB + 512 * MIB, MACHINE) == (Dimm(1, GIB), Dimm(2, 512 * MIB))
    refusal = plugging.modules_to_plug(some, 5 * GIB, MACHINE)
    assert isinstance(refusal, Refused)
    assert refusal.reason == "BeyondMaximum"


def test_modules_never_take_more_than_they_should() -> None:
    memory = Memory(GIB, (Dimm(0, GIB), Dimm(1, GIB), Dimm(2, 512 * MIB)))
    assert plugging.modules_to_unplug(memory, 2 * GIB) == (Dimm(2, 512 * MIB), Dimm(1, GIB))
    assert plugging.modules_to_unplug(memory, 3 * GIB) == (Dimm(2, 512 * MIB),)
    assert plugging.modules_to_unplug(memory, 3 * GIB + 256 * MIB) == ()


def test_a_gap_is_told() -> None:
    assert plugging.gap(slots({0, 1})) is None
    refusal = plugging.gap(slots({0, 2}))
    assert refusal is not None
    assert refusal.reason == "Gap"
