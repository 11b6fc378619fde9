"""Resizes in front of limit ranges, nodes and quotas."""

import copy
from typing import Any

import pytest
from tests.apiserver.admission.world import World, forbidden_of, new_world, pod, request_of

ALLOCATABLE = {"cpu": "4", "memory": "8Gi"}


def bound(**rest: Any) -> Any:
    """A pod on node n."""
    obj = pod(nodeName="n", **rest)
    obj["metadata"]["generation"] = 1
    return obj


def resize(old: Any, new: Any, *, changed: bool = True, **rest: Any) -> Any:
    new = copy.deepcopy(new)
    new["metadata"]["generation"] = 2 if changed else 1
    return request_of("UPDATE", "pods", new, "ns", old=old, **{"subresource": "resize", **rest})


def world_with_node(gates: Any = None, *, features: Any = (), **labels: str) -> World:
    world = new_world(gates)
    status = {"allocatable": ALLOCATABLE, "declaredFeatures": list(features)}
    world.put("nodes", {"metadata": {"name": "n", "labels": labels}, "status": status})
    return world


BIG = bound(requests={"cpu": "5", "memory": "9Gi"})
SMALL = bound(requests={"cpu": "1"})
TOO_BIG = forbidden_of(
    "pods",
    "p",
    "node didn't have enough allocatable resources: cpu, requested: 5000, allocatable: 4000; "
    "memory, requested: 9663676416, allocatable: 8589934592",
    causes=[{"reason": "NodeCapacity"}],
)


@pytest.mark.parametrize("old", [SMALL, bound(requests={"cpu": "9", "memory": "20Gi"})], ids=["up", "down"])
async def test_a_resize_must_fit_the_node(old: Any) -> None:
    """Down as well as up: a pod larger than a shrunken node can only go straight to a fitting size."""
    assert await world_with_node().refusal(resize(old, BIG)) == TOO_BIG


async def test_the_overhead_counts_on_the_node() -> None:
    new = bound(requests={"cpu": "4"}, overhead={"cpu": "1m"})
    detail = "node didn't have enough allocatable resources: cpu, requested: 4001, allocatable: 4000"
    assert await world_with_node().refusal(resize(SMALL, new)) == forbidden_of(
        "pods", "p", detail, causes=[{"reason": "NodeCapacity"}]
    )


async def test_a_resize_needs_the_node() -> None:
    assert await new_world().refusal(resize(SMALL, BIG)) == forbidden_of("pods", "p", 'node "n" not found')


async def test_only_linux_nodes_resize() -> None:
    world = world_with_node(**{"kubernetes.io/os": "windows"})
    detail = 'pod resize is only supported on linux nodes, node "n" is "windows"'
    assert await world.refusal(resize(SMALL, bound(requests={"cpu": "2"}))) == forbidden_of(
        "pods", "p", detail, causes=[{"reason": "UnsupportedPlatform"}]
    )


@pytest.mark.parametrize(
    "request_",
    [
        resize(BIG, BIG, changed=False),
        resize(SMALL, BIG, subresource="status"),
        resize(pod(requests={"cpu": "1"}), pod(requests={"cpu": "99"})),
    ],
    ids=["nothing changes", "another path", "not bound"],
)
async def test_what_is_no_resize_on_a_node_passes(request_: Any) -> None:
    obj = copy.deepcopy(request_.obj)
    assert (await world_with_node().admit(request_))["spec"]["containers"] == obj["spec"]["containers"]


async def test_without_the_gate_nodes_are_not_asked() -> None:
    world = world_with_node({"InPlacePodVerticalScaling": False})
    assert (await world.admit(resize(SMALL, BIG)))["spec"]["containers"] == BIG["spec"]["containers"]


POD_LEVEL = {"requests": {"cpu": "2"}}
INIT = {"name": "i", "resources": {"requests": {"cpu": "1"}}}
INIT_LARGER = {"name": "i", "resources": {"requests": {"cpu": "2"}}}
BOTH = "InPlacePodLevelResourcesVerticalScaling, InPlacePodVerticalScalingInitContainers"


@pytest.mark.parametrize(
    ("old", "new", "features", "missing"),
    [
        (bound(), bound(resources=POD_LEVEL), (), "InPlacePodLevelResourcesVerticalScaling"),
        (bound(), bound(resources={}), (), "InPlacePodLevelResourcesVerticalScaling"),
        (
            bound(initContainers=[INIT]),
            bound(initContainers=[INIT_LARGER]),
            ("InPlacePodLevelResourcesVerticalScaling",),
            "InPlacePodVerticalScalingInitContainers",
        ),
        (bound(initContainers=[INIT]), bound(initContainers=[INIT_LARGER], resources=POD_LEVEL), (), BOTH),
    ],
)
async def test_a_node_must_declare_what_the_update_needs(old: Any, new: Any, features: Any, missing: str) -> None:
    detail = f'pod update requires features {missing} which are not available on node "n"'
    world = world_with_node(features=features)
    assert await world.refusal(resize(old, new)) == forbidden_of("pods", "p", detail)


SIDECAR = {**INIT, "restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("old", "new", "gates", "features"),
    [
        (bound(), bound(resources=POD_LEVEL), {}, ("InPlacePodLevelResourcesVerticalScaling",)),
        (bound(), bound(resources=POD_LEVEL), {"NodeDeclaredFeatures": False}, ()),
        (bound(resources=POD_LEVEL), bound(resources={"requests": {"cpu": "2000m"}}), {}, ()),
        (
            bound(initContainers=[SIDECAR]),
            bound(initContainers=[{**INIT_LARGER, "restartPolicy": "Always"}]),
            {},
            (),
        ),
    ],
    ids=["declared", "gate off", "equal amounts", "sidecar"],
)
async def test_what_a_node_need_not_declare(old: Any, new: Any, gates: Any, features: Any) -> None:
    world = world_with_node(gates, features=features)
    assert (await world.admit(resize(old, new)))["spec"] == new["spec"]


def limits(**item: Any) -> Any:
    return {"metadata": {"name": "lr"}, "spec": {"limits": [{"type": "Container", **item}]}}


async def test_limit_ranges_complete_a_resize_without_a_note() -> None:
    world = world_with_node()
    world.put("limitranges", limits(default={"cpu": "3"}), "ns")
    obj = await world.admit(resize(SMALL, bound(requests={"cpu": "2"})))
    assert obj["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "2"}, "limits": {"cpu": "3"}}
    assert "annotations" not in obj["metadata"]


async def test_limit_ranges_bound_a_resize() -> None:
    world = world_with_node()
    world.put("limitranges", limits(min={"cpu": "1500m"}, max={"memory": "1Gi"}), "ns")
    new = bound(requests={"cpu": "1"}, limits={"memory": "2Gi"})
    detail = (
        "[minimum cpu usage per Container is 1500m, but request is 1, "
        "maximum memory usage per Container is 1Gi, but limit is 2Gi]"
    )
    assert await world.refusal(resize(SMALL, new)) == forbidden_of("pods", "p", detail)


async def test_limit_ranges_leave_pods_alone_that_are_going() -> None:
    world = world_with_node()
    world.put("limitranges", limits(max={"cpu": "1"}), "ns")
    old = bound()
    old["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z"
    new = bound(requests={"cpu": "2"}, limits={"cpu": "2"})
    assert (await world.admit(resize(old, new)))["spec"] == new["spec"]


async def test_limit_ranges_do_not_look_at_plain_updates() -> None:
    world = world_with_node()
    world.put("limitranges", limits(max={"cpu": "1"}, default={"cpu": "1"}), "ns")
    old = bound(limits={"cpu": "2"})
    obj = await world.update("pods", old, old, "ns")
    assert obj["spec"]["containers"] == old["spec"]["containers"]


async def test_pod_level_resources_count_for_limit_ranges_if_switched_on() -> None:
    item = {"type": "Pod", "max": {"cpu": "1"}}
    obj = pod(limits={"cpu": "1"}, resources={"limits": {"cpu": "2"}})
    for gates, is_refused in (({}, True), ({"PodLevelResources": False}, False)):
        world = new_world(gates)
        world.put("limitranges", {"metadata": {"name": "lr"}, "spec": {"limits": [item]}}, "ns")
        request = request_of("CREATE", "pods", obj, "ns")
        if is_refused:
            detail = "maximum cpu usage per Pod is 1, but limit is 2"
            assert await world.refusal(request) == forbidden_of("pods", "p", detail)
        else:
            assert (await world.admit(request))["spec"]["resources"] == {"limits": {"cpu": "2"}}
