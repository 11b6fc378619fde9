import pytest
from tests.pods import amounts

from flexlet.api.units import GIB, MIB
from flexlet.core.cgroups.root import kubepods_values, reserved_values
from flexlet.core.cgroups.settings import CgroupSettings
from flexlet.core.cgroups.values import CgroupValues
from flexlet.core.machine.allocatable import Reservation


def values(**fields: object) -> CgroupValues:
    return CgroupValues(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kube", "system", "shares", "weight", "memory"),
    [
        ("500m,512Mi", "500m,512Mi", 7168, 274, 16106127360),
        ("500m,0", "", 7680, 293, 17179869184),
        ("9,17Gi", "", 2, 1, 0),
    ],
)
def test_kubepods(kube: str, system: str, shares: int, weight: int, memory: int) -> None:
    """Reservations come off, the eviction threshold does not: the node evicts before the kernel kills."""
    reservation = Reservation(kube=amounts(kube), system=amounts(system))
    result = kubepods_values(amounts("8,16Gi"), reservation)
    assert (result, result.weight) == (values(shares=shares, memory_max=memory), weight)


def test_kubepods_without_enforcement() -> None:
    capacity = amounts("8,16Gi,hugepages-2Mi=4Mi,pid=1000")
    expected = values(shares=8192, memory_max=16 * GIB, hugetlb={2 * MIB: 4 * MIB}, pids_max=1000)
    assert kubepods_values(capacity, Reservation(kube=amounts("1,1Gi")), enforce=False) == expected


def test_reserved_daemons() -> None:
    """Their cgroups are limited to the reservation, or only weighted by it."""
    reserved = amounts("500m,512Mi")
    assert reserved_values(reserved) == values(shares=512, memory_max=512 * MIB)
    assert reserved_values(reserved, compressible_only=True) == values(shares=512)
    protected = values(shares=512, memory_max=512 * MIB, memory_min=512 * MIB)
    assert reserved_values(reserved, CgroupSettings(memory_qos=True)) == protected
