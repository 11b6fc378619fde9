"""Names and samples of the resize metrics."""

from tests.pods import container, pod

from flexlet.core.gates import switch
from flexlet.core.resize import metrics


def test_names_and_labels_are_the_kubelets() -> None:
    assert [(metric.name.removeprefix("kubelet_"), metric.kind, metric.labels) for metric in metrics.ALL] == [
        ("container_requested_resizes_total", "counter", ("resource", "requirement", "operation")),
        ("pod_resize_duration_milliseconds", "histogram", ("success",)),
        ("pod_pending_resizes", "gauge", ("reason",)),
        ("pod_infeasible_resizes_total", "counter", ("reason_detail",)),
        ("pod_in_progress_resizes", "gauge", ()),
        ("pod_deferred_accepted_resizes_total", "counter", ("retry_trigger",)),
    ]


def test_each_requirement_that_moves_is_a_sample() -> None:
    before = pod(container("a", "100m,64Mi", "200m"), container("b", "1,1Gi"), init=(container("i", "1"),))
    after = pod(container("a", "50m,128Mi", ",256Mi"), container("b", "1000m,1024Mi"), init=(container("i", "2"),))
    a = (
        ("memory", "requests", "increase"),
        ("cpu", "requests", "decrease"),
        ("memory", "limits", "add"),
        ("cpu", "limits", "remove"),
    )
    assert metrics.requested(before, after) == (("cpu", "requests", "increase"), *a)
    assert metrics.requested(before, after, switch({"InPlacePodVerticalScalingInitContainers": False})) == a
