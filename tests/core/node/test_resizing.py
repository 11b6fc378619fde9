"""What a node that follows its machine says: condition, annotations, taint, and the size that was refused."""

from typing import Any

import msgspec
from tests.core.node.nodes import FACTS, MACHINE, NOW, facts, seen
from tests.core.node.test_decider import Life, existing

from flexlet.api import age
from flexlet.api.quantity import Quantity
from flexlet.core.actions import ApiAction, PatchObject
from flexlet.core.node.facts import Resizing
from flexlet.core.node.veto import REJECTED
from flexlet.core.observations import Failed
from flexlet.core.refs import NODES

STAMP = age.format_seconds(NOW)
FOLLOWS = facts(resizing=Resizing(generation=1))
GROWN = msgspec.structs.replace(MACHINE, memory=MACHINE.memory * 2)


def status_patches(actions: list[ApiAction]) -> list[dict[str, Any]]:
    return [a.patch for a in actions if isinstance(a, PatchObject) and a.subresource == "status"]


def conditions(patch: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {each["type"]: (each["status"], each["reason"]) for each in patch["status"]["conditions"]}


def test_a_node_that_follows_its_machine_registers_with_its_size_and_its_condition() -> None:
    created = existing(FOLLOWS)
    assert created["metadata"]["annotations"]["flexlet.io/generation"] == "1"
    initial = created["metadata"]["annotations"]["resize.node.kubernetes.io/initial-capacity"]
    assert msgspec.json.decode(initial) == created["status"]["capacity"]
    assert next(each for each in created["status"]["conditions"] if each["type"] == "NodeResize") == {
        "type": "NodeResize",
        "status": "False",
        "lastHeartbeatTime": STAMP,
        "lastTransitionTime": STAMP,
        "reason": "Stable",
        "message": "capacity follows the machine",
    }


def test_a_node_that_does_not_follow_says_nothing_of_it() -> None:
    created = existing(FACTS)
    assert "flexlet.io/generation" not in created["metadata"].get("annotations", {})
    assert "NodeResize" not in {each["type"] for each in created["status"]["conditions"]}


def test_a_node_that_no_longer_follows_takes_back_what_it_said() -> None:
    """Only the capacity with which it came stays: others are judged by it."""
    life = Life(FACTS)
    ready = facts(resizing=Resizing(generation=7, reason="InProgress", unplug_ready=7))
    life.decider.fold(seen(existing(ready)))
    [patch] = status_patches(life.round())
    assert patch["metadata"]["annotations"] == {"flexlet.io/generation": None, "flexlet.io/unplug-ready": None}
    assert patch["status"]["conditions"][-1] == {"$patch": "delete", "type": "NodeResize"}


def test_growth_is_reported_at_once_and_the_first_capacity_stays_as_it_was_said() -> None:
    life = Life(FOLLOWS)
    life.decider.fold(seen(existing(FOLLOWS)))
    life.round()
    life.decider.learn(facts(machine=GROWN, resizing=Resizing(generation=2)))
    [patch] = status_patches(life.round(0.1))
    assert patch["status"]["capacity"] == {"memory": str(Quantity.of_bytes(GROWN.memory))}
    assert patch["metadata"] == {"annotations": {"flexlet.io/generation": "2"}}
    assert not life.decider.shows(2)
    grown = existing(facts(machine=GROWN, resizing=Resizing(generation=2)))
    life.decider.fold(seen(grown))
    assert life.decider.shows(2)


def test_what_is_about_to_be_unplugged_is_not_offered() -> None:
    ceiling = {"cpu": Quantity.parse("500m")}
    capped = existing(facts(resizing=Resizing(generation=1, ceiling=ceiling)))
    whole = existing(FOLLOWS)
    assert capped["status"]["allocatable"] == whole["status"]["allocatable"] | {"cpu": "500m"}
    assert capped["status"]["capacity"] == whole["status"]["capacity"]


def test_while_pods_must_leave_the_node_is_closed_and_then_opened_again() -> None:
    life = Life(facts(resizing=Resizing(generation=2, reason="InProgress", closed=True)))
    foreign = {"key": "team", "value": "a", "effect": "NoSchedule"}
    life.decider.fold(seen(existing(FOLLOWS, taints=[foreign])))
    ours = {"key": "flexlet.io/resizing", "effect": "NoSchedule"}
    [closing] = [a for a in life.round() if isinstance(a, PatchObject) and not a.subresource]
    assert closing.patch == {"metadata": {"resourceVersion": "1"}, "spec": {"taints": [foreign, ours]}}
    life.decider.learn(facts(resizing=Resizing(generation=2)))
    life.decider.fold(seen(existing(FOLLOWS, taints=[foreign, ours])))
    [opening] = [a for a in life.round(0.1) if isinstance(a, PatchObject) and not a.subresource]
    assert opening.patch["spec"] == {"taints": [foreign]}


def test_the_door_is_closed_before_the_report_and_again_if_somebody_else_was_faster() -> None:
    """A report is a write, too, and the taints may be written only while nobody else has written."""
    life = Life(facts(resizing=Resizing(generation=2, closed=True)))
    life.decider.fold(seen(existing(FOLLOWS)))
    closing, report = (a for a in life.round() if isinstance(a, PatchObject) and a.ref == NODES)
    assert (closing.subresource, report.subresource) == ("", "status")
    life.decider.fold(Failed(closing, 409, "Conflict", "the object has been modified"))
    assert [a for a in life.round(0.1) if a == closing] == []
    life.decider.fold(seen(existing(FOLLOWS)))
    assert [a for a in life.round(0.1) if a == closing] == [closing]
    assert [a for a in life.round(0.1) if a == closing] == []


def test_a_cluster_that_keeps_taints_from_nodes_is_not_asked_again() -> None:
    life = Life(facts(resizing=Resizing(generation=2, closed=True)))
    life.decider.fold(seen(existing(FOLLOWS)))
    [closing] = [a for a in life.round() if isinstance(a, PatchObject) and not a.subresource]
    life.decider.fold(Failed(closing, 403, "Forbidden", "node is not allowed to modify taints"))
    assert [a for a in life.round(11) if isinstance(a, PatchObject) and not a.subresource] == []


def test_a_size_that_the_cluster_refuses_is_not_offered_until_it_is_asked_again() -> None:
    life = Life(FOLLOWS)
    life.decider.fold(seen(existing(FOLLOWS)))
    life.round()
    life.decider.learn(facts(machine=GROWN, resizing=Resizing(generation=2)))
    [sent] = [a for a in life.round(0.1) if isinstance(a, PatchObject)]
    life.decider.fold(Failed(sent, 403, "Forbidden", "quota of the department"))
    [patch] = status_patches(life.round(0.1))
    assert "capacity" not in patch["status"]
    assert "allocatable" not in patch["status"]
    assert conditions(patch)["NodeResize"] == ("True", REJECTED)
    again = [a for _, a in life.run(65) if isinstance(a, PatchObject)]
    assert "capacity" in again[-1].patch["status"]


def test_a_report_that_fails_for_another_reason_keeps_the_new_size() -> None:
    life = Life(FOLLOWS)
    life.decider.fold(seen(existing(FOLLOWS)))
    life.round()
    life.decider.learn(facts(machine=GROWN, resizing=Resizing(generation=2)))
    [sent] = [a for a in life.round(0.1) if isinstance(a, PatchObject)]
    life.decider.fold(Failed(sent, 503, "ServiceUnavailable", "try later"))
    [patch] = status_patches(life.round(0.1))
    assert patch["status"]["capacity"] == {"memory": str(Quantity.of_bytes(GROWN.memory))}
