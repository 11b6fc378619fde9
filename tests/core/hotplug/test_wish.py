from typing import Any

import pytest
from tests.core.hotplug import nodes

from flexlet.api.cpuset import CpuSet
from flexlet.api.units import Bytes
from flexlet.core.hotplug import wish
from flexlet.core.hotplug.wish import Target, Unwilling
from flexlet.core.machine.machine import Cpu, HalfPlugged, NumaNode
from flexlet.core.machine.parts import Part
from flexlet.core.managers.settings import ManagerSettings

GIB = 1024**3
BLOCKS: dict[str, Any] = {"block_size": Bytes(GIB), "blocks": tuple(range(8))}
THREADS = tuple(Cpu(cpu, core=cpu % 4, socket=0, numa=0, cache=0) for cpu in range(8))
WHOLE = ManagerSettings(cpu_policy="static", cpu_options=frozenset({"full-pcpus-only"}))


def numbers(found: tuple[Part, ...] | Unwilling) -> str:
    assert not isinstance(found, Unwilling)
    return " ".join(map(str, found))


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ('{"cpu": "2"}', Target(2, Bytes(8 * GIB))),
        ('{"cpu": 2, "memory": "4Gi"}', Target(2, Bytes(4 * GIB))),
        ('{"cpu": "16", "memory": "4096Mi"}', Target(4, Bytes(4 * GIB))),
        ("{}", Target(4, Bytes(8 * GIB))),
    ],
)
def test_a_wish_names_what_shall_be_left(text: str, target: Target) -> None:
    """What is not named stays, and nothing grows."""
    assert wish.read(text, nodes.machine(), nodes.SETTINGS) == target


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("4 CPUs", "cannot read annotation flexlet.io/desired-capacity '4 CPUs'"),
        ('["cpu"]', "cannot read annotation"),
        ('{"cpu": "four"}', "quantities must match"),
        ('{"cpu": "2", "pods": "4"}', "names pods; only cpu and memory can be unplugged"),
        ('{"cpu": "1500m"}', "asks for cpu 1500m: CPUs are unplugged whole"),
        ('{"cpu": "0"}', "asks for cpu 0: something must be left"),
        ('{"memory": "-1Gi"}', "asks for memory -1Gi: something must be left"),
        ('{"memory": "1Gi"}', "asks for memory 1Gi: 1124Mi of it is reserved for daemons"),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused_in_words(text: str, words: str) -> None:
    found = wish.read(text, nodes.machine(), nodes.SETTINGS)
    assert isinstance(found, Unwilling)
    assert words in found.why


@pytest.mark.parametrize(
    ("target", "machine", "managing", "movable", "parts"),
    [
        (Target(2, Bytes(8 * GIB)), {}, ManagerSettings(), (), "cpu3 cpu2"),
        (Target(1, Bytes(8 * GIB)), {}, ManagerSettings(reserved_cpus=CpuSet.of([3])), (), "cpu3 cpu2 cpu1"),
        (Target(3, Bytes(8 * GIB)), {}, ManagerSettings(reserved_cpus=CpuSet.of([3])), (), "cpu2"),
        (Target(2, Bytes(6 * GIB)), {}, ManagerSettings(), (2, 3), "memory3 memory2 cpu3 cpu2"),
        (Target(4, Bytes(5 * GIB)), {}, ManagerSettings(), (2,), "memory2 memory7 memory6"),
        (Target(4, Bytes(7 * GIB + 1)), {}, ManagerSettings(), (), ""),
        (Target(6, Bytes(8 * GIB)), {"cpus": THREADS}, WHOLE, (), "cpu7 cpu3"),
        (Target(6, Bytes(8 * GIB)), {"cpus": THREADS}, ManagerSettings(), (), "cpu7 cpu6"),
        (
            Target(4, Bytes(7 * GIB)),
            {"half_plugged": HalfPlugged(offline_blocks=(7,))},
            ManagerSettings(),
            (),
            "memory6",
        ),
    ],
)
def test_the_parts_that_go(
    target: Target, machine: dict[str, Any], managing: ManagerSettings, movable: tuple[int, ...], parts: str
) -> None:
    """Memory first, movable blocks before others, the last ones first; CPU 0 and halves of cores stay."""
    found = wish.chosen(target, nodes.machine(**(BLOCKS | machine)), managing, frozenset(movable))
    assert numbers(found) == parts


@pytest.mark.parametrize(
    ("target", "machine", "managing", "words"),
    [
        (Target(5, Bytes(8 * GIB)), BLOCKS | {"cpus": THREADS}, WHOLE, "cores must stay whole"),
        (Target(3, Bytes(4 * GIB)), {}, ManagerSettings(), "no blocks that can be taken offline"),
        (
            Target(4, Bytes(4 * GIB)),
            BLOCKS | {"blocks": (1,)},
            ManagerSettings(),
            "4 blocks of memory would have to",
        ),
    ],
)
def test_what_cannot_go(target: Target, machine: dict[str, Any], managing: ManagerSettings, words: str) -> None:
    found = wish.chosen(target, nodes.machine(**machine), managing, frozenset())
    assert isinstance(found, Unwilling)
    assert words in found.why


def test_the_machine_without_them() -> None:
    parts = (Part("memory", 7), Part("cpu", 3))
    assert wish.without(nodes.machine(), parts, Target(3, Bytes(7 * GIB))) == nodes.machine(3, "7Gi")


def test_memory_goes_from_the_nodes_that_its_blocks_are_on() -> None:
    """A block that is offline is no part of its node's memory any more."""
    numa = (
        NumaNode(id=0, memory=Bytes(4 * GIB), blocks=(0, 1, 2, 3)),
        NumaNode(id=1, memory=Bytes(3 * GIB), blocks=(4, 5, 6, 7)),
    )
    half = HalfPlugged(offline_blocks=(7,))
    whole = nodes.machine(memory="7Gi", numa=numa, half_plugged=half, **BLOCKS)
    parts = tuple(Part("memory", block) for block in (7, 6, 5))
    found = wish.without(whole, parts, Target(4, Bytes(5 * GIB)))
    assert (found.memory, [node.memory for node in found.numa]) == (5 * GIB, [4 * GIB, GIB])
