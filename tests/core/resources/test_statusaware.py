from typing import Any

import pytest
from tests.pods import amounts, container, pod, reported, resize_pending, resources, texts

from flexlet.api.pod import Pod, PodStatus
from flexlet.core.resources import statusaware

INFEASIBLE = (resize_pending("Infeasible"),)
DEFERRED = (resize_pending("Deferred"),)


def resizing(spec: str, allocated: str, actual: str | None, **status: Any) -> Pod:
    """A pod of one container in the middle of a resize."""
    statuses = (reported("a", allocated, actual),)
    return pod(container("a", spec), status=PodStatus(container_statuses=statuses, **status))


def pod_resizing(spec: str, allocated: str, actual: str, limits: tuple[str, str] = ("", ""), **status: Any) -> Pod:
    """A pod whose pod level is in the middle of a resize."""
    desired, actual_limits = limits
    return pod(
        container("a"),
        level=(spec, desired),
        status=PodStatus(
            allocated_resources=amounts(allocated), resources=resources(actual, actual_limits), **status
        ),
    )


@pytest.mark.parametrize(
    ("case", "scheduler", "quota"),
    [
        (resizing("200m", "100m", "100m"), "200m", "200m"),
        (resizing("100m", "100m", "200m"), "200m", "200m"),
        (resizing("100m", "300m", "200m"), "300m", "300m"),
        (resizing("200m", "100m", "100m", conditions=DEFERRED), "200m", "200m"),
        (resizing("4", "1", "1", conditions=INFEASIBLE), "1", "1"),
        (resizing("4", "2", "1", conditions=INFEASIBLE), "2", "2"),
        (resizing("4", "8", None), "4", "4"),
        (resizing("4", "8", None, conditions=INFEASIBLE), "4", "4"),
        (pod_resizing("2,2Gi", "1,1Gi", "1,1Gi"), "2,2Gi", "2,2Gi"),
        (pod_resizing("1,1Gi", "1,1Gi", "2,2Gi"), "2,2Gi", "1,1Gi"),
        (pod_resizing("8,8Gi", "1,1Gi", "1,1Gi", conditions=INFEASIBLE), "1,1Gi", "8,8Gi"),
        (pod_resizing("1", "1,1Gi", "2,2Gi"), "2", "1"),
        (pod_resizing("1,1Gi", "1", "1", conditions=INFEASIBLE), "1,0", "1,1Gi"),
    ],
)
def test_requests_in_use(case: Pod, scheduler: str, quota: str) -> None:
    """The largest of desired, allocated and actual; an infeasible wish is ignored; quota trusts the pod level."""
    assert texts(statusaware.scheduler_requests(case)) == texts(amounts(scheduler))
    assert texts(statusaware.quota_requests(case)) == texts(amounts(quota))


def test_two_containers_swap_sizes() -> None:
    """The largest is taken per container and then added up, so a swap counts twice."""
    statuses = (reported("a", "200m", "200m"), reported("b", "100m", "100m"))
    case = pod(container("a", "100m"), container("b", "200m"), status=PodStatus(container_statuses=statuses))
    assert statusaware.scheduler_requests(case) == amounts("400m")
    assert statusaware.quota_requests(case) == amounts("400m")


def test_pod_level_cpu_and_container_memory() -> None:
    """Names that the pod level does not mention come from the containers."""
    case = pod(
        container("a", ",2Gi"),
        level=("500m", ""),
        status=PodStatus(
            container_statuses=(reported("a", ",1Gi", ",1Gi"),),
            allocated_resources=amounts("500m,1Gi"),
            resources=resources("500m,1Gi"),
        ),
    )
    assert statusaware.scheduler_requests(case) == amounts("500m,2Gi")
    assert statusaware.quota_requests(case) == amounts("500m,2Gi")


def test_plain_init_containers_count_by_their_spec() -> None:
    """Only what keeps running can be resized: a sidecar's status counts, an init container's does not."""
    statuses = (reported("i", "9", "9"), reported("s", "300m", "300m"))
    case = pod(
        container("a", "100m"),
        init=(container("s", "100m", sidecar=True), container("i", "50m")),
        status=PodStatus(init_container_statuses=statuses),
    )
    assert statusaware.scheduler_requests(case) == amounts("400m")


def test_overhead_comes_on_top() -> None:
    status = PodStatus(container_statuses=(reported("a", "1", "2", "4"),))
    case = pod(container("a", "1", "3"), overhead="250m,64Mi", status=status)
    assert statusaware.scheduler_requests(case) == amounts("2250m,64Mi")
    assert statusaware.scheduler_limits(case) == amounts("4250m")


@pytest.mark.parametrize(
    ("conditions", "actual", "scheduler"),
    [((), "1,1Gi", "2,1Gi"), (INFEASIBLE, "1,1Gi", "1,1Gi"), (INFEASIBLE, None, "2"), ((), "", "2")],
)
def test_container_limits_in_force(conditions: tuple[Any, ...], actual: str | None, scheduler: str) -> None:
    """Limits know no allocation: the larger of desired and actual, actual alone if infeasible."""
    status = PodStatus(container_statuses=(reported("a", "", None if actual is None else "", actual or ""),))
    case = pod(container("a", "", "2"), status=status)
    case = Pod(
        spec=case.spec, status=PodStatus(container_statuses=status.container_statuses, conditions=conditions)
    )
    assert statusaware.scheduler_limits(case) == amounts(scheduler)
    assert statusaware.quota_limits(case) == amounts(scheduler)


@pytest.mark.parametrize(
    ("conditions", "limits", "scheduler"),
    [
        ((), ("2,2Gi", "1,4Gi"), "2,4Gi"),
        (INFEASIBLE, ("2,2Gi", "1"), "1,0"),
        (INFEASIBLE, ("2,2Gi", ""), "2,2Gi"),
        ((), ("2", "1,4Gi"), "2"),
    ],
)
def test_pod_level_limits_in_force(conditions: tuple[Any, ...], limits: tuple[str, str], scheduler: str) -> None:
    """Only names of the spec count; a status without limits leaves them in force. Quota looks at the spec."""
    case = pod_resizing("1", "1", "1", limits, conditions=conditions)
    assert texts(statusaware.scheduler_limits(case)) == texts(amounts(scheduler))
    assert statusaware.quota_limits(case) == amounts(limits[0])


@pytest.mark.parametrize(
    ("case", "scored"),
    [
        (pod(container("a"), container("b", "1")), "1100m,419430400"),
        (pod(container("a", "0,0")), "0,0"),
        (pod(container("a"), level=("1,1Gi", "")), "1,1Gi"),
        (pod(container("a"), level=("1", "")), "1,209715200"),
        (pod(container("a", "1,1Gi"), init=(container("i"),)), "1,1Gi"),
        (pod(container("a", "50m"), init=(container("i"),)), "100m,209715200"),
    ],
)
def test_scoring_assumes_something_for_nothing(case: Pod, scored: str) -> None:
    """Ranking takes a container without requests for 100m and 200Mi, where nothing else names the resource."""
    assert statusaware.scoring_requests(case) == amounts(scored)


def test_reasons_of_waiting_resizes() -> None:
    assert (
        statusaware.resize_pending_reason(pod(container("a"), status=PodStatus(conditions=DEFERRED))) == "Deferred"
    )
    assert statusaware.resize_pending_reason(pod(container("a"))) == ""
    assert not statusaware.is_resize_infeasible(pod(container("a"), status=PodStatus(conditions=DEFERRED)))
    assert statusaware.is_resize_infeasible(pod(container("a"), status=PodStatus(conditions=INFEASIBLE)))
