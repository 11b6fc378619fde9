import pytest
from tests.pods import container, pod

from flexlet.api.pod import Pod, PodStatus
from flexlet.core.resources.defaults import default_pod
from flexlet.core.resources.qos import BEST_EFFORT, BURSTABLE, GUARANTEED, qos_class, recorded_qos_class

A = container("a", "100m,128Mi")
FULL = container("a", "500m,512Mi", "500m,512Mi")


@pytest.mark.parametrize(
    ("written", "qos"),
    [
        (pod(FULL), GUARANTEED),
        (pod(FULL, init=(container("i", "", "1,1Gi"),)), GUARANTEED),
        (pod(FULL, init=(container("i"),)), BURSTABLE),
        (pod(FULL, container("b")), BURSTABLE),
        (pod(container("a", "", "1,1Gi")), GUARANTEED),
        (pod(container("a", "", "1")), BURSTABLE),
        (pod(container("a", "500m,512Mi", "1,512Mi")), BURSTABLE),
        (pod(A), BURSTABLE),
        (pod(A, container("b"), level=("1,1Gi", "1,1Gi")), GUARANTEED),
        (pod(FULL, level=("1", "1")), BURSTABLE),
        (pod(A, level=("1,1Gi", "")), BURSTABLE),
        (pod(A, level=("", "1,1Gi")), BURSTABLE),
        (pod(container("a"), level=("", "1,1Gi")), GUARANTEED),
        (
            pod(container("a", "100m,100Mi", "100m,100Mi"), container("b"), level=(",200Mi", "200m,200Mi")),
            BURSTABLE,
        ),
        (pod(container("a")), BEST_EFFORT),
        (pod(container("a", "0,0", "0,0")), BEST_EFFORT),
        (pod(container("a", "example.com/gpu=1", "example.com/gpu=1")), BEST_EFFORT),
        (pod(FULL, level=("", "")), BEST_EFFORT),
        (pod(FULL, level=("hugepages-2Mi=2Mi", "hugepages-2Mi=2Mi")), BURSTABLE),
        (pod(), BEST_EFFORT),
    ],
)
def test_class_of_a_defaulted_pod(written: Pod, qos: str) -> None:
    """Pod level decides alone if it is there at all, even if empty; else every container has a say."""
    assert qos_class(default_pod(written)) == qos


def test_sums_decide() -> None:
    """v1.36 compares the sums over containers, so differences may cancel out."""
    assert qos_class(pod(container("a", "1,1Gi", "2,1Gi"), container("b", "2,1Gi", "1,1Gi"))) == GUARANTEED


def test_the_recorded_class_is_authoritative() -> None:
    case = pod(FULL, status=PodStatus(qos_class=BEST_EFFORT))
    assert (qos_class(case), recorded_qos_class(case), recorded_qos_class(pod(FULL))) == (
        GUARANTEED,
        BEST_EFFORT,
        GUARANTEED,
    )
