"""Nodes that fall silent."""

from typing import Any

import pytest
from tests.core.controllers.world import NOW, Object, decide, gone, pod, seen, short, stamp, tell

from flexlet.api.node import Taint
from flexlet.api.pod import Toleration
from flexlet.core.actions import ApiPlan, DeleteObject, PatchObject, RecordEvent
from flexlet.core.controllers.nodelifecycle import evictions
from flexlet.core.controllers.nodelifecycle.decider import NodeLifecycleDecider
from flexlet.core.controllers.nodelifecycle.pace import Pace
from flexlet.core.observations import Failed
from flexlet.core.refs import LEASES, NODES, PODS

PREFIX = "node.kubernetes.io/"


def node(name: str = "n1", ready: str = "True", *, taints: list[Object] | None = None, **parts: Any) -> Object:
    conditions = [{"type": "Ready", "status": ready, "lastHeartbeatTime": parts.pop("beat", stamp())}]
    conditions += [{"type": kind, "status": "True"} for kind in parts.pop("pressure", [])]
    spec: Object = {"taints": taints} if taints else {}
    if parts.pop("cordoned", False):
        spec["unschedulable"] = True
    meta = {"name": name, "uid": f"uid-{name}", "resourceVersion": "7", "creationTimestamp": stamp(-3600), **parts}
    return {"metadata": meta, "spec": spec, "status": {"conditions": conditions if ready else []}}


def lease(name: str, renewed: str) -> Object:
    meta = {"name": name, "namespace": "kube-node-lease", "uid": f"uid-lease-{name}"}
    return {"metadata": meta, "spec": {"renewTime": renewed}}


def taint(name: str, effect: str, at: float | None = 0.0) -> Object:
    found: Object = {"key": f"{PREFIX}{name}", "effect": effect}
    return found if at is None else found | {"timeAdded": stamp(at)}


def decider(*nodes: Object, pods: tuple[Object, ...] = ()) -> NodeLifecycleDecider:
    """A decider that has registered these nodes and heard of them now."""
    made = NodeLifecycleDecider()
    tell(made, seen(PODS, *pods), seen(NODES, *nodes))
    return made


def later(made: NodeLifecycleDecider, seconds: float) -> ApiPlan:
    """Let time pass in the small steps in which the loop wakes up."""
    plan = ApiPlan()
    for step in range(1, int(seconds) + 1):
        plan = made.decide(NOW + step)
        if plan.actions:
            break
    return plan


def taints_of(action: object) -> Any:
    assert isinstance(action, PatchObject)
    return action.patch["spec"]["taints"]


def test_a_new_node_is_registered_and_loses_the_startup_taint_once_it_is_ready() -> None:
    made = decider(node(ready="False", taints=[taint("not-ready", "NoSchedule", None)]), node("n2"))
    about = {"kind": "Node", "apiVersion": "v1", "name": "n1", "uid": "uid-n1"}
    registered = RecordEvent(
        about=about,
        type="Normal",
        reason="RegisteredNode",
        message="Node n1 event: Registered Node n1 in Controller",
        component="node-controller",
    )
    assert decide(made)[0] == registered
    tell(made, seen(NODES, node(taints=[taint("not-ready", "NoSchedule", None)])))
    assert decide(made) == (
        PatchObject(
            ref=NODES,
            name="n1",
            patch={"metadata": {"resourceVersion": "7"}, "spec": {"taints": None}},
            on_behalf_of="n1",
        ),
    )
    tell(made, seen(NODES, node()))
    assert decide(made) == ()


OTHER = {"key": "mine", "value": "v", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("here", "expected"),
    [
        (node(pressure=["MemoryPressure"]), [taint("memory-pressure", "NoSchedule")]),
        (
            node(pressure=["DiskPressure", "PIDPressure", "NetworkUnavailable"]),
            [taint(f"{name}", "NoSchedule") for name in ("disk-pressure", "network-unavailable", "pid-pressure")],
        ),
        (node(cordoned=True), [taint("unschedulable", "NoSchedule")]),
        (node(taints=[taint("memory-pressure", "NoSchedule")]), None),
        (node(taints=[OTHER, taint("disk-pressure", "NoSchedule")]), [OTHER]),
        (
            node(ready="False"),
            [taint("not-ready", "NoExecute"), taint("not-ready", "NoSchedule")],
        ),
        (
            node(ready="Unknown", taints=[taint("not-ready", "NoExecute"), taint("not-ready", "NoSchedule")]),
            [taint("unreachable", "NoExecute"), taint("unreachable", "NoSchedule")],
        ),
        (node(taints=[taint("unreachable", "NoExecute"), taint("unreachable", "NoSchedule")]), None),
    ],
    ids=["memory", "three", "cordoned", "over", "others stay", "not ready", "swapped", "back"],
)
def test_taints_follow_conditions(here: Object, expected: list[Object] | None) -> None:
    made = decider(here, node("n2"))
    [patch] = [action for action in decide(made) if isinstance(action, PatchObject)]
    assert taints_of(patch) == expected


def test_a_node_is_unknown_when_neither_lease_nor_status_came_for_fifty_seconds() -> None:
    made = decider(node(), node("n2"))
    decide(made)
    for second in range(1, 50):
        tell(made, seen(LEASES, lease("n2", str(second))))
        assert decide(made, NOW + second) == ()
    tell(made, seen(LEASES, lease("n2", "50")))
    unknown = {"status": "Unknown", "lastTransitionTime": stamp(50)}
    stopped = {"reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}
    never = {
        "reason": "NodeStatusNeverUpdated",
        "message": "Kubelet never posted node status.",
        "lastHeartbeatTime": stamp(-3600),
    }
    conditions = [{"type": "Ready", **unknown, **stopped}]
    conditions += [
        {"type": kind, **unknown, **never} for kind in ("MemoryPressure", "DiskPressure", "PIDPressure")
    ]
    [patch] = decide(made, NOW + 50)
    assert isinstance(patch, PatchObject)
    assert (patch.patch, patch.kind, patch.subresource) == (
        {"status": {"conditions": conditions}},
        "strategic",
        "status",
    )
    assert patch.event is not None
    assert patch.event.message == "Node n1 status is now: NodeNotReady"


@pytest.mark.parametrize("sign", ["lease", "status"])
def test_either_sign_of_life_is_enough(sign: str) -> None:
    made = decider(node())
    decide(made)
    for second in range(1, 200):
        if sign == "lease" and second % 10 == 0:
            tell(made, seen(LEASES, lease("n1", str(second))))
        elif sign == "status" and second % 10 == 0:
            tell(made, seen(NODES, node(beat=stamp(second))))
        assert decide(made, NOW + second) == ()


def test_a_node_that_never_spoke_has_a_minute() -> None:
    made = decider(node(ready="", creationTimestamp=stamp()), node("n2"))
    decide(made)
    for second in range(1, 60):
        tell(made, seen(LEASES, lease("n2", str(second))))
        assert decide(made, NOW + second) == ()
    [patch] = decide(made, NOW + 60)
    assert isinstance(patch, PatchObject)
    assert {one["reason"] for one in patch.patch["status"]["conditions"]} == {"NodeStatusNeverUpdated"}
    assert patch.event is None, "it was never ready, so this is no change"


def test_a_process_that_slept_does_not_blame_the_nodes() -> None:
    """A laptop that wakes up has heard of nobody for hours."""
    made = decider(node(), node("n2"))
    decide(made)
    assert decide(made, NOW + 9999) == ()


def test_pods_of_an_unknown_node_are_not_ready() -> None:
    pods = (pod("a"), pod("b", ready=False), pod("c", node="n2"))
    both = [taint("unreachable", "NoExecute"), taint("unreachable", "NoSchedule")]
    made = decider(node(ready="Unknown", taints=both), node("n2"), pods=pods)
    [patch] = [action for action in decide(made) if isinstance(action, PatchObject) and action.name == "a"][:1]
    condition = {"type": "Ready", "status": "False", "lastTransitionTime": stamp()}
    assert patch.patch == {"metadata": {"uid": "uid-a"}, "status": {"conditions": [condition]}}
    assert patch.event is not None
    assert (patch.event.reason, patch.event.message) == ("NodeNotReady", "Node is not ready")


TAINTED = node(taints=[{"key": "mine", "effect": "NoExecute"}])
FOR_A_MINUTE = {"key": "mine", "operator": "Exists", "tolerationSeconds": 60}


def test_a_pod_that_does_not_tolerate_learns_why_and_goes() -> None:
    made = decider(TAINTED, pods=(pod("a"),))
    [patch] = [action for action in decide(made) if isinstance(action, PatchObject)]
    reason = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastTransitionTime": stamp(),
        "reason": "DeletionByTaintManager",
        "message": "Taint manager: deleting due to NoExecute taint",
    }
    assert patch.patch == {"metadata": {"uid": "uid-a"}, "status": {"conditions": [reason]}}
    assert patch.event is not None
    assert patch.event.message == "Marking for deletion Pod default/a"
    tell(made, seen(PODS, pod("a", status={"conditions": [reason]})))
    assert decide(made) == (
        DeleteObject(ref=PODS, namespace="default", name="a", uid="uid-a", on_behalf_of="uid-a"),
    )
    tell(made, seen(PODS, pod("a", status={"conditions": [reason]}, deletionTimestamp=stamp())))
    assert decide(made) == ()


def test_a_toleration_in_time_runs_out() -> None:
    made = decider(TAINTED, pods=(pod("a", spec={"tolerations": [FOR_A_MINUTE]}),))
    assert short(decide(made))[1:] == []
    for second in range(1, 60):
        tell(made, seen(LEASES, lease("n1", str(second))))
        assert decide(made, NOW + second) == ()
    assert short(decide(made, NOW + 60)) == [("patch", "pods", "a", "status")]


def test_an_eviction_is_called_off_when_the_taint_goes() -> None:
    made = decider(TAINTED, pods=(pod("a", spec={"tolerations": [FOR_A_MINUTE]}),))
    decide(made)
    tell(made, seen(NODES, node()))
    assert short(decide(made, NOW + 10)) == [
        ("event", "TaintManagerEviction", "Cancelling deletion of Pod default/a")
    ]
    for second in range(11, 99):
        tell(made, seen(LEASES, lease("n1", str(second))))
        assert decide(made, NOW + second) == ()


def test_new_pods_and_new_tolerations_are_considered() -> None:
    made = decider(TAINTED)
    decide(made)
    tell(made, seen(PODS, pod("a", spec={"tolerations": [{"key": "mine", "operator": "Exists"}]})))
    assert decide(made) == ()
    tell(made, seen(PODS, pod("a", spec={"tolerations": []})))
    assert short(decide(made)) == [("patch", "pods", "a", "status")]


def test_nodes_are_emptied_one_after_the_other() -> None:
    """What is wrong with many at once is rarely the nodes."""
    nodes = [node(f"n{number}", ready="False" if number < 2 else "True") for number in range(8)]
    made = decider(*nodes)
    patches = {one.name: one for one in decide(made) if isinstance(one, PatchObject)}
    assert [taint["effect"] for taint in taints_of(patches["n0"])] == ["NoExecute", "NoSchedule"]
    assert [taint["effect"] for taint in taints_of(patches["n1"])] == ["NoSchedule"]
    tell(made, seen(NODES, node("n0", ready="False", taints=taints_of(patches["n0"]))))
    tell(made, seen(NODES, node("n1", ready="False", taints=taints_of(patches["n1"]))))
    plan = later(made, 30)
    [patch] = plan.actions
    assert isinstance(patch, PatchObject)
    assert (patch.name, [taint["effect"] for taint in taints_of(patch)]) == ("n1", ["NoSchedule", "NoExecute"])
    assert patch.patch["spec"]["taints"][1]["timeAdded"] == stamp(10)


def test_when_all_nodes_are_silent_nobody_is_driven_out() -> None:
    both = [taint("not-ready", "NoExecute"), taint("not-ready", "NoSchedule")]
    made = decider(node(ready="False", taints=both))
    [patch] = [action for action in decide(made) if isinstance(action, PatchObject)]
    assert taints_of(patch) == [taint("not-ready", "NoSchedule")]
    tell(made, seen(NODES, node(ready="False", taints=taints_of(patch)), node("n2")))
    patches = [action for action in decide(made) if isinstance(action, PatchObject)]
    assert [one["effect"] for one in taints_of(patches[0])] == ["NoSchedule", "NoExecute"]


def test_a_conflict_is_tried_again_with_what_is_then_there() -> None:
    made = decider(node(cordoned=True), node("n2"))
    [patch] = [action for action in decide(made) if isinstance(action, PatchObject)]
    tell(made, [Failed(patch, 409, "Conflict", "modified")])
    assert decide(made) == ()
    tell(made, seen(NODES, node(cordoned=True, resourceVersion="8", beat=stamp(1))))
    [again] = decide(made, NOW + 1)
    assert isinstance(again, PatchObject)
    assert again.patch["metadata"] == {"resourceVersion": "8"}


def test_a_node_that_is_gone_is_forgotten() -> None:
    made = decider(node(), node("n2"))
    decide(made)
    tell(made, gone(NODES, node()))
    assert short(decide(made)) == [("event", "RemovingNode", "Node n1 event: Removing Node n1 from Controller")]
    for second in range(1, 100):
        tell(made, seen(LEASES, lease("n2", str(second)), lease("n1", str(second))))
        assert decide(made, NOW + second) == ()


EXECUTE = Taint(key="a", effect="NoExecute")


@pytest.mark.parametrize(
    ("taints", "tolerations", "seconds"),
    [
        ([], [], evictions.FOREVER),
        ([Taint(key="a", effect="NoSchedule")], [], evictions.FOREVER),
        ([EXECUTE], [], 0.0),
        ([EXECUTE], [Toleration(key="a", operator="Exists")], evictions.FOREVER),
        ([EXECUTE], [Toleration(key="a", operator="Exists", toleration_seconds=30)], 30.0),
        ([EXECUTE], [Toleration(key="a", operator="Exists", toleration_seconds=-3)], 0.0),
        (
            [EXECUTE, Taint(key="b", effect="NoExecute")],
            [
                Toleration(key="a", operator="Exists", toleration_seconds=30),
                Toleration(operator="Exists", toleration_seconds=9),
            ],
            9.0,
        ),
        ([EXECUTE, Taint(key="b", effect="NoExecute")], [Toleration(key="a", operator="Exists")], 0.0),
    ],
    ids=["none", "other effect", "not tolerated", "for ever", "a while", "no time", "the shorter", "one of two"],
)
def test_how_long_pods_may_stay(taints: list[Taint], tolerations: list[Toleration], seconds: float) -> None:
    assert evictions.patience(taints, tolerations) == seconds


@pytest.mark.parametrize(
    ("ready", "total", "times"),
    [
        (9, 10, [0, 10, 20]),
        (4, 10, []),
        (40, 100, [0, 100]),
        (0, 10, []),
        (1, 3, [0, 10, 20]),
    ],
    ids=["few", "most of a small cluster", "most of a large one", "all", "two are never most"],
)
def test_the_pace_of_evictions(ready: int, total: int, times: list[int]) -> None:
    pace = Pace()
    pace.count(ready, total)
    granted = [second for second in range(120) if pace.may_expel(float(second))]
    assert granted[: len(times)] == times
    assert bool(granted) is bool(times)
