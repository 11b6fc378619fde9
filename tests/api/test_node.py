from flexlet.api import decode
from flexlet.api.meta import Condition, ObjectMeta
from flexlet.api.node import Node, NodeSpec, NodeStatus, Taint
from flexlet.api.quantity import Quantity


def test_node_from_json() -> None:
    """What flexlet reads of a Node; the rest is left alone."""
    body = {
        "kind": "Node",
        "metadata": {"name": "n1", "labels": {"zone": "a"}},
        "spec": {
            "unschedulable": True,
            "taints": [{"key": "k", "effect": "NoSchedule"}],
            "podCIDR": "10.0.0.0/24",
        },
        "status": {
            "capacity": {"cpu": "8", "memory": "16Gi"},
            "allocatable": {"cpu": "7500m"},
            "conditions": [{"type": "Ready", "status": "True"}],
            "declaredFeatures": ["PodLevelResources"],
        },
    }
    assert decode.from_value(body, Node) == Node(
        metadata=ObjectMeta(name="n1", labels={"zone": "a"}),
        spec=NodeSpec(unschedulable=True, taints=(Taint(key="k", effect="NoSchedule"),)),
        status=NodeStatus(
            capacity={"cpu": Quantity.parse("8"), "memory": Quantity.parse("16Gi")},
            allocatable={"cpu": Quantity.parse("7500m")},
            conditions=(Condition(type="Ready", status="True"),),
            declared_features=("PodLevelResources",),
        ),
    )
