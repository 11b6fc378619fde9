"""One node for people, in the cases that a quiet cluster does not show."""

from typing import Any

from flexlet.api import decode
from flexlet.api.node import Node
from flexlet.core.nodesize.objects import NodeSize
from flexlet.core.sizes.node import Event, details, event_rows, lines

NOW = 1000.0
THEN = "1970-01-01T00:14:40Z"


def node(condition: dict[str, str] | None = None, notes: dict[str, str] | None = None) -> Node:
    value = {
        "metadata": {"name": "n1", "annotations": notes or {}},
        "spec": {"taints": [{"key": "a", "value": "b", "effect": "NoExecute"}]},
        "status": {"conditions": [condition] if condition else []},
    }
    return decode.from_value(value, Node)


def shown(found: Node, wish: Any = None) -> dict[str, str]:
    """The facts by their names."""
    size = decode.from_value(wish, NodeSize) if wish is not None else None
    told = (line.partition(":") for line in lines(details(found, (), size, ()), NOW))
    return {name: text.strip() for name, _, text in told}


def test_a_node_on_its_way() -> None:
    moving = {"type": "NodeResize", "status": "True", "reason": "InProgress", "message": "cpu 4→8"}
    facts = shown(node(moving | {"lastTransitionTime": THEN}))
    assert facts["Generation"] == "not known yet"
    assert facts["NodeResize"] == "InProgress for 2m: cpu 4→8"
    assert facts["Taints"] == "a=b:NoExecute"


def test_an_unplug_that_is_prepared() -> None:
    notes = {"flexlet.io/desired-capacity": '{"cpu":"4","memory":"8Gi"}', "flexlet.io/unplug-ready": "8"}
    assert shown(node(notes=notes))["Prepares for"] == "cpu 4, memory 8Gi, ready to unplug (generation 8)"


def test_annotations_that_others_wrote_are_left_out() -> None:
    notes = {"resize.node.kubernetes.io/initial-capacity": "nonsense", "flexlet.io/generation": "many"}
    facts = shown(node(notes=notes))
    assert "Registered with" not in facts
    assert facts["Generation"] == "none: this node does not follow its machine"


def test_wishes() -> None:
    assert shown(node(), {})["Wanted size"] == "none: the balloon pod's own size counts"
    lacking = {"type": "Insufficient", "status": "True", "reason": "Refused", "message": "cpu: no room"}
    ready = {"type": "Ready", "status": "False", "reason": "Refused"}
    wish = {
        "spec": {"target": {"balloon": {"cpu": "2"}}, "via": "Auto"},
        "status": {"conditions": [ready, lacking]},
    }
    facts = shown(node(), wish)
    assert (facts["Wanted size"], facts["Insufficient"]) == ("balloon cpu 2, via Auto", "Refused: cpu: no room")
    assert "Ready" not in facts


def test_events_that_came_again_are_counted() -> None:
    told = Event(type="Normal", reason="NodeResized", message="more", count=3, last_timestamp=THEN)
    assert event_rows([told], NOW)[1] == ("2m", "Normal", "NodeResized", "more (x3)")
