import pytest

from flexlet.api.cpuset import CpuSet
from flexlet.core.machine import parts
from flexlet.core.machine.machine import Cpu, HalfPlugged, Machine
from flexlet.core.machine.parts import Part
from flexlet.errors import ConfigError


def test_parts_are_named_as_sysfs_names_them() -> None:
    found = [Part.parse("cpu3"), Part.parse("memory40")]
    assert [str(part) for part in found] == ["cpu3", "memory40"]
    assert [part.switch for part in found] == [
        "/sys/devices/system/cpu/cpu3/online",
        "/sys/devices/system/memory/memory40/state",
    ]


@pytest.mark.parametrize("name", ["", "cpu", "3", "node1", "cpu-1", "memory4x", "/cpu3"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="expected cpuN or memoryN"):
        Part.parse(name)


def test_a_part_is_online_or_offline() -> None:
    """A CPU that has yet to say where it sits is online; so is a block that is about to leave."""
    machine = Machine(
        cpus=(Cpu(0, 0, 0, 0, 0),),
        blocks=(0, 1, 2),
        half_plugged=HalfPlugged(
            offline_cpus=CpuSet.of([1]),
            settling_cpus=CpuSet.of([2]),
            offline_blocks=(1,),
            leaving_blocks=(2,),
        ),
    )
    assert sorted(map(str, parts.offline(machine.half_plugged))) == ["cpu1", "memory1"]
    assert sorted(map(str, parts.online(machine))) == ["cpu0", "cpu2", "memory0", "memory2"]
