from tests.pods import container, pod

from flexlet.api.units import GIB, MIB
from flexlet.core.cgroups.settings import TIERED_RESERVATION, CgroupSettings
from flexlet.core.cgroups.tiers import tier_values
from flexlet.core.cgroups.values import CgroupValues
from flexlet.core.resources.qos import BEST_EFFORT, BURSTABLE, GUARANTEED

PODS = [
    pod(container("a", "1,1Gi", "1,1Gi")),
    pod(container("a", "500m,512Mi")),
    pod(container("a", "1,1Gi"), level=("1500m,2Gi", "")),
    pod(container("a")),
]
BURSTABLE_MEMORY = 2 * GIB + 512 * MIB
TIERED = CgroupSettings(memory_qos=True, memory_reservation_policy=TIERED_RESERVATION)


def values(**fields: object) -> CgroupValues:
    return CgroupValues(**fields)  # type: ignore[arg-type]


def test_weights() -> None:
    """The burstable tier weighs what its pods request together; there are no limits."""
    assert tier_values(PODS) == {
        GUARANTEED: values(),
        BURSTABLE: values(shares=2048),
        BEST_EFFORT: values(shares=2),
    }
    assert tier_values([])[BURSTABLE] == values(shares=2)


def test_hugepages_are_unbounded() -> None:
    """Huge pages are limited pod by pod, so the tiers must not stand in the way."""
    assert {tier.hugetlb[2 * MIB] for tier in tier_values(PODS, hugepage_sizes=(2 * MIB,)).values()} == {2**62}


def test_memory_protection() -> None:
    """A parent protects at least what its children do."""
    tiers = tier_values(PODS, TIERED)
    assert tiers[GUARANTEED] == values(memory_min=GIB + BURSTABLE_MEMORY)
    assert tiers[BURSTABLE] == values(shares=2048, memory_low=BURSTABLE_MEMORY)
    assert tiers[BEST_EFFORT] == values(shares=2)


def test_protection_is_taken_back() -> None:
    """With the feature on but no reservation policy the files are set to zero."""
    tiers = tier_values(PODS, CgroupSettings(memory_qos=True))
    assert (tiers[GUARANTEED], tiers[BURSTABLE]) == (values(memory_min=0), values(shares=2048, memory_low=0))


def test_reserved_memory() -> None:
    """QOSReserved keeps a part of what higher tiers request from the lower ones."""
    tiers = tier_values(PODS, reserved_percent=50, allocatable_memory=16 * GIB)
    burstable = 16 * GIB - GIB // 2
    assert tiers[BURSTABLE].memory_max == burstable
    assert tiers[BEST_EFFORT].memory_max == burstable - BURSTABLE_MEMORY // 2
    assert tier_values(PODS, reserved_percent=50)[BURSTABLE].memory_max is None
