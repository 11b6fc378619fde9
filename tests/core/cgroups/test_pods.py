import pytest
from tests.pods import container, pod

from flexlet.api.pod import Container, Pod, PodStatus
from flexlet.core.cgroups.pods import pod_cgroup
from flexlet.core.cgroups.settings import TIERED_RESERVATION, CgroupSettings
from flexlet.core.cgroups.values import CgroupValues, files
from flexlet.core.resources.defaults import default_pod

GUARANTEED = pod(container("a", "500m,512Mi", "500m,512Mi"))


def values(**fields: object) -> CgroupValues:
    return CgroupValues(**fields)  # type: ignore[arg-type]


TIERED = CgroupSettings(memory_qos=True, memory_reservation_policy=TIERED_RESERVATION)


@pytest.mark.parametrize(
    ("written", "shares", "weight", "cpu_max", "memory_max"),
    [
        (pod(container("a", "100m,128Mi"), container("b", "200m,256Mi", "500m,512Mi")), 307, 12, None, None),
        (GUARANTEED, 512, 20, "50000 100000", 536870912),
        (
            pod(container("a", "", "300m,256Mi"), container("b", "", "400m,512Mi"), level=("500m,512Mi", "")),
            512,
            20,
            "70000 100000",
            805306368,
        ),
        (pod(container("a", "100m,128Mi"), level=("1", "1")), 1024, 39, "100000 100000", None),
        (
            pod(container("a", "100m,128Mi"), container("b", "100m,64Mi", ",200Mi"), level=("", "1")),
            204,
            8,
            "100000 100000",
            None,
        ),
        (
            pod(container("a", "500m,512Mi", "1,1Gi"), overhead="250m,64Mi"),
            768,
            30,
            "125000 100000",
            1140850688,
        ),
        (
            pod(
                container("c1"),
                container("c2", "50m,50Mi", "100m,100Mi"),
                level=("100m,100Mi", "200m,200Mi"),
            ),
            102,
            4,
            "20000 100000",
            209715200,
        ),
        (
            pod(
                container("a", "", "30m,30Mi"),
                container("b", "", "30m,30Mi"),
                level=("100m,100Mi", ""),
            ),
            102,
            4,
            "6000 100000",
            62914560,
        ),
        (pod(container("a")), 2, 1, None, None),
    ],
)
def test_values(written: Pod, shares: int, weight: int, cpu_max: str | None, memory_max: int | None) -> None:
    """Weights follow requests; limits are written only where they hold for the whole pod."""
    values = pod_cgroup(default_pod(written))
    written_files = files(values)
    assert (values.shares, values.weight, written_files.get("cpu.max"), values.memory_max) == (
        shares,
        weight,
        cpu_max,
        memory_max,
    )


@pytest.mark.parametrize(
    ("init", "limited"),
    [
        ((container("i", "", "1,1Gi"),), True),
        ((container("i"),), False),
        ((container("s", "", "1,1Gi", sidecar=True), container("i")), True),
        ((container("i"), container("s", "", "1,1Gi", sidecar=True)), False),
        ((container("s", sidecar=True),), False),
    ],
)
def test_init_containers_are_judged_with_their_sidecars(init: tuple[Container, ...], limited: bool) -> None:
    """v1.36 looks at the running sum, so a limited sidecar vouches for an unlimited init container after it."""
    values = pod_cgroup(pod(container("a", "500m", "1,1Gi"), init=init))
    assert (values.quota is not None, values.memory_max is not None) == (limited, limited)


def test_best_effort_pods_are_left_alone() -> None:
    assert pod_cgroup(pod(container("a"))) == values(shares=2)


def test_hugepages_follow_requests() -> None:
    """Every size of the host is closed that the pod does not request."""
    values = pod_cgroup(pod(container("a", "1,1Gi,hugepages-2Mi=4Mi", "hugepages-2Mi=4Mi")))
    assert values.hugetlb == {2097152: 4194304}
    assert files(values, (2097152, 1073741824)) == {
        "cpu.weight": "39",
        "hugetlb.1GB.max": "0",
        "hugetlb.1GB.rsvd.max": "0",
        "hugetlb.2MB.max": "4194304",
        "hugetlb.2MB.rsvd.max": "4194304",
    }


def test_the_recorded_class_counts_unless_overridden() -> None:
    case = Pod(spec=GUARANTEED.spec, status=PodStatus(qos_class="BestEffort"))
    assert pod_cgroup(case) == values(shares=2)
    assert pod_cgroup(case, qos="Guaranteed") == pod_cgroup(GUARANTEED)


@pytest.mark.parametrize(
    ("settings", "exclusive", "text"),
    [
        (CgroupSettings(cpu_cfs_quota_period=10_000), False, "5000 10000"),  # type: ignore[arg-type]
        (CgroupSettings(cpu_cfs_quota=False), False, "max 100000"),
        (CgroupSettings(), True, "max 100000"),
    ],
)
def test_quota_settings(settings: CgroupSettings, exclusive: bool, text: str) -> None:
    """Exclusive CPUs and a disabled quota both lift the limit, in so many words."""
    assert files(pod_cgroup(GUARANTEED, settings, exclusive_cpus=exclusive))["cpu.max"] == text


def test_pids_limit() -> None:
    assert pod_cgroup(pod(container("a")), CgroupSettings(pod_pids_limit=64)) == values(shares=2, pids_max=64)


@pytest.mark.parametrize(
    ("case", "protection"),
    [
        (GUARANTEED, {"memory.min": "536870912"}),
        (pod(container("a", "100m,128Mi"), overhead=",64Mi"), {"memory.low": "201326592"}),
        (pod(container("a", "100m")), {}),
        (pod(container("a")), {}),
    ],
)
def test_memory_protection(case: Pod, protection: dict[str, str]) -> None:
    """With tiered reservation a Guaranteed pod's request is never reclaimed, another's only in need."""
    kept = {
        name: text
        for name, text in files(pod_cgroup(case, TIERED)).items()
        if name in ("memory.min", "memory.low")
    }
    assert kept == protection


def test_words_for_no_limit() -> None:
    """-1 is the word max, 0 leaves the file alone."""
    unlimited = values(memory_max=-1, quota=-1, period=100000)
    assert files(unlimited) == {"cpu.max": "max 100000", "memory.max": "max"}
    assert files(values(memory_max=0)) == {}
    assert files(values(quota=20000)) == {"cpu.max": "20000 100000"}
