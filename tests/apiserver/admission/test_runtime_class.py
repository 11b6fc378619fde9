"""What a runtime class brings to its pods."""

from typing import Any

import pytest
from tests.apiserver.admission.world import World, forbidden_of, new_world, pod, refused, toleration

from flexlet.apiserver.admission.runtime_class import merged


def add_runtime(world: World, **rest: Any) -> None:
    world.put("runtimeclasses", {"metadata": {"name": "kata"}, "handler": "kata", **rest})


async def test_a_runtime_class_brings_overhead_and_placement() -> None:
    world = new_world()
    wide = {"operator": "Exists"}
    add_runtime(
        world,
        overhead={"podFixed": {"cpu": "250m"}},
        scheduling={"nodeSelector": {"vm": "yes"}, "tolerations": [wide]},
    )
    narrow = {"key": "x", "operator": "Exists", "effect": "NoSchedule"}
    obj = pod(runtimeClassName="kata", nodeSelector={"disk": "ssd"}, tolerations=[narrow])
    spec = (await world.create("pods", obj, "ns"))["spec"]
    assert spec["overhead"] == {"cpu": "250m"}
    assert spec["nodeSelector"] == {"disk": "ssd", "vm": "yes"}
    assert spec["tolerations"] == [wide]


@pytest.mark.parametrize(
    ("spec", "detail"),
    [
        ({"runtimeClassName": "odd"}, 'pod rejected: RuntimeClass "odd" not found'),
        (
            {"overhead": {"cpu": "1"}},
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        ),
        (
            {"runtimeClassName": "kata", "overhead": {"cpu": "1"}},
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
        ),
        (
            {"runtimeClassName": "kata", "nodeSelector": {"vm": "no"}},
            "conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] = no",
        ),
    ],
)
async def test_a_pod_may_not_contradict_its_runtime_class(spec: Any, detail: str) -> None:
    world = new_world()
    add_runtime(world, overhead={"podFixed": {"cpu": "250m"}}, scheduling={"nodeSelector": {"vm": "yes"}})
    assert await refused(world, pod(**spec)) == forbidden_of("pods", "p", detail)


SHORT = toleration("k", effect="NoExecute", tolerationSeconds=5)
LONG = toleration("k", effect="NoExecute", tolerationSeconds=9)
EQUAL = {"key": "k", "operator": "Equal", "value": "v"}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ([SHORT, SHORT], [SHORT]),
        ([SHORT, LONG], [LONG]),
        ([SHORT, toleration("k", effect="NoExecute")], [toleration("k", effect="NoExecute")]),
        ([toleration("k", effect="NoExecute"), SHORT], [toleration("k", effect="NoExecute")]),
        ([SHORT, toleration("k", effect="NoSchedule")], [SHORT, toleration("k", effect="NoSchedule")]),
        ([EQUAL, toleration("k")], [toleration("k")]),
        ([EQUAL, {**EQUAL, "value": "w"}], [EQUAL, {**EQUAL, "value": "w"}]),
        ([{**EQUAL, "effect": "NoSchedule"}, EQUAL], [EQUAL]),
        ([toleration("a"), toleration("b")], [toleration("a"), toleration("b")]),
        ([toleration("a"), toleration()], [toleration()]),
    ],
)
def test_tolerations_that_others_cover_are_dropped(given: Any, kept: Any) -> None:
    assert merged(given) == kept


async def test_equal_overhead_is_no_contradiction() -> None:
    world = new_world()
    add_runtime(world, overhead={"podFixed": {"cpu": "250m"}})
    obj = await world.create("pods", pod(runtimeClassName="kata", overhead={"cpu": "0.25"}), "ns")
    assert obj["spec"]["overhead"] == {"cpu": "250m"}
