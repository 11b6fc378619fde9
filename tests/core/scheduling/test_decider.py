"""The scheduler as a controller: what the watch says becomes bindings, evictions, conditions and events."""

from typing import Any

import msgspec
import pytest

from flexlet.core.actions import ApiAction, CreateObject, DeleteObject, PatchObject, RecordEvent
from flexlet.core.faults import LookFault
from flexlet.core.observations import Failed, Seen, Vanished
from flexlet.core.refs import BUDGETS, NAMESPACES, NODES, PODS
from flexlet.core.scheduling import decide as rounds
from flexlet.core.scheduling.decider import SchedulerDecider

NOW = 1_700_000_000.0
STAMP = "2023-11-14T22:13:20Z"


def node(name: str, cpu: str = "1") -> Seen:
    status = {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}}
    return Seen(NODES, msgspec.json.encode({"metadata": {"name": name, "uid": name}, "status": status}))


def pod(name: str, cpu: str = "1", on: str = "", **spec: Any) -> Seen:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    meta = {"name": name, "namespace": "default", "uid": name, "labels": {"app": name}}
    value = {"metadata": meta, "spec": {"containers": [container], "nodeName": on, **spec}}
    return Seen(PODS, msgspec.json.encode(value))


def told(*observations: Seen | Vanished | Failed) -> SchedulerDecider:
    decider = SchedulerDecider()
    for observation in observations:
        decider.fold(observation)
    return decider


def actions(decider: SchedulerDecider) -> list[ApiAction]:
    return list(decider.decide(NOW).actions)


def event(name: str, kind: str, reason: str, message: str) -> RecordEvent:
    about = {"kind": "Pod", "apiVersion": "v1", "namespace": "default", "name": name, "uid": name}
    return RecordEvent(about=about, type=kind, reason=reason, message=message, component="default-scheduler")


def test_a_pod_that_fits_is_bound_and_told() -> None:
    decider = told(node("n"), pod("p"))
    body = {
        "kind": "Binding",
        "apiVersion": "v1",
        "metadata": {"name": "p", "namespace": "default", "uid": "p"},
        "target": {"kind": "Node", "name": "n"},
    }
    assert actions(decider) == [
        CreateObject(ref=PODS, namespace="default", body=body, path="p/binding"),
        event("p", "Normal", "Scheduled", "Successfully assigned default/p to n"),
    ]
    assert actions(decider) == []


def test_a_pod_that_waits_is_told_why_once_per_reason() -> None:
    decider = told(pod("p", cpu="2"))
    first = actions(decider)
    message = "no nodes available to schedule pods"
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
        "lastTransitionTime": STAMP,
    }
    assert first == [
        PatchObject(
            ref=PODS,
            namespace="default",
            name="p",
            patch={"status": {"conditions": [condition]}},
            kind="strategic",
            subresource="status",
        ),
        event("p", "Warning", "FailedScheduling", message),
    ]
    decider.world.retry_all()
    assert actions(decider) == []
    decider.fold(node("n"))
    assert [a.reason for a in actions(decider) if isinstance(a, RecordEvent)] == ["FailedScheduling"]


def test_preemption_nominates_and_ends_the_victims() -> None:
    decider = told(node("n"), pod("low", on="n", priority=1), pod("high", priority=9))
    found = actions(decider)
    nominate, disrupt, delete, preempted = found
    assert isinstance(nominate, PatchObject)
    assert nominate.patch == {"status": {"nominatedNodeName": "n"}}
    assert isinstance(disrupt, PatchObject)
    assert disrupt.patch["status"]["conditions"][0]["reason"] == "PreemptionByScheduler"
    assert isinstance(delete, DeleteObject)
    assert (delete.name, delete.uid) == ("low", "low")
    assert preempted == event("low", "Normal", "Preempted", "Preempted by pod high on node n")
    decider.fold(Vanished(PODS, "default", "low", "low"))
    assert isinstance(actions(decider)[0], CreateObject)


def test_a_refused_binding_gives_the_room_back() -> None:
    """A conflict means that someone else placed the pod; anything else means trying again."""
    decider = told(node("n"), pod("p"))
    (bind, _) = actions(decider)
    decider.fold(Failed(bind, 500, "InternalError", "no"))
    assert isinstance(actions(decider)[0], CreateObject)
    decider = told(node("n"), pod("p"), pod("q"))
    bind = actions(decider)[0]
    decider.fold(Failed(bind, 409, "Conflict", "already assigned"))
    assert [a.path for a in actions(decider) if isinstance(a, CreateObject)] == ["q/binding"]


def test_budgets_namespaces_and_nodes_come_and_go() -> None:
    budget = {
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "low"}}},
        "status": {"disruptionsAllowed": 1},
    }
    space = {"metadata": {"name": "s", "labels": {"team": "x"}}}
    decider = told(
        node("n"), Seen(BUDGETS, msgspec.json.encode(budget)), Seen(NAMESPACES, msgspec.json.encode(space))
    )
    assert decider.world.budgets["default/b"].disruptions_allowed == 1
    assert decider.world.namespaces == {"s": {"team": "x"}}
    decider.fold(Vanished(BUDGETS, "default", "b", "b"))
    decider.fold(Vanished(NAMESPACES, "", "s", "s"))
    decider.fold(Vanished(NODES, "", "n", "n"))
    assert (decider.world.budgets, decider.world.namespaces, decider.world.nodes) == ({}, {}, {})


def test_a_pod_that_cannot_be_handled_keeps_no_other_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told so, once; the plan names it until it no longer waits."""
    decider, error = told(node("n", cpu="2"), pod("bad", cpu="500m"), pod("p")), KeyError("affinity")
    place = rounds._place_group

    def touchy(draft: Any, group: list[Any]) -> Any:
        if group[0].pod.metadata.name == "bad":
            raise error
        return place(draft, group)

    monkeypatch.setattr(rounds, "_place_group", touchy)
    plan = decider.decide(NOW)
    text = "the scheduler cannot handle this pod: KeyError: 'affinity'"
    assert [action.reason for action in plan.actions if isinstance(action, RecordEvent)] == [
        "FailedScheduling",
        "Scheduled",
    ]
    assert event("bad", "Warning", "FailedScheduling", text) in plan.actions
    assert plan.faults == (LookFault("default/bad", error),)
    assert decider.decide(NOW).faults == ()
    decider.fold(Vanished(PODS, "default", "bad", "bad"))
    assert decider.decide(NOW).faults == (LookFault("default/bad", None),)
