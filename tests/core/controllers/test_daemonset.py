"""DaemonSets: a pod per node that suits."""

from typing import Any

import msgspec
import pytest
from tests.core.controllers.world import (
    NOW,
    Object,
    changed,
    decide,
    gone,
    meta,
    pod,
    reference,
    seen,
    short,
    stamp,
    tell,
)

from flexlet.core.actions import CreateObject, DeleteObject, PatchObject, RecordEvent
from flexlet.core.controllers.daemonset import placement
from flexlet.core.controllers.daemonset.decider import DaemonSetDecider
from flexlet.core.observations import Failed
from flexlet.core.refs import DAEMON_SETS, NODES, PODS
from flexlet.core.views import daemonset

OWNER = ("DaemonSet", "agent")
ABOUT = {"kind": "DaemonSet", "apiVersion": "apps/v1", "namespace": "default", "name": "agent", "uid": "uid-agent"}
SPEC: Object = {"containers": [{"name": "c", "image": "x:1"}]}
TOLERATED = [
    {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": effect}
    for name, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
]


def daemon_set(spec: Object | None = None, **parts: Any) -> Object:
    template = {"metadata": {"labels": {"app": "agent"}}, "spec": {**SPEC, **(spec or {})}}
    body: Object = {"selector": {"matchLabels": {"app": "agent"}}, "template": template}
    body |= parts.pop("update", {})
    status = parts.pop("status", {})
    annotations = {"deprecated.daemonset.template.generation": parts.pop("template_generation", "1")}
    return {"metadata": meta("agent", annotations=annotations, **parts), "spec": body, "status": status}


def hash_of(body: Object) -> str:
    view, _ = daemonset.view(msgspec.json.encode(body))
    return placement.template_hash(view.template)


HASH = hash_of(daemon_set())


def node(name: str, *, labels: Object | None = None, taints: list[Object] | None = None) -> Object:
    spec = {"taints": taints} if taints else {}
    return {"metadata": {"name": name, "uid": f"uid-{name}", "labels": labels or {}}, "spec": spec, "status": {}}


def daemon(name: str, on: str, version: str = HASH, **parts: Any) -> Object:
    labels = {"app": "agent", "controller-revision-hash": version}
    return pod(name, node=on, owner=OWNER, labels=labels, **parts)


def decider(body: Object, *nodes: Object, pods: tuple[Object, ...] = ()) -> DaemonSetDecider:
    made = DaemonSetDecider()
    tell(made, seen(NODES, *nodes), seen(PODS, *pods), seen(DAEMON_SETS, body))
    return made


def reported(desired: int, **parts: int) -> Object:
    counts = ("currentNumberScheduled", "desiredNumberScheduled", "numberReady", "updatedNumberScheduled")
    found = {**dict.fromkeys(counts, desired), "numberAvailable": desired, "numberMisscheduled": 0}
    return {**found, "observedGeneration": 1, **parts}


def event(kind: str, reason: str, message: str) -> RecordEvent:
    return RecordEvent(about=ABOUT, type=kind, reason=reason, message=message, component="daemonset-controller")


def targets(actions: Any) -> list[str]:
    """The nodes that created pods are for."""
    found = []
    for action in actions:
        assert isinstance(action, CreateObject)
        affinity = action.body["spec"]["affinity"]["nodeAffinity"]
        terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        found += terms[0]["matchFields"][0]["values"]
    return found


def test_a_daemon_pod_is_made_for_its_node() -> None:
    """It may go nowhere else, and it stays when the node is in trouble."""
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    labels = {"app": "agent", "pod-template-generation": "1", "controller-revision-hash": HASH}
    body = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "generateName": "agent-",
            "labels": labels,
            "ownerReferences": [reference(*OWNER)],
        },
        "spec": {
            **SPEC,
            "tolerations": TOLERATED,
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
        },
    }
    assert decide(decider(daemon_set(), node("n1"))) == (
        CreateObject(
            ref=PODS,
            namespace="default",
            body=body,
            on_behalf_of="uid-agent",
            event=event("Normal", "SuccessfulCreate", "Created pod: {name}"),
        ),
    )


def test_a_template_keeps_its_own_tolerations_and_preferences() -> None:
    spec = {
        "hostNetwork": True,
        "tolerations": [
            {"key": "mine", "operator": "Exists"},
            {**TOLERATED[0], "tolerationSeconds": 5},
        ],
        "affinity": {
            "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]},
            "podAffinity": {},
        },
    }
    [create] = decide(decider(daemon_set(spec), node("n1")))
    assert isinstance(create, CreateObject)
    made = create.body["spec"]
    network = {"key": "node.kubernetes.io/network-unavailable", "operator": "Exists", "effect": "NoSchedule"}
    assert made["tolerations"] == [{"key": "mine", "operator": "Exists"}, *TOLERATED, network]
    assert made["affinity"]["podAffinity"] == {}
    assert made["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] == [{"weight": 1}]


NO_SCHEDULE = {"key": "mine", "effect": "NoSchedule"}
NO_EXECUTE = {"key": "mine", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("spec", "here", "run", "stay"),
    [
        ({}, node("n1"), True, True),
        ({}, node("n1", taints=[NO_SCHEDULE]), False, True),
        ({}, node("n1", taints=[NO_EXECUTE]), False, False),
        ({}, node("n1", taints=[{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]), True, True),
        ({"tolerations": [{"key": "mine", "operator": "Exists"}]}, node("n1", taints=[NO_EXECUTE]), True, True),
        ({"nodeSelector": {"disk": "ssd"}}, node("n1"), False, False),
        ({"nodeSelector": {"disk": "ssd"}}, node("n1", labels={"disk": "ssd"}), True, True),
        ({"nodeName": "n1"}, node("n1"), True, True),
        ({"nodeName": "n2"}, node("n1"), False, False),
    ],
    ids=["any", "NoSchedule", "NoExecute", "unreachable", "tolerated", "selector", "label", "name", "other name"],
)
def test_where_daemons_run_and_where_they_may_stay(spec: Object, here: Object, run: bool, stay: bool) -> None:
    body = daemon_set(spec)
    assert (
        bool(decide(decider(body, here))[:1] and targets(decide(decider(body, here))[:1])) is run if run else True
    )
    version = hash_of(body)
    staying = decide(decider(body, here, pods=(daemon("a", "n1", version),)))
    assert (short(staying) == [("delete", "pods", "a")]) is not stay


def test_the_status_counts_nodes() -> None:
    nodes = [node(f"n{number}") for number in range(4)]
    nodes.append(node("n9", taints=[NO_SCHEDULE]))
    pods = (
        daemon("a", "n0"),
        daemon("b", "n1", ready=False),
        daemon("c", "n2", "old"),
        daemon("d", "n3"),
        daemon("e", "n9"),
    )
    body = daemon_set(update={"updateStrategy": {"type": "OnDelete"}})
    assert decide(decider(body, *nodes, pods=pods)) == (
        PatchObject(
            ref=DAEMON_SETS,
            namespace="default",
            name="agent",
            patch={
                "status": {
                    "currentNumberScheduled": 4,
                    "numberMisscheduled": 1,
                    "desiredNumberScheduled": 4,
                    "numberReady": 3,
                    "observedGeneration": 1,
                    "updatedNumberScheduled": 3,
                    "numberAvailable": 3,
                    "numberUnavailable": 1,
                }
            },
            subresource="status",
            on_behalf_of="uid-agent",
        ),
    )


def test_what_changes_on_one_node_is_seen() -> None:
    """Nodes that come, go, or change their labels and taints."""
    body = daemon_set(status=reported(1))
    made = decider(body, node("n1"), pods=(daemon("a", "n1"),))
    assert decide(made) == ()
    tell(made, seen(NODES, node("n1", labels={"heartbeat": "no"})))
    assert decide(made) == ()
    tell(made, seen(NODES, node("n2")))
    assert targets(decide(made)) == ["n2"]
    tell(made, seen(PODS, daemon("b", "n2")))
    [report] = decide(made)
    assert isinstance(report, PatchObject)
    assert report.patch["status"]["desiredNumberScheduled"] == 2
    tell(made, seen(DAEMON_SETS, changed(body, report)), seen(NODES, node("n2", taints=[NO_EXECUTE])))
    assert short(decide(made)) == [("delete", "pods", "b")]
    tell(made, gone(NODES, node("n2")), gone(PODS, daemon("b", "n2")))
    [report] = decide(made)
    assert isinstance(report, PatchObject)
    assert report.patch["status"]["desiredNumberScheduled"] == 1


def test_a_waiting_pod_whose_node_is_gone_is_deleted() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["n9"]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    waiting = daemon("a", "", spec={"affinity": affinity}, phase="Pending", ready=False)
    body = daemon_set(status=reported(0))
    assert short(decide(decider(body, pods=(waiting,)))) == [("delete", "pods", "a")]
    assert decide(decider(body, pods=(daemon("a", "n9"),))) == (), "a bound one is the pod collector's"


def test_of_two_pods_on_a_node_the_oldest_stays() -> None:
    pods = (daemon("a", "n1", creationTimestamp=stamp(-5)), daemon("b", "n1", creationTimestamp=stamp(-9)))
    assert decide(decider(daemon_set(), node("n1"), pods=pods)) == (
        DeleteObject(
            ref=PODS,
            namespace="default",
            name="a",
            uid="uid-a",
            on_behalf_of="uid-agent",
            event=event("Normal", "SuccessfulDelete", "Deleted pod: a"),
        ),
    )


def test_failed_pods_are_replaced_ever_more_rarely() -> None:
    made = decider(daemon_set(status=reported(1)), node("n1"))
    decide(made)
    times: list[float] = []
    now = NOW
    for number in range(4):
        tell(made, seen(PODS, daemon(f"p{number}", "n1", phase="Failed", ready=False)))
        actions = decide(made, now)
        while not any(isinstance(action, DeleteObject) for action in actions):
            wake = made.decide(now).wake_at
            assert wake is not None
            now = wake
            actions = decide(made, now)
        times.append(now - NOW)
        tell(made, gone(PODS, daemon(f"p{number}", "n1")))
        decide(made, now)
    assert times == [0.0, 1.0, 3.0, 7.0]


def test_a_pod_that_ended_well_is_replaced_at_once() -> None:
    pods = (daemon("a", "n1", phase="Succeeded", ready=False),)
    text = "Found succeeded daemon pod default/a on node n1, will try to delete it"
    assert short(decide(decider(daemon_set(), node("n1"), pods=pods))) == [
        ("event", "SucceededDaemonPod", text),
        ("delete", "pods", "a"),
    ]


def nodes_and(old: int, *others: Object) -> tuple[list[Object], tuple[Object, ...]]:
    """Nodes with an old pod each, and whatever else."""
    names = [f"n{number}" for number in range(old + len(others))]
    pods = tuple(daemon(f"old{number}", f"n{number}", "old") for number in range(old))
    return [node(name) for name in names], pods + others


@pytest.mark.parametrize(
    ("rolling", "others", "deleted"),
    [
        ({"maxUnavailable": 1}, (), ["old0"]),
        ({"maxUnavailable": 2}, (), ["old0", "old1"]),
        ({"maxUnavailable": "50%"}, (), ["old0", "old1"]),
        ({"maxUnavailable": 1}, (daemon("new", "n3", ready=False),), []),
        ({"maxUnavailable": 1}, (daemon("new", "n3"),), ["old0"]),
        ({"maxUnavailable": 1}, (daemon("broken", "n3", "old", ready=False),), ["broken"]),
    ],
    ids=["one", "two", "share", "new one not up", "new one up", "broken old one"],
)
def test_an_update_replaces_as_many_as_may_be_missing(
    rolling: Object, others: tuple[Object, ...], deleted: list[str]
) -> None:
    nodes, pods = nodes_and(3, *others)
    update = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}
    actions = decide(decider(daemon_set(update=update), *nodes, pods=pods))
    assert [action.name for action in actions if isinstance(action, DeleteObject)] == deleted


SURGE = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}


def test_with_surge_the_new_pod_comes_before_the_old_one_goes() -> None:
    nodes, pods = nodes_and(2)
    made = decider(daemon_set(update=SURGE), *nodes, pods=pods)
    assert targets(decide(made)) == ["n0"]
    tell(made, seen(PODS, daemon("new", "n0", ready=False)))
    assert short(decide(made)) == [("patch", "daemonsets", "agent", "status")], "one node at a time"
    tell(made, seen(PODS, daemon("new", "n0")))
    assert short(decide(made)) == [("delete", "pods", "old0")]
    tell(made, gone(PODS, pods[0]))
    assert targets(decide(made)) == ["n1"]


def test_with_surge_a_broken_old_pod_is_doubled_at_once_and_misplaced_ones_leave_last() -> None:
    nodes, pods = nodes_and(1, daemon("broken", "n1", "old", ready=False), daemon("stays", "n2", "old"))
    nodes[2] = node("n2", taints=[NO_SCHEDULE])
    made = decider(daemon_set(update=SURGE), *nodes, pods=pods)
    assert targets(decide(made)) == ["n1", "n0"]
    tell(made, seen(PODS, daemon("new0", "n0"), daemon("new1", "n1")))
    decide(made)
    tell(made, gone(PODS, pods[0], pods[1]))
    assert short(decide(made)) == [("delete", "pods", "stays")]


def test_on_delete_leaves_updates_to_people() -> None:
    nodes, pods = nodes_and(2)
    body = daemon_set(
        update={"updateStrategy": {"type": "OnDelete"}}, status=reported(2, updatedNumberScheduled=0)
    )
    made = decider(body, *nodes, pods=pods)
    assert decide(made) == ()
    tell(made, gone(PODS, pods[0]))
    assert targets(decide(made)) == ["n0"]


def test_availability_comes_with_time() -> None:
    young = {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": stamp(-10)}]}
    status = reported(1, numberAvailable=0, numberUnavailable=1)
    body = daemon_set(update={"minReadySeconds": 30}, status=status)
    made = decider(body, node("n1"), pods=(daemon("a", "n1", status=young),))
    plan = made.decide(NOW)
    assert (plan.actions, plan.wake_at) == ((), NOW + 20)
    [report] = decide(made, NOW + 20)
    assert isinstance(report, PatchObject)
    assert report.patch["status"]["numberAvailable"] == 1


def test_a_refused_pod_is_told_and_tried_again_later() -> None:
    made = decider(daemon_set(), node("n1"))
    [create] = decide(made)
    tell(made, [Failed(create, 403, "Forbidden", "exceeded quota")])
    assert short(decide(made)) == [
        ("event", "FailedCreate", "Error creating: exceeded quota"),
        ("patch", "daemonsets", "agent", "status"),
    ]
    assert targets(decide(made, NOW + 1)) == ["n1"]


def test_a_refused_deletion_is_taken_back() -> None:
    pods = (daemon("a", "n1", creationTimestamp=stamp(-5)), daemon("b", "n1", creationTimestamp=stamp(-9)))
    made = decider(daemon_set(status=reported(1)), node("n1"), pods=pods)
    [deletion] = decide(made)
    tell(made, [Failed(deletion, 500, "InternalError", "no")])
    assert short(decide(made)) == [("event", "FailedDelete", "Error deleting: no")]
    assert short(decide(made, NOW + 1)) == [("delete", "pods", "a")]


def test_sets_being_deleted_are_left_alone_and_gone_ones_forgotten() -> None:
    made = decider(daemon_set(deletionTimestamp=stamp()), node("n1"))
    assert decide(made) == ()
    tell(made, seen(DAEMON_SETS, daemon_set()), gone(DAEMON_SETS, daemon_set()))
    assert decide(made) == ()


def test_orphans_are_adopted_and_strays_released() -> None:
    stray = daemon("stray", "n2")
    stray["metadata"]["labels"] = {"app": "other"}
    orphan = pod("orphan", node="n1", labels={"app": "agent", "controller-revision-hash": HASH})
    made = decider(daemon_set(), node("n1"), node("n2"), pods=(orphan, stray))
    assert short(decide(made)) == [("patch", "pods", "stray", ""), ("look up", "daemonsets", "agent")]
    released = {**stray, "metadata": {**stray["metadata"], "ownerReferences": []}}
    tell(made, seen(PODS, released))
    assert short(decide(made)) == [("patch", "pods", "orphan", "")]
    tell(made, seen(PODS, daemon("orphan", "n1")))
    assert targets(decide(made)) == ["n2"]
