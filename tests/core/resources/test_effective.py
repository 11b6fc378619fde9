import pytest
from tests.pods import Level, amounts, container, pod, texts

from flexlet.api.pod import Container, Pod
from flexlet.core.resources import effective

A = container("a", "100m,128Mi")
SIDECAR = container("s", "500m,256Mi", sidecar=True)


@pytest.mark.parametrize(
    ("case", "requests", "limits"),
    [
        (pod(A, container("b", "200m,256Mi", "500m,512Mi")), "300m,384Mi", "500m,512Mi"),
        (
            pod(container("a", "200m,256Mi"), container("b", "300m,256Mi"), init=(container("i", "1,1Gi"),)),
            "1,1Gi",
            "",
        ),
        (
            pod(
                container("a", "600m,256Mi"),
                init=(container("i1", "1,1Gi"), SIDECAR, container("i2", "800m,512Mi")),
            ),
            "1300m,1Gi",
            "",
        ),
        (pod(A, container("b"), level=("500m,512Mi", "")), "500m,512Mi", ""),
        (pod(A, level=("1", "1")), "1,128Mi", "1"),
        (pod(container("a", "500m,512Mi", "1,1Gi"), overhead="250m,64Mi"), "750m,576Mi", "1250m,1088Mi"),
        (pod(container("a", "500m,512Mi"), overhead="250m,64Mi"), "750m,576Mi", ""),
        (
            pod(container("a"), level=("500m,512Mi", "1,1Gi"), overhead="250m,64Mi"),
            "750m,576Mi",
            "1250m,1088Mi",
        ),
        (pod(container("a"), overhead="250m,64Mi"), "250m,64Mi", ""),
        (pod(), "", ""),
    ],
)
def test_totals(case: Pod, requests: str, limits: str) -> None:
    """Containers and sidecars add up, init containers compete, pod level replaces, overhead comes on top."""
    assert effective.pod_requests(case) == amounts(requests)
    assert effective.pod_limits(case) == amounts(limits)


@pytest.mark.parametrize(
    ("init", "total"),
    [
        ((SIDECAR,), "600m"),
        ((SIDECAR, SIDECAR), "1100m"),
        ((container("i", "550m"), SIDECAR), "600m"),
        ((SIDECAR, container("i", "550m")), "1050m"),
        ((container("i", "50m"),), "100m"),
    ],
)
def test_init_containers_run_beside_earlier_sidecars(init: tuple[Container, ...], total: str) -> None:
    """An init container only meets the sidecars declared before it."""
    assert texts(effective.aggregate_requests(pod(container("a", "100m"), init=init)))["cpu"] == total


def test_restart_policy_of_regular_containers_means_nothing() -> None:
    """Only an init container becomes a sidecar by its restart policy."""
    regular = container("a", "100m", sidecar=True)
    assert effective.aggregate_requests(pod(regular)) == amounts("100m")


def test_only_some_resources_count_at_pod_level() -> None:
    """CPU, memory and huge pages may be named at pod level; others keep the sum of the containers."""
    case = pod(
        container("a", "example.com/gpu=1,hugepages-2Mi=2Mi"),
        level=("example.com/gpu=7,hugepages-2Mi=8Mi,ephemeral-storage=1Gi", "example.com/gpu=7"),
    )
    assert effective.pod_requests(case) == amounts("example.com/gpu=1,hugepages-2Mi=8Mi")
    assert effective.pod_limits(case) == {}


def test_without_pod_level_and_overhead() -> None:
    case = pod(container("a", "1,1Gi", "2,2Gi"), level=("4,4Gi", "8,8Gi"), overhead="1,1Gi")
    assert effective.pod_requests(case, pod_level=False) == amounts("2,2Gi")
    assert effective.pod_limits(case, pod_level=False) == amounts("3,3Gi")
    assert effective.pod_requests(case, overhead=False) == amounts("4,4Gi")
    assert effective.pod_limits(case, overhead=False) == amounts("8,8Gi")
    assert effective.aggregate_requests(case) == amounts("1,1Gi")
    assert effective.aggregate_limits(case) == amounts("2,2Gi")


def test_overhead_leaves_zero_limits_alone() -> None:
    """A limit of zero means none, so there is nothing to add overhead to."""
    case = pod(container("a", "", "0,1Gi"), overhead="250m,64Mi")
    assert effective.pod_limits(case) == amounts("0,1088Mi")


def test_the_pod_is_left_alone() -> None:
    """Totals are new lists; a list of the pod is never written to."""
    case = pod(container("a", "1,1Gi"), overhead="1,1Gi")
    aggregated = effective.aggregate_requests(case)
    effective.requests_with(aggregated, case)
    assert aggregated == case.spec.containers[0].resources.requests == amounts("1,1Gi")


@pytest.mark.parametrize(
    ("level", "requests_named", "anything_named"),
    [
        (None, False, False),
        (("", ""), False, False),
        (("1", ""), True, True),
        (("", "1"), False, True),
        (("example.com/gpu=1", "example.com/gpu=1"), False, False),
        (("hugepages-2Mi=2Mi", ""), True, True),
    ],
)
def test_what_is_named_at_pod_level(level: Level | None, requests_named: bool, anything_named: bool) -> None:
    case = pod(container("a"), level=level)
    assert effective.has_pod_level_requests(case) == requests_named
    assert effective.has_pod_level_resources(case) == anything_named
