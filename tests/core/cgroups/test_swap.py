import pytest
from msgspec.structs import replace
from tests.pods import container, pod

from flexlet.api.pod import Pod, PodStatus
from flexlet.api.units import GIB, MIB, Bytes
from flexlet.core.cgroups.settings import LIMITED_SWAP, CgroupSettings, Host
from flexlet.core.cgroups.swap import limited_swap, swap_max

HOST = Host(memory=Bytes(16 * GIB), swap=Bytes(8 * GIB))
LIMITED = CgroupSettings(memory_swap_behavior=LIMITED_SWAP)
BURSTABLE = pod(container("a", ",2Gi"))


@pytest.mark.parametrize(
    ("request_bytes", "node_swap", "swap"),
    [
        (2 * GIB, 8 * GIB, 1073741824),
        (100 * MIB, 4 * GIB, 26214400),
        (333 * MIB, 4 * GIB, 87293952),
        (16 * GIB, 8 * GIB, 8 * GIB),
        (17 * GIB, 8 * GIB, 0),
    ],
)
def test_shares_of_the_swap(request_bytes: int, node_swap: int, swap: int) -> None:
    """The part of the node's memory that is requested is the part of its swap that may be used."""
    assert limited_swap(request_bytes, 16 * GIB, node_swap) == swap


def test_a_node_without_memory_has_no_shares() -> None:
    assert limited_swap(0, 0, GIB) == 0


@pytest.mark.parametrize(
    ("case", "swap"),
    [
        (BURSTABLE, GIB),
        (pod(container("a", ",2Gi", ",4Gi")), GIB),
        (pod(container("a", "", ",4Gi")), 0),
        (pod(container("a", ",2Gi", ",2Gi")), 0),
        (pod(container("a", "1")), 0),
        (pod(container("a"), level=("1,2Gi", "")), 0),
        (pod(container("a")), 0),
        (replace(BURSTABLE, status=PodStatus(qos_class="Guaranteed")), 0),
        (pod(container("a", ",2Gi"), priority=2_000_000_000), 0),
    ],
)
def test_who_may_swap(case: Pod, swap: int) -> None:
    """Burstable pods that are not critical, and of them containers whose memory request is not their limit."""
    assert swap_max(case, case.spec.containers[0], HOST, LIMITED) == swap


def test_no_swap_by_default() -> None:
    one = BURSTABLE.spec.containers[0]
    assert swap_max(BURSTABLE, one, HOST, CgroupSettings()) == 0
    assert swap_max(BURSTABLE, one, replace(HOST, swap_controller=False), LIMITED) is None
