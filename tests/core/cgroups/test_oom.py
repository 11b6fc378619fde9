import pytest
from msgspec.structs import replace
from tests.pods import container, pod

from flexlet.api.pod import Pod, PodStatus
from flexlet.api.units import GIB
from flexlet.core.cgroups import oom
from flexlet.core.resources.defaults import default_pod

NODE = 16 * GIB
SIDECAR = container("s", ",64Mi", sidecar=True)


@pytest.mark.parametrize(
    ("written", "node_memory", "scores"),
    [
        (pod(container("a", ",128Mi"), container("b", ",256Mi")), NODE, {"a": 993, "b": 985}),
        (pod(container("a", ",1Gi")), NODE, {"a": 938}),
        (pod(container("a", ",2Gi")), NODE, {"a": 875}),
        (pod(container("a", ",512Mi")), NODE, {"a": 969}),
        (pod(container("a", ",1Ki")), NODE, {"a": 999}),
        (pod(container("a", ",16Gi")), NODE, {"a": 3}),
        (pod(container("a", ",128Mi"), container("b"), level=("1,512Mi", "")), NODE, {"a": 981, "b": 989}),
        (pod(container("a", ",128Mi"), container("b"), level=("", "1,1Gi")), NODE, {"a": 993, "b": 999}),
        (
            pod(container("a"), container("b"), container("c"), level=("1,180Gi", "")),
            1000 * GIB,
            {"a": 940, "b": 940, "c": 940},
        ),
        (
            pod(container("a", ",50Gi"), container("b", ",100Gi"), container("c"), level=("1,180Gi", "")),
            1000 * GIB,
            {"a": 940, "b": 890, "c": 990},
        ),
        (
            pod(container("a", ",2Gi"), container("b", ",1Gi"), init=(SIDECAR,)),
            NODE,
            {"s": 938, "a": 875, "b": 938},
        ),
        (
            pod(container("a", ",2Gi"), container("b", ",1Gi"), init=(SIDECAR,), level=("1,4Gi", "")),
            NODE,
            {"s": 918, "a": 856, "b": 918},
        ),
        (pod(container("a"), level=("1,1Gi", "1,1Gi")), NODE, {"a": -997}),
        (pod(container("a", "1,1Gi", "1,1Gi")), NODE, {"a": -997}),
        (pod(container("a"), init=(SIDECAR, container("i"))), NODE, {"a": 999, "s": 997, "i": 999}),
        (pod(container("a")), NODE, {"a": 1000}),
        (
            pod(container("a"), priority=2_000_001_000, priority_class="system-node-critical"),
            NODE,
            {"a": -997},
        ),
        (pod(container("a"), priority=2_000_000_000, priority_class="system-cluster-critical"), NODE, {"a": 1000}),
        (pod(container("a", ",2Gi"), level=("1,1Gi", "")), NODE, {"a": 938}),
        (pod(container("a", ",1Gi"), container("b", ",1Gi"), level=("1,1", "")), 2 * GIB, {"a": 999, "b": 999}),
    ],
)
def test_scores(written: Pod, node_memory: int, scores: dict[str, int]) -> None:
    """By memory request, with a share of what the pod requests beyond its containers."""
    case = default_pod(written)
    assert oom.oom_scores(case, node_memory) == scores
    everyone = (*case.spec.containers, *case.spec.init_containers)
    assert {c.name: oom.oom_score_adj(case, c, node_memory) for c in everyone} == scores


def test_the_recorded_class_counts_unless_overridden() -> None:
    case = replace(pod(container("a", ",1Gi")), status=PodStatus(qos_class="Guaranteed"))
    assert oom.oom_scores(case, NODE) == {"a": -997}
    assert oom.oom_scores(case, NODE, qos="Burstable") == {"a": 938}
    assert oom.oom_score_adj(case, case.spec.containers[0], NODE, qos="BestEffort") == 1000


def test_a_negative_share_may_exceed_the_scale() -> None:
    """A pod that asks for less than its containers is no valid one; upstream lets its score pass 1000."""
    case = pod(container("a", "1"), container("b", ",4Gi"), level=("1,1Gi", ""))
    assert oom.oom_scores(case, NODE) == {"a": 1093, "b": 844}
