import pytest
from tests.pods import amounts, texts

from flexlet.api.units import GIB, MIB
from flexlet.core.machine.allocatable import Reservation, allocatable, check, eviction_reserved, for_pods
from flexlet.core.machine.capacity import capacity
from flexlet.errors import ConfigError


@pytest.mark.parametrize(
    ("reservation", "expected"),
    [
        (Reservation(kube=amounts("500m,512Mi"), system=amounts("500m,512Mi")), {"cpu": "7", "memory": "15260Mi"}),
        (Reservation(kube=amounts("500m,0")), {"cpu": "7500m", "memory": "16284Mi"}),
        (Reservation(), {"cpu": "8", "memory": "16284Mi"}),
        (Reservation(eviction_hard={}), {"cpu": "8", "memory": "16Gi"}),
        (Reservation(system=amounts("9,17Gi")), {"cpu": "0", "memory": "0"}),
        (Reservation(kube=amounts(",,example.com/gpu=1")), {"cpu": "8", "memory": "16284Mi"}),
    ],
)
def test_reservations_come_off(reservation: Reservation, expected: dict[str, str]) -> None:
    """Capacity less reservations less the eviction margin, never below zero."""
    assert texts(allocatable(amounts("8,16Gi"), reservation)) == expected


def test_huge_pages_come_off_memory() -> None:
    """They are carved out of memory when they are configured, used or not."""
    whole = amounts("8,16Gi,hugepages-2Mi=1Gi,hugepages-1Gi=2Gi")
    assert texts(allocatable(whole, Reservation())) == {
        "cpu": "8",
        "memory": "13212Mi",
        "hugepages-2Mi": "1Gi",
        "hugepages-1Gi": "2Gi",
    }
    assert texts(allocatable(amounts(",1Gi,hugepages-1Gi=2Gi"), Reservation()))["memory"] == "0"


def test_machines_without_memory() -> None:
    assert allocatable(amounts("1"), Reservation()) == amounts("1")


def test_extended_resources_leave_with_their_capacity() -> None:
    """What is no longer advertised is no longer allocatable; what others patched in is mirrored."""
    published = amounts("example.com/gone=1,attachable-volumes-x=5")
    result = allocatable(amounts("1,,example.com/gpu=2"), Reservation(), published)
    assert texts(result) == {"attachable-volumes-x": "5", "cpu": "1", "example.com/gpu": "2"}


def test_what_the_kubepods_cgroup_gets() -> None:
    reservation = Reservation(kube=amounts("1,1Gi"), system=amounts("1,1Gi"))
    assert for_pods(amounts("8,16Gi"), reservation) == amounts("6,14Gi")


@pytest.mark.parametrize(
    ("thresholds", "margins"),
    [
        ({"memory.available": "100Mi"}, {"memory": str(100 * MIB)}),
        ({"memory.available": "5%"}, {"memory": str(858993472)}),
        ({"memory.available": "12.5%"}, {"memory": str(2 * GIB)}),
        ({"nodefs.available": "10%"}, {"ephemeral-storage": str(10737418400)}),
        ({"memory.available": "0%", "nodefs.available": "100%"}, {}),
        ({"nodefs.inodesFree": "5%", "imagefs.available": "15%", "pid.available": "10%"}, {}),
    ],
)
def test_eviction_margins(thresholds: dict[str, str], margins: dict[str, str]) -> None:
    """Percentages are single-precision upstream, so 10% of 100Gi is 160 bytes more than a tenth."""
    found = eviction_reserved(amounts("8,16Gi,ephemeral-storage=100Gi"), thresholds)
    assert {name: str(amount.value) for name, amount in found.items()} == margins


@pytest.mark.parametrize(
    ("threshold", "message"),
    [
        ("lots", "eviction threshold memory.available: quantities must match"),
        ("0", "eviction threshold memory.available must be positive: 0"),
        ("-1Gi", "eviction threshold memory.available must be positive: -1Gi"),
        ("x%", "eviction threshold memory.available: cannot read percentage x%"),
        (" 5%", "eviction threshold memory.available: cannot read percentage  5%"),
        ("1_0%", "eviction threshold memory.available: cannot read percentage 1_0%"),
        ("101%", "eviction percentage threshold memory.available must be between 0% and 100%: 101%"),
        ("-1%", "eviction percentage threshold memory.available must be between 0% and 100%: -1%"),
    ],
)
def test_thresholds_that_cannot_work(threshold: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        eviction_reserved(amounts(",16Gi"), {"memory.available": threshold})
    assert str(caught.value).startswith(message)


def test_reservations_must_fit_the_machine() -> None:
    check(amounts("8,16Gi"), Reservation(kube=amounts("8")))
    with pytest.raises(ConfigError) as caught:
        check(amounts("8,16Gi"), Reservation(kube=amounts("9,17Gi")))
    assert str(caught.value) == (
        "invalid Node Allocatable configuration. "
        'Resource "cpu" has a reservation of 9 but capacity of 8. Expected capacity >= reservation. '
        'Resource "memory" has a reservation of 17508Mi but capacity of 16Gi. Expected capacity >= reservation.'
    )


def test_capacity_of_a_machine() -> None:
    """Whole CPUs, bytes, one resource per huge page size, and what others advertise."""
    found = capacity(
        cpus=4,
        memory=8 * GIB,
        hugepages={2 * MIB: 512, GIB: 0},
        ephemeral_storage=100 * GIB,
        published=amounts("99,1Gi,example.com/gpu=2"),
    )
    assert texts(found) == {
        "cpu": "4",
        "memory": "8Gi",
        "example.com/gpu": "2",
        "hugepages-2Mi": "1Gi",
        "hugepages-1Gi": "0",
        "ephemeral-storage": "100Gi",
        "pods": "110",
    }


@pytest.mark.parametrize(("per_core", "pods"), [(0, "110"), (10, "40"), (100, "110")])
def test_pods_per_core(per_core: int, pods: str) -> None:
    assert texts(capacity(cpus=4, memory=GIB, pods_per_core=per_core))["pods"] == pods
