"""cgroups as units, and files as properties; the figures are those of opencontainers/cgroups 0.0.6."""

import pytest

from flexlet.core.cgroups import units
from flexlet.core.cgroups.units import INFINITY, UnitProperty

POD = "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice"


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("kubepods.slice", "kubepods.slice"),
        (POD, "kubepods-burstable-pod1_2.slice"),
        (f"{POD}/cri-containerd-abc.scope", "cri-containerd-abc.scope"),
        (f"{POD}/cri-containerd-abc.scope/container", ""),
        ("kubepods/burstable", ""),
        ("kubepods/burstable/a.scope", ""),
        ("kubepods-burstable.slice", ""),
        ("machine/kubepods.slice", ""),
    ],
)
def test_units_lie_where_their_names_say(path: str, unit: str) -> None:
    assert units.unit_of(path) == unit


def test_slices_on_the_way() -> None:
    names = ["kubepods.slice", "kubepods-burstable.slice", "kubepods-burstable-pod1_2.slice"]
    assert list(units.slices(POD)) == names
    assert list(units.slices(f"{POD}/cri-containerd-abc.scope")) == names
    assert list(units.slices("kubepods/burstable")) == []


def test_a_new_slice_wants_the_one_above() -> None:
    wants = [each.value for each in units.new_slice("a-b-c.slice") if each.name == "Wants"]
    assert wants == [("a-b.slice",)]
    assert not [each for each in units.new_slice("a.slice") if each.name == "Wants"]


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("memory.max", "104857600", [("MemoryMax", "t", 104857600)]),
        ("memory.max", "max", [("MemoryMax", "t", INFINITY)]),
        ("memory.high", "4096", [("MemoryHigh", "t", 4096)]),
        ("memory.min", "0", [("MemoryMin", "t", 0)]),
        ("memory.low", "8192", [("MemoryLow", "t", 8192)]),
        ("memory.swap.max", "0", [("MemorySwapMax", "t", 0)]),
        ("cpu.weight", "39", [("CPUWeight", "t", 39)]),
        ("cpu.max", "25000 50000", [("CPUQuotaPeriodUSec", "t", 50000), ("CPUQuotaPerSecUSec", "t", 500000)]),
        ("cpu.max", "1500 100000", [("CPUQuotaPeriodUSec", "t", 100000), ("CPUQuotaPerSecUSec", "t", 20000)]),
        ("cpu.max", "max 100000", [("CPUQuotaPeriodUSec", "t", 100000), ("CPUQuotaPerSecUSec", "t", INFINITY)]),
        ("cpu.max", "max", [("CPUQuotaPerSecUSec", "t", INFINITY)]),
        ("pids.max", "max", [("TasksMax", "t", INFINITY)]),
        ("pids.max", "0", [("TasksMax", "t", 1)]),
        ("cpuset.cpus", "0,2,8", [("AllowedCPUs", "ay", bytes([5, 1]))]),
        ("cpuset.cpus", "\n", [("AllowedCPUs", "ay", b"")]),
        ("cpuset.mems", "1", [("AllowedMemoryNodes", "ay", bytes([2]))]),
        ("hugetlb.2MB.max", "0", []),
        ("memory.oom.group", "1", []),
    ],
)
def test_files_as_properties(file: str, text: str, expected: list[tuple[str, str, int | bytes]]) -> None:
    assert units.properties({file: text}) == tuple(UnitProperty(*each) for each in expected)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("1500 100000", "2000 100000"),
        ("33333 100000", "34000 100000"),
        ("20000 50000", "20000 50000"),
        ("max 100000", "max 100000"),
        ("999 100000", "999 100000"),
        ("10000 999", "10000 999"),
        ("much", "much"),
    ],
)
def test_quotas_are_whole_percents(text: str, written: str) -> None:
    """What the kernel will refuse is left as it is, or the refusal would name another value."""
    assert units.rounded({"cpu.max": text, "cpu.weight": "3"}) == {"cpu.max": written, "cpu.weight": "3"}
