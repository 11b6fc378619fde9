"""The figures of nodes, for whatever is on them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.api import decode
from flexlet.api.meta import Condition, ObjectMeta
from flexlet.api.node import Node
from flexlet.api.pod import Pod
from flexlet.api.quantity import Quantity
from flexlet.core.nodesize.objects import NodeSize, NodeSizeSpec, NodeSizeStatus
from flexlet.core.sizes.nodes import of_nodes
from flexlet.core.sizes.wishplan import AT_ONCE, forecast

OWNER = {"kind": "Node", "name": "n1", "uid": "u"}
MARKS: dict[str, Any] = {
    "labels": {"flexlet.io/balloon": "true"},
    "ownerReferences": [OWNER],
    "namespace": "kube-system",
}


def node(cpu: int, memory: int) -> Node:
    size = {"cpu": f"{cpu}m", "memory": str(memory)}
    return decode.from_value({"metadata": {"name": "n1"}, "status": {"allocatable": size, "capacity": size}}, Node)


def pod(cpu: int, memory: int, *, phase: str = "Running", **meta: Any) -> Pod:
    requests = {"cpu": f"{cpu}m", "memory": str(memory)}
    spec = {"nodeName": "n1", "containers": [{"name": "c", "resources": {"requests": requests}}]}
    return decode.from_value({"metadata": meta, "spec": spec, "status": {"phase": phase}}, Pod)


sizes = st.tuples(st.integers(0, 10**5), st.integers(0, 10**12))


@given(sizes, st.lists(sizes, max_size=4), sizes)
def test_the_figures_add_up(whole: tuple[int, int], used: list[tuple[int, int]], balloon: tuple[int, int]) -> None:
    """Nothing is counted twice or left out, whatever was promised."""
    pods = [pod(*each) for each in used] + [pod(*balloon, **MARKS), pod(5, 5, phase="Failed")]
    (found,) = of_nodes([node(*whole)], pods)
    for one in found.resources.values():
        assert one.effective + one.balloon == one.allocatable
        assert one.headroom + one.used == one.effective
    assert found.resources["cpu"].used == Quantity.of_milli(sum(cpu for cpu, _ in used))
    assert found.resources["memory"].balloon == Quantity.of_bytes(balloon[1])


def test_a_label_alone_makes_no_balloon() -> None:
    """Anybody could write it; it takes the namespace and the owner, too."""
    liars = [
        pod(100, 1, labels=MARKS["labels"], namespace="team", ownerReferences=[OWNER]),
        pod(100, 1, labels=MARKS["labels"], namespace="kube-system"),
    ]
    (found,) = of_nodes([node(1000, 10)], liars)
    assert (str(found.resources["cpu"].balloon), str(found.resources["cpu"].used)) == ("0", "200m")


@given(
    sizes,
    sizes,
    sizes,
    st.sampled_from(["effective", "balloon"]),
    sizes,
    st.sampled_from(["Fail", "Partial", "Defer"]),
)
def test_no_forecast_takes_what_pods_have(
    whole: tuple[int, int],
    used: tuple[int, int],
    balloon: tuple[int, int],
    kind: str,
    wish: tuple[int, int],
    how: str,
) -> None:
    """However it is asked for, an inflate that would be done leaves room for all pods that are there."""
    (found,) = of_nodes([node(*whole)], [pod(*used), pod(*balloon, **MARKS)])
    target = {kind: {"cpu": f"{wish[0]}m", "memory": str(wish[1])}}
    spec = decode.from_value({"target": target, "onInsufficient": how}, NodeSizeSpec)
    for one in forecast(found.resources, spec):
        held = {"cpu": used[0], "memory": used[1]}[one.resource]
        if one.goal > one.balloon:
            assert held <= one.effective[1]
        assert (one.missing == 0) == (one.verdict in AT_ONCE)


@pytest.mark.parametrize(
    ("holds", "word"),
    [
        ({"Ready": "AsWanted"}, ""),
        ({"Resizing": "Inflating", "Insufficient": "Refused"}, "Inflating"),
        ({"Insufficient": "PartiallyGranted"}, "PartiallyGranted"),
        ({"BalloonMissing": "Missing"}, "Missing"),
    ],
)
def test_a_wish_that_is_not_met_is_told_beside_the_node(holds: dict[str, str], word: str) -> None:
    """Else a node that was refused looks as if nobody had asked."""
    told = tuple(Condition(type=kind, status="True", reason=reason) for kind, reason in holds.items())
    quiet = Condition(type="Drifted", status="False", reason="AsRequested")
    wish = NodeSize(metadata=ObjectMeta(name="n1"), status=NodeSizeStatus(conditions=(*told, quiet)))
    (found,) = of_nodes([Node(metadata=ObjectMeta(name="n1"))], [], [wish])
    assert found.resize == word
