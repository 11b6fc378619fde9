import pytest
from tests.pods import amounts, container, pod

from flexlet.api.pod import Container, Pod
from flexlet.api.units import GIB, MIB, Bytes
from flexlet.core.cgroups.containers import (
    RuntimeResources,
    container_resources,
    effective_limit,
    files,
    with_amounts,
)
from flexlet.core.cgroups.sandbox import overhead_resources, sandbox_resources
from flexlet.core.cgroups.settings import LIMITED_SWAP, TIERED_RESERVATION, CgroupSettings, Host

HOST = Host(memory=Bytes(16 * GIB), swap_controller=False)
OOM_GROUP = {"memory.oom.group": "1"}


def basic(
    shares: int, quota: int = 0, memory: int = 0, oom: int = 0, unified: dict[str, str] | None = None
) -> RuntimeResources:
    return RuntimeResources(
        cpu_shares=shares,  # type: ignore[arg-type]
        cpu_quota=quota,  # type: ignore[arg-type]
        cpu_period=100_000,  # type: ignore[arg-type]
        memory_limit=memory,  # type: ignore[arg-type]
        oom_score_adj=oom,
        unified=OOM_GROUP if unified is None else unified,
    )


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (pod(container("a", "500m,512Mi", "1,1Gi")), basic(512, 100_000, GIB, 969)),
        (pod(container("a", "", "1")), basic(1024, 100_000, 0, 999)),
        (pod(container("a")), basic(2, 0, 0, 1000)),
        (pod(container("a", "0")), basic(2, 0, 0, 1000)),
        (pod(container("a"), level=("100m,100Mi", "200m,200Mi")), basic(204, 20_000, 200 * MIB, 994)),
        (pod(container("a", "50m"), level=("100m,100Mi", "200m,200Mi")), basic(51, 20_000, 200 * MIB, 994)),
        (pod(container("a", "", "0,0"), level=("", "200m,200Mi")), basic(204, 20_000, 200 * MIB, 999)),
        (pod(container("a", "", "100m,100Mi"), level=("1", "")), basic(102, 10_000, 100 * MIB, 999)),
    ],
)
def test_creation(case: Pod, expected: RuntimeResources) -> None:
    """Limits are inherited from the pod level, requests never; without a request the limit gives the shares."""
    assert container_resources(case, case.spec.containers[0], HOST) == expected


def test_updates_name_every_amount() -> None:
    """A container that was created with the shares of its limit is updated to the least shares."""
    case = pod(container("a"), level=("100m,100Mi", "200m,200Mi"))
    resized = with_amounts(case.spec.containers[0], cpu_request=0, cpu_limit=0, memory_request=0, memory_limit=0)
    assert resized.resources.requests == amounts("0,0")
    assert container_resources(case, resized, HOST) == basic(2, 20_000, 200 * MIB, 994)


def test_exclusive_cpus_have_no_quota() -> None:
    case = pod(container("a", "", "1,1Gi"))
    assert container_resources(case, case.spec.containers[0], HOST, exclusive_cpus=True).cpu_quota == -1


def test_settings() -> None:
    """Without CFS quota neither quota nor period is sent; single process kill drops the group kill."""
    case = pod(container("a", "1,1Gi", "1,1Gi"))
    settings = CgroupSettings(cpu_cfs_quota=False, single_process_oom_kill=True)
    expected = RuntimeResources(cpu_shares=1024, memory_limit=GIB, oom_score_adj=-997)  # type: ignore[arg-type]
    assert container_resources(case, case.spec.containers[0], HOST, settings) == expected


def test_hugepages() -> None:
    """Every size of the host is named: the container's own limit, else the pod's, else none."""
    case = pod(
        container("a", "", "hugepages-2Mi=2Mi"),
        level=("1", "hugepages-2Mi=8Mi,hugepages-1Gi=1Gi,memory=1Gi"),
    )
    sizes = (Bytes(65536), Bytes(2 * MIB), Bytes(GIB))
    host = Host(memory=Bytes(16 * GIB), hugepage_sizes=sizes)
    limits = container_resources(case, case.spec.containers[0], host).hugepage_limits
    assert limits == {"64KB": 0, "2MB": 2 * MIB, "1GB": GIB}


def test_swap_and_memory_qos_travel_as_unified_values() -> None:
    case = pod(container("a", "100m,128Mi", "100m,256Mi"))
    host = Host(memory=Bytes(16 * GIB), swap=Bytes(8 * GIB))
    settings = CgroupSettings(
        memory_swap_behavior=LIMITED_SWAP, memory_qos=True, memory_reservation_policy=TIERED_RESERVATION
    )
    assert container_resources(case, case.spec.containers[0], host, settings).unified == {
        "memory.oom.group": "1",
        "memory.swap.max": str(64 * MIB),
        "memory.low": str(128 * MIB),
        "memory.high": "255012864",
    }


def test_files_of_a_runtime() -> None:
    """Runtimes write the logarithmic weight, older ones the linear; what is not set is not written."""
    case = pod(container("a", "1,1Gi", "2,2Gi"))
    host = Host(memory=Bytes(16 * GIB), hugepage_sizes=(Bytes(2 * MIB),))
    resources = container_resources(case, case.spec.containers[0], host)
    written = {
        "cpu.weight": "100",
        "cpu.max": "200000 100000",
        "memory.max": str(2 * GIB),
        "memory.oom.group": "1",
        "memory.swap.max": "0",
        "hugetlb.2MB.max": "0",
        "hugetlb.2MB.rsvd.max": "0",
    }
    assert files(resources) == written
    assert files(resources, logarithmic=False) == written | {"cpu.weight": "39"}
    assert files(RuntimeResources(cpu_shares=2)) == {"cpu.weight": "1"}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "level", "limit"),
    [
        (container("a", "", "1"), None, "1"),
        (container("a", "", "1"), ("", "2"), "1"),
        (container("a"), ("", "2"), "2"),
        (container("a"), ("2", ""), "0"),
        (container("a"), None, "0"),
    ],
)
def test_effective_limits(one: Container, level: tuple[str, str] | None, limit: str) -> None:
    assert str(effective_limit(pod(one, level=level), one, "cpu")) == limit


def test_sandbox_without_overhead() -> None:
    """What the pod needs and what its sandbox adds are told apart."""
    case = pod(container("a", "500m,512Mi", "1,1Gi"), overhead="250m,64Mi")
    assert sandbox_resources(case) == basic(512, 100_000, GIB)
    assert overhead_resources(case) == basic(256, 25_000, 64 * MIB)
    assert overhead_resources(pod(container("a"))) is None
    assert sandbox_resources(pod(container("a")), exclusive_cpus=True) == basic(2, -1)
