"""The scheduler's resource metrics."""

from tests.core.scheduling.cluster import pod

from flexlet.core.scheduling.exposition import render


def test_requests_of_live_pods_are_exported_with_their_units() -> None:
    """CPU in cores, memory in bytes, finished pods not at all; overhead is part of the figure."""
    live = pod("web", cpu="250m", memory="1Gi", on="n1", priority=7, overhead={"cpu": "50m"})
    done = pod("done", status={"phase": "Succeeded"})
    head = (
        "# HELP kube_pod_resource_request What a live pod asks for in all, per resource, as the scheduler counts "
        "it.\n# TYPE kube_pod_resource_request gauge\n"
    )
    who = 'namespace="default",node="n1",pod="web",priority="7"'
    by = 'scheduler="default-scheduler"'
    assert render([live, done]) == head + (
        f'kube_pod_resource_request{{{who},resource="cpu",{by},unit="cores"}} 0.3\n'
        f'kube_pod_resource_request{{{who},resource="memory",{by},unit="bytes"}} 1073741824\n'
    )


def test_nothing_to_say_is_empty() -> None:
    assert render([]) == ""
