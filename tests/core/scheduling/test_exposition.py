"""The scheduler's resource metrics."""

from flexlet.core.scheduling.exposition import render
from tests.core.scheduling.cluster import pod


def test_requests_of_live_pods_are_exported_with_their_units() -> None:
    """CPU in cores, memory in bytes, finished pods not at all; overhead is part of the figure."""
    live = pod("web", cpu="250m", memory="1Gi", on="n1", priority=7, overhead={"cpu": "50m"})
    done = pod("done", status={"phase": "Succeeded"})
    head = (
        "# HELP kube_pod_resource_request [STABLE] Resources requested by workloads on the cluster, broken down by "
        "pod. This shows the resource usage the scheduler and kubelet expect per pod for resources along with the "
        "unit for the resource if any.\n# TYPE kube_pod_resource_request gauge\n"
    )
    who = 'namespace="default",node="n1",pod="web",priority="7"'
    assert render([live, done]) == head + (
        f'kube_pod_resource_request{{{who},resource="cpu",scheduler="default-scheduler",unit="cores"}} 0.3\n'
        f'kube_pod_resource_request{{{who},resource="memory",scheduler="default-scheduler",unit="bytes"}} 1073741824\n'
    )


def test_nothing_to_say_is_empty() -> None:
    assert render([]) == ""
