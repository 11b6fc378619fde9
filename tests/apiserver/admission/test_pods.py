"""What admission adds to pods, and which pods it refuses: namespaces, priorities, tolerations, topology, order."""

import asyncio
from typing import Any

import pytest
from tests.apiserver.admission.world import World, forbidden_of, new_world, pod, refused, request_of


async def test_nothing_is_created_in_a_missing_namespace() -> None:
    assert await World().refusal(request_of("CREATE", "pods", pod(), "ns")) == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'namespaces "ns" not found',
        "reason": "NotFound",
        "details": {"name": "ns", "kind": "namespaces"},
        "code": 404,
    }


async def test_nothing_is_created_in_a_namespace_that_goes_away() -> None:
    world = World()
    world.put("namespaces", {"metadata": {"name": "ns"}, "status": {"phase": "Terminating"}})
    detail = "unable to create new content in namespace ns because it is being terminated"
    cause = {
        "reason": "NamespaceTerminating",
        "message": "namespace ns is being terminated",
        "field": "metadata.namespace",
    }
    assert await refused(world, pod()) == forbidden_of("pods", "p", detail, causes=[cause])


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_three_namespaces_stay(name: str) -> None:
    request = request_of("DELETE", "namespaces", None, old={"metadata": {"name": name}})
    assert await World().refusal(request) == forbidden_of("namespaces", name, "this namespace may not be deleted")


async def test_other_namespaces_may_go() -> None:
    assert await World().admit(request_of("DELETE", "namespaces", None, old={"metadata": {"name": "x"}})) == {}


def add_class(world: World, name: str, value: int, **rest: Any) -> None:
    policy = {"preemptionPolicy": "PreemptLowerPriority", **rest}
    world.put("priorityclasses", {"metadata": {"name": name}, "value": value, **policy})


async def test_the_smaller_of_two_global_defaults_wins() -> None:
    """A race can make two."""
    world = new_world()
    add_class(world, "big", 9, globalDefault=True)
    add_class(world, "small", 3, globalDefault=True, preemptionPolicy="Never")
    spec = (await world.create("pods", pod(), "ns"))["spec"]
    assert (spec["priorityClassName"], spec["priority"], spec["preemptionPolicy"]) == ("small", 3, "Never")


async def test_an_update_keeps_the_priority() -> None:
    old = pod(priority=7, preemptionPolicy="Never")
    spec = (await new_world().update("pods", pod(), old, "ns"))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (7, "Never")


async def test_the_global_default_may_change_itself_but_not_be_joined() -> None:
    world = new_world()
    add_class(world, "first", 1, globalDefault=True)
    first = {"metadata": {"name": "first"}, "globalDefault": True, "description": "d"}
    second = {"metadata": {"name": "second"}, "globalDefault": True}
    assert await world.update("priorityclasses", first, first) == first
    detail = "PriorityClass first is already marked as default. Only one default can exist"
    for request in (
        request_of("CREATE", "priorityclasses", second),
        request_of("UPDATE", "priorityclasses", second, old={"metadata": {"name": "second"}}),
    ):
        assert await world.refusal(request) == forbidden_of(
            "priorityclasses", "second", detail, "scheduling.k8s.io"
        )


async def test_system_classes_cannot_be_deleted() -> None:
    name = "system-node-critical"
    request = request_of("DELETE", "priorityclasses", None, old={"metadata": {"name": name}})
    detail = "this is a system priority class and cannot be deleted"
    assert await World().refusal(request) == forbidden_of("priorityclasses", name, detail, "scheduling.k8s.io")


@pytest.mark.parametrize(
    ("given", "added"),
    [
        ([], ["not-ready", "unreachable"]),
        ([{"operator": "Exists", "effect": "NoSchedule"}], ["not-ready", "unreachable"]),
        ([{"key": "node.kubernetes.io/unreachable", "operator": "Exists"}], ["not-ready"]),
        ([{"operator": "Exists", "effect": "NoExecute"}], []),
    ],
)
async def test_pods_stay_for_a_while_on_silent_nodes(given: Any, added: list[str]) -> None:
    """Unless they say themselves how long; an update brings it to old pods too."""
    expected = [
        *given,
        *(
            {
                "key": f"node.kubernetes.io/{name}",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            }
            for name in added
        ),
    ]
    world = new_world()
    created = await world.create("pods", pod(tolerations=given), "ns")
    updated = await world.update("pods", pod(tolerations=given), pod(), "ns")
    assert [obj["spec"].get("tolerations") for obj in (created, updated)] == [expected, expected]


async def test_new_nodes_are_not_ready() -> None:
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    world = new_world()
    fresh = await world.create("nodes", {"metadata": {"name": "n"}})
    tainted = await world.create("nodes", {"metadata": {"name": "n"}, "spec": {"taints": [taint]}})
    assert [fresh["spec"], tainted["spec"]] == [{"taints": [taint]}, {"taints": [taint]}]


ZONE = {"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r"}


async def test_topology_labels_follow_the_node() -> None:
    world = new_world()
    world.put("nodes", {"metadata": {"name": "n", "labels": {**ZONE, "kubernetes.io/os": "linux"}}})
    world.put("pods", pod(), "ns")
    binding = {"metadata": {"name": "p", "labels": {"a": "b"}}, "target": {"kind": "Node", "name": "n"}}
    bound = await world.create("pods", binding, "ns", subresource="binding")
    born = await world.create("pods", pod(nodeName="n"), "ns")
    elsewhere = await world.create("pods", pod(nodeName="unknown"), "ns")
    labels = [obj["metadata"].get("labels") for obj in (bound, born, elsewhere)]
    assert labels == [{"a": "b", **ZONE}, ZONE, None]


async def test_topology_labels_can_be_switched_off() -> None:
    world = new_world({"PodTopologyLabelsAdmission": False})
    world.put("nodes", {"metadata": {"name": "n", "labels": ZONE}})
    obj = await world.create("pods", pod(nodeName="n"), "ns")
    assert "labels" not in obj["metadata"]


def test_the_chain_has_upstreams_order() -> None:
    assert [plugin.name for plugin in World().plugins] == [
        "NamespaceLifecycle",
        "LimitRanger",
        "ServiceAccount",
        "NodeRestriction",
        "TaintNodesByCondition",
        "PodSecurity",
        "Priority",
        "DefaultTolerationSeconds",
        "RuntimeClass",
        "CertificateApproval",
        "CertificateSigning",
        "CertificateSubjectRestriction",
        "PodTopologyLabels",
        "NodeDeclaredFeatureValidator",
        "PodResizeValidator",
        "ResourceQuota",
    ]


def test_admission_of_a_plain_pod_never_waits() -> None:
    """Without quotas nothing is written, so a coroutine that suspends would be a mistake."""
    coroutine = new_world().create("pods", pod(), "ns")
    with pytest.raises(StopIteration):
        coroutine.send(None)
    assert asyncio.iscoroutine(coroutine)
