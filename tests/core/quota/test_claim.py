"""What objects count for."""

from typing import Any

import pytest

from flexlet.api.decode import from_value, to_value
from flexlet.api.pod import Pod
from flexlet.core.quota.claim import ONE, Claim, Counting, count_claim, pod_claim, service_claim
from flexlet.core.quota.names import resource_of
from flexlet.core.quota.scopes import PodTraits

NOW = 1_700_000_000.0  # 2023-11-14T22:13:20Z
ALL = Counting()


def pod_of(*containers: Any, status: Any = None, metadata: Any = None, **spec: Any) -> Pod:
    """A pod; containers are their resources, named a, b, ..."""
    named = [{"name": name, "resources": part} for name, part in zip("abcd", containers, strict=False)]
    value = {"metadata": metadata or {}, "spec": {"containers": named, **spec}, "status": status or {}}
    return from_value(value, Pod)


def usage_of(pod: Pod, counting: Counting = ALL) -> Any:
    return to_value(pod_claim(pod, NOW, counting).usage)


@pytest.mark.parametrize(
    ("name", "resource"),
    [
        ("pods", "pods"),
        ("cpu", "pods"),
        ("requests.memory", "pods"),
        ("limits.ephemeral-storage", "pods"),
        ("hugepages-2Mi", "pods"),
        ("requests.hugepages-1Gi", "pods"),
        ("requests.nvidia.com/gpu", "pods"),
        ("requests.deviceclass.resource.kubernetes.io/gpu", "pods"),
        ("requests.kubernetes.io/odd", None),
        ("count/pods", "pods"),
        ("count/deployments.apps", "deployments.apps"),
        ("count/widgets.example.com", "widgets.example.com"),
        ("secrets", "secrets"),
        ("services.nodeports", "services"),
        ("persistentvolumeclaims", "persistentvolumeclaims"),
        ("requests.storage", "persistentvolumeclaims"),
        ("gold.storageclass.storage.k8s.io/requests.storage", "persistentvolumeclaims"),
        ("gpu.deviceclass.resource.k8s.io/devices", "resourceclaims.resource.k8s.io"),
        ("deployments", None),
    ],
)
def test_every_limit_belongs_to_one_resource(name: str, resource: str | None) -> None:
    assert resource_of(name) == resource


def test_a_pod_counts_under_all_names_of_its_amounts() -> None:
    """Plain names mean requests; vendors' resources only have the long name."""
    requests = {"cpu": "1", "memory": "1Gi", "hugepages-2Mi": "4Mi", "example.com/fpga": "2"}
    pod = pod_of({"requests": requests, "limits": {"cpu": "2", "example.com/fpga": "2"}})
    assert usage_of(pod) == {
        "count/pods": "1",
        "pods": "1",
        "cpu": "1",
        "requests.cpu": "1",
        "limits.cpu": "2",
        "memory": "1Gi",
        "requests.memory": "1Gi",
        "hugepages-2Mi": "4Mi",
        "requests.hugepages-2Mi": "4Mi",
        "requests.example.com/fpga": "2",
    }


POD_LEVEL = {"requests": {"cpu": "3"}, "limits": {"memory": "1Gi"}}


@pytest.mark.parametrize(
    ("counting", "expected"),
    [
        (Counting(), {"cpu": "3", "requests.cpu": "3", "limits.memory": "1Gi"}),
        (Counting(pod_level=False), {"cpu": "500m", "requests.cpu": "500m"}),
    ],
)
def test_pod_level_resources_replace_the_sum_of_the_containers(counting: Counting, expected: Any) -> None:
    pod = pod_of({"requests": {"cpu": "200m"}}, {"requests": {"cpu": "300m"}}, resources=POD_LEVEL)
    assert usage_of(pod, counting) == {"count/pods": "1", "pods": "1", **expected}


@pytest.mark.parametrize(
    ("counting", "cpu"), [(Counting(), "2"), (Counting(in_place_resize=False), "1")], ids=["on", "off"]
)
def test_a_resize_under_way_counts_with_the_larger_amount(counting: Counting, cpu: str) -> None:
    status = {"containerStatuses": [{"name": "a", "resources": {"requests": {"cpu": "2"}}}]}
    usage = usage_of(pod_of({"requests": {"cpu": "1"}}, status=status), counting)
    assert usage == {"count/pods": "1", "pods": "1", "cpu": cpu, "requests.cpu": cpu}


LEAVING = {"deletionTimestamp": "2023-11-14T22:13:00Z"}


@pytest.mark.parametrize(
    ("given", "counts"),
    [
        ({"status": {"phase": "Running"}}, True),
        ({"status": {"phase": "Succeeded"}}, False),
        ({"status": {"phase": "Failed"}}, False),
        ({"metadata": {**LEAVING, "deletionGracePeriodSeconds": 20}}, True),
        ({"metadata": {**LEAVING, "deletionGracePeriodSeconds": 19}}, False),
        ({"metadata": LEAVING}, True),
    ],
)
def test_a_pod_that_is_over_counts_by_number_only(given: Any, counts: bool) -> None:
    """Finished pods, and those stuck terminating beyond their grace period, hold nothing any more."""
    compute = {"pods": "1", "cpu": "1", "requests.cpu": "1"} if counts else {}
    assert usage_of(pod_of({"requests": {"cpu": "1"}}, **given)) == {"count/pods": "1", **compute}


def test_containers_tell_what_they_state() -> None:
    pod = pod_of({"requests": {"cpu": "1"}}, {"limits": {"memory": "1Gi"}})
    assert pod_claim(pod, NOW, ALL).stated == (
        ("a", frozenset({"cpu", "requests.cpu"})),
        ("b", frozenset({"limits.memory"})),
    )


def test_pods_with_pod_level_resources_need_not_state_anything() -> None:
    assert pod_claim(pod_of({}, resources=POD_LEVEL), NOW, ALL).stated == ()


TERM = {"topologyKey": "zone"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    ("spec", "traits"),
    [
        ({}, PodTraits(best_effort=True)),
        ({"activeDeadlineSeconds": 0}, PodTraits(best_effort=True, terminating=True)),
        ({"priorityClassName": "high"}, PodTraits(best_effort=True, priority_class="high")),
        ({"resources": POD_LEVEL}, PodTraits()),
        ({"affinity": {"podAffinity": {REQUIRED: [TERM]}}}, PodTraits(best_effort=True)),
        (
            {"affinity": {"podAntiAffinity": {REQUIRED: [{**TERM, "namespaces": ["x"]}]}}},
            PodTraits(best_effort=True, cross_namespace_affinity=True),
        ),
        (
            {"affinity": {"podAffinity": {PREFERRED: [{"podAffinityTerm": {**TERM, "namespaceSelector": {}}}]}}},
            PodTraits(best_effort=True, cross_namespace_affinity=True),
        ),
    ],
)
def test_traits_are_what_scopes_ask_for(spec: Any, traits: PodTraits) -> None:
    assert pod_claim(pod_of({}, **spec), NOW, ALL).traits == traits


@pytest.mark.parametrize(
    ("spec", "node_ports", "balancers"),
    [
        ({"ports": [{}, {}]}, "0", "0"),
        ({"type": "NodePort", "ports": [{}, {}]}, "2", "0"),
        ({"type": "LoadBalancer", "ports": [{}, {}]}, "2", "1"),
        (
            {"type": "LoadBalancer", "ports": [{"nodePort": 3}, {}], "allocateLoadBalancerNodePorts": False},
            "1",
            "1",
        ),
    ],
)
def test_services_count_what_they_take_from_nodes(spec: Any, node_ports: str, balancers: str) -> None:
    assert to_value(service_claim(spec).usage) == {
        "count/services": "1",
        "services": "1",
        "services.loadbalancers": balancers,
        "services.nodeports": node_ports,
    }


def test_other_objects_count_one_by_one() -> None:
    """Some have an older name besides."""
    assert to_value(count_claim("secrets").usage) == {"count/secrets": "1", "secrets": "1"}
    assert count_claim("jobs.batch") == Claim(resource="jobs.batch", usage={"count/jobs.batch": ONE})
