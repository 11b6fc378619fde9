import msgspec
import pytest
from tests.core.detection.life import ON, Life, machine, waiting

from flexlet.api.cpuset import CpuSet
from flexlet.api.units import GIB, MIB, Bytes
from flexlet.core.detection import policy
from flexlet.core.detection.observations import Hinted
from flexlet.core.detection.steps import Apply, Note, Online
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.machine.machine import Machine
from flexlet.core.machine.parts import Kind, Part
from flexlet.errors import ConfigError

CPU4, BLOCK64 = Part("cpu", 4), Part("memory", 64)
WITH_CPU4 = waiting(machine(), offline_cpus=CpuSet.of([4]))
WITH_BLOCK = waiting(machine(blocks=(63, 64)), offline_blocks=(64,))


def settings(**fields: object) -> ResizeSettings:
    return msgspec.structs.replace(ON, **fields)


def test_udev_gets_two_seconds_and_then_it_is_done() -> None:
    """A CPU that was plugged counts only when it is online."""
    life = Life()
    life.refusal = ""
    life.become(WITH_CPU4)
    life.pass_to(2.1)
    assert life.steps == [(2.0, Online(CPU4))]
    assert life.detector.half_plugged() == {"cpu": 1, "memory": 0}
    life.become(machine("0-4"))
    life.pass_to(9)
    assert life.steps[1:] == [(2.6, Apply(machine=machine("0-4"), seen_at=2.0))]
    assert life.detector.half_plugged() == {"cpu": 0, "memory": 0}


def test_udev_was_quicker() -> None:
    life = Life()
    life.become(WITH_CPU4)
    life.pass_to(1)
    life.become(machine("0-4"))
    life.pass_to(9)
    assert life.steps == [(1.5, Apply(machine=machine("0-4"), seen_at=1.0))]


def test_a_refusal_is_tried_again_a_hundred_times() -> None:
    """Every 50 ms; then the node says that the part is half-plugged, and why."""
    life = Life()
    life.refusal = "cannot write 1 to cpu4: EIO"
    life.become(WITH_CPU4)
    life.pass_to(60)
    tries = [at for at, step in life.steps if isinstance(step, Online)]
    assert (len(tries), tries[:3], tries[-1]) == (100, [2.0, 2.05, 2.1], 6.95)
    told = "cpu4 plugged and offline: the kernel does not bring them online: cannot write 1 to cpu4: EIO"
    assert life.steps[100:] == [(6.95, Note("HalfPlugged", told))]


def test_a_write_that_did_nothing_is_repeated() -> None:
    """The kernel said yes and the part is offline all the same."""
    life = Life()
    life.refusal = ""
    life.become(WITH_CPU4)
    life.pass_to(6.5)
    assert life.steps == [(2.0, Online(CPU4)), (4.0, Online(CPU4)), (6.0, Online(CPU4))]


@pytest.mark.parametrize("name", ["none", "cpu"])
def test_what_is_not_ours_is_told(name: str) -> None:
    """S14: nobody brings the memory online, so the capacity stays and the node says so."""
    life = Life(settings=settings(online_policy=name))
    life.become(WITH_BLOCK)
    life.pass_to(9)
    note = Note("HalfPlugged", "memory64 plugged and offline: nobody brings them online")
    assert life.steps == [(2.0, note)]
    life.become(machine(memory=9 * GIB, blocks=(63, 64)))
    life.pass_to(20)
    grown = machine(memory=9 * GIB, blocks=(63, 64))
    assert life.steps[1:] == [(9.0, Note("Stable")), (9.5, Apply(machine=grown, seen_at=9.0))]


def test_memory_is_brought_online_where_it_is_ours() -> None:
    """The other half of S14."""
    life = Life(settings=settings(online_policy="memory", memory_online_as="online_kernel"))
    life.refusal = ""
    life.become(WITH_BLOCK)
    life.pass_to(2)
    assert life.steps == [(2.0, Online(BLOCK64, "online_kernel"))]


def test_parts_that_an_admin_keeps_offline() -> None:
    """By name, or because they were online before and somebody took them offline."""
    life = Life(settings=settings(keep_offline=("cpu4",)))
    life.become(WITH_CPU4)
    life.pass_to(9)
    without = waiting(machine("0-2"), offline_cpus=CpuSet.of([3, 4]))
    life.become(without)
    life.pass_to(20)
    assert life.steps == [(9.1, Apply(machine=without, seen_at=9.0))]
    assert life.detector.half_plugged() == {"cpu": 0, "memory": 0}


def test_a_part_that_comes_anew_is_no_longer_kept_offline() -> None:
    """Unplugged and plugged again, even between two looks."""
    life = Life(waiting(machine("0-4")))
    life.become(WITH_CPU4)
    life.pass_to(9)
    assert [step for _, step in life.steps if isinstance(step, Online)] == []
    life.detector.learn(Hinted("uevent", life.now, CPU4))
    life.pass_to(12)
    assert life.steps[1:2] == [(11.0, Online(CPU4))]


def test_parts_that_are_to_be_left_alone() -> None:
    """Whoever prepares an unplug says so."""
    life = Life(WITH_CPU4)
    life.detector.leave([CPU4])
    life.pass_to(9)
    assert life.steps == []


def test_a_block_on_its_way_out_is_looked_at_each_second() -> None:
    life = Life()
    life.become(waiting(machine(blocks=(1,)), leaving_blocks=(1,)))
    life.pass_to(4)
    assert [at for at, _ in life.looks] == [0.0, 0.5, 1.5, 2.5, 3.5]
    life.machine = waiting(machine(memory=7 * GIB, blocks=(1,)), offline_blocks=(1,))
    life.pass_to(9)
    assert life.steps == [(4.6, Apply(machine=life.machine, seen_at=4.5))]


def test_a_cpu_without_a_place_is_looked_at_for_a_while() -> None:
    """Ten times in two seconds; after that with the usual looks, thoroughly."""
    life = Life()
    life.become(waiting(machine(), settling_cpus=CpuSet.of([4])))
    life.pass_to(12)
    assert [at for at, _ in life.looks] == [0.0, 0.2, 0.4, 0.5, 0.7, 0.9, 1.1, 1.3, 1.5, 1.7, 1.9, 10.0]
    assert {what for _, what in life.looks[1:]} == {"everything"}
    assert life.detector.half_plugged() == {"cpu": 1, "memory": 0}


@pytest.mark.parametrize(
    ("name", "auto_online", "udev", "ours"),
    [
        ("auto", "offline", set(), {"cpu", "memory"}),
        ("auto", "", set(), {"cpu", "memory"}),
        ("auto", "online", set(), {"cpu"}),
        ("auto", "online_movable", {"cpu"}, set()),
        ("auto", "offline", {"cpu"}, {"memory"}),
        ("auto", "offline", {"cpu", "memory"}, set()),
        ("none", "offline", set(), set()),
        ("all", "online", {"cpu", "memory"}, {"cpu", "memory"}),
        ("cpu", "offline", {"cpu"}, {"cpu"}),
        ("memory", "online", set(), {"memory"}),
    ],
)
def test_who_brings_parts_online(name: str, auto_online: str, udev: set[Kind], ours: set[Kind]) -> None:
    """By default whoever else does it; a setting is a setting."""
    found = machine(auto_online=auto_online)
    assert policy.ours(settings(online_policy=name), found, frozenset(udev)) == ours


def test_movable_memory_has_a_limit() -> None:
    """At most three times what the kernel can use for itself, counting the blocks of the same moment."""
    found = waiting(
        machine(memory=4 * GIB, movable=Bytes(3 * GIB - 128 * MIB), blocks=(0, 1, 2, 3)), offline_blocks=(1, 2, 3)
    )
    life = Life(found, settings(memory_online_as="online_movable", online_policy="all"))
    life.refusal = ""
    life.pass_to(2)
    zones = [step.as_ for _, step in life.steps if isinstance(step, Online)]
    assert zones == ["online_movable"] * 3
    tight = msgspec.structs.replace(found, movable=Bytes(3 * GIB - 64 * MIB), memory=Bytes(4 * GIB - 64 * MIB))
    again = Life(tight, settings(memory_online_as="online_movable", online_policy="all"))
    again.refusal = ""
    again.pass_to(2)
    zones = [step.as_ for _, step in again.steps if isinstance(step, Online)]
    assert zones == ["online_movable", "online_kernel", "online_kernel"]


def test_a_name_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="cannot read 'cpu-3' as a part of the machine"):
        Life(Machine(), settings(keep_offline=("cpu-3",)))
