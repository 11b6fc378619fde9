"""ReplicaSets keep their number."""

from typing import Any

import pytest
from tests.core.controllers.world import (
    NOW,
    TEMPLATE,
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

from flexlet.core.actions import CreateObject, DeleteObject, LookUp, PatchObject, RecordEvent
from flexlet.core.controllers.replicaset.decider import ReplicaSetDecider
from flexlet.core.faults import LookFault
from flexlet.core.observations import Absent, Failed
from flexlet.core.refs import PODS, REPLICA_SETS

OWNER = ("ReplicaSet", "web")
ABOUT = {"kind": "ReplicaSet", "apiVersion": "apps/v1", "namespace": "default", "name": "web", "uid": "uid-web"}


def replica_set(replicas: int = 2, *, status: Object | None = None, **parts: Any) -> Object:
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}
    spec |= parts.pop("spec", {})
    return {"metadata": meta(parts.pop("name", "web"), **parts), "spec": spec, "status": status or {"replicas": 0}}


def reported(replicas: int, ready: int | None = None, **parts: Any) -> Object:
    """A status that is up to date."""
    counts = {"replicas": replicas, "fullyLabeledReplicas": replicas, "readyReplicas": replicas}
    counts["readyReplicas"] = replicas if ready is None else ready
    counts["availableReplicas"] = counts["readyReplicas"]
    return {**counts, "terminatingReplicas": 0, "observedGeneration": 1, **parts}


def event(kind: str, reason: str, message: str) -> RecordEvent:
    return RecordEvent(about=ABOUT, type=kind, reason=reason, message=message, component="replicaset-controller")


def decider(*bodies: Object, pods: tuple[Object, ...] = ()) -> ReplicaSetDecider:
    made = ReplicaSetDecider()
    tell(made, seen(REPLICA_SETS, *bodies), seen(PODS, *pods))
    return made


def test_missing_pods_are_created_from_the_template() -> None:
    body = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "generateName": "web-",
            "labels": {"app": "web"},
            "ownerReferences": [reference(*OWNER)],
        },
        "spec": TEMPLATE["spec"],
    }
    create = CreateObject(
        ref=PODS,
        namespace="default",
        body=body,
        on_behalf_of="uid-web",
        event=event("Normal", "SuccessfulCreate", "Created pod: {name}"),
    )
    assert decide(decider(replica_set(2))) == (create, create)


def test_creates_start_slowly_and_stay_below_a_limit() -> None:
    """16, then double, never more than 500 in a round, never more than wanted."""
    made = decider(replica_set(1200))
    sizes: list[int] = []
    for _ in range(8):
        count = len([action for action in decide(made) if isinstance(action, CreateObject)])
        start = sum(sizes)
        sizes.append(count)
        tell(made, seen(PODS, *(pod(f"p{number}", owner=OWNER) for number in range(start, start + count))))
    assert sizes == [16, 32, 64, 128, 256, 500, 204, 0]


def test_when_all_is_as_wanted_the_counts_are_reported_once() -> None:
    pods = (pod("a", owner=OWNER), pod("b", owner=OWNER, ready=False))
    made = decider(replica_set(2), pods=pods)
    status = {
        "replicas": 2,
        "fullyLabeledReplicas": 2,
        "readyReplicas": 1,
        "availableReplicas": 1,
        "terminatingReplicas": 0,
        "observedGeneration": 1,
        "conditions": None,
    }
    assert decide(made) == (
        PatchObject(
            ref=REPLICA_SETS,
            namespace="default",
            name="web",
            patch={"status": status},
            subresource="status",
            on_behalf_of="uid-web",
        ),
    )
    tell(made, seen(REPLICA_SETS, replica_set(2, status=reported(2, ready=1))))
    assert decide(made) == ()


def test_too_many_pods_are_deleted_least_useful_first() -> None:
    pods = (pod("a", owner=OWNER), pod("b", owner=OWNER, node="", phase="Pending", ready=False))
    made = decider(replica_set(1, status=reported(2)), pods=pods)
    assert decide(made) == (
        DeleteObject(
            ref=PODS,
            namespace="default",
            name="b",
            uid="uid-b",
            on_behalf_of="uid-web",
            event=event("Normal", "SuccessfulDelete", "Deleted pod: b"),
        ),
    )


def test_a_deletion_that_is_under_way_counts_as_done() -> None:
    """Otherwise every round until the watch shows it would delete one more."""
    pods = (pod("a", owner=OWNER), pod("b", owner=OWNER))
    made = decider(replica_set(1, status=reported(2)), pods=pods)
    [deletion] = decide(made)
    assert isinstance(deletion, DeleteObject)
    tell(made, seen(REPLICA_SETS, replica_set(1, status=reported(2, ready=1))))
    [report] = decide(made)
    assert isinstance(report, PatchObject)
    assert (report.patch["status"]["replicas"], report.patch["status"]["terminatingReplicas"]) == (1, 1)


def test_finished_pods_are_replaced_and_deleted_ones_too() -> None:
    pods = (
        pod("a", owner=OWNER, phase="Failed", ready=False),
        pod("b", owner=OWNER, deletionTimestamp=stamp()),
        pod("c", owner=OWNER),
    )
    made = decider(replica_set(2), pods=pods)
    assert short(decide(made)) == [("create", "pods", "web-")]
    tell(made, gone(PODS, pods[1]))
    assert short(decide(made)) == [("create", "pods", "web-")]


def test_a_refusal_is_told_reported_and_not_repeated_at_once() -> None:
    made = decider(replica_set(2))
    creates = decide(made)
    tell(made, [Failed(create, 403, "Forbidden", "exceeded quota") for create in creates])
    told, also_told, report = decide(made)
    assert told == also_told == event("Warning", "FailedCreate", "Error creating: exceeded quota")
    assert isinstance(report, PatchObject)
    assert report.patch["status"]["conditions"] == [
        {
            "type": "ReplicaFailure",
            "status": "True",
            "lastTransitionTime": stamp(),
            "reason": "FailedCreate",
            "message": "exceeded quota",
        }
    ]
    tell(made, seen(REPLICA_SETS, changed(replica_set(2), report)))
    assert decide(made) == ()
    assert short(decide(made, NOW + 1)) == [("create", "pods", "web-")], "one at a time after a refusal"


def test_a_failure_that_is_over_is_no_longer_reported() -> None:
    failure = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}
    made = decider(replica_set(1, status=reported(0, conditions=[failure])), pods=(pod("a", owner=OWNER),))
    [report] = decide(made)
    assert isinstance(report, PatchObject)
    assert report.patch["status"]["conditions"] is None


def test_nothing_is_said_about_a_namespace_that_ends() -> None:
    made = decider(replica_set(1))
    [create] = decide(made)
    text = "unable to create new content in namespace default because it is being terminated"
    tell(made, [Failed(create, 403, "Forbidden", text)])
    assert short(decide(made)) == [("patch", "replicasets", "web", "status")]


def test_a_refused_deletion_is_taken_back() -> None:
    pods = (pod("a", owner=OWNER), pod("b", owner=OWNER))
    made = decider(replica_set(1, status=reported(2)), pods=pods)
    [deletion] = decide(made)
    tell(made, [Failed(deletion, 500, "InternalError", "no")])
    assert short(decide(made)) == [
        ("event", "FailedDelete", "Error deleting: no"),
        ("patch", "replicasets", "web", "status"),
    ]
    assert short(decide(made, NOW + 1)) == [("delete", "pods", "a")]


def test_a_matching_orphan_is_adopted_after_a_look_at_the_owner() -> None:
    """The owner may be gone and its pods orphaned on purpose, with only the watch not yet saying so."""
    made = decider(replica_set(1), pods=(pod("a"),))
    assert decide(made) == (LookUp(ref=REPLICA_SETS, namespace="default", name="web", on_behalf_of="uid-web"),)
    assert decide(made) == (
        PatchObject(
            ref=PODS,
            namespace="default",
            name="a",
            patch={"metadata": {"uid": "uid-a", "ownerReferences": [reference(*OWNER)]}},
            kind="strategic",
            on_behalf_of="uid-web",
        ),
    )


def test_an_owner_that_is_gone_adopts_nobody() -> None:
    made = decider(replica_set(1), pods=(pod("a"),))
    decide(made)
    tell(made, [Absent(REPLICA_SETS, "default", "web")])
    assert decide(made) == ()


@pytest.mark.parametrize(
    "orphan",
    [
        pod("a", labels={"app": "db"}),
        pod("a", namespace="other"),
        pod("a", deletionTimestamp=stamp()),
        pod("a", phase="Succeeded"),
        pod("a", owner=("Job", "j")),
    ],
    ids=["labels", "namespace", "deleted", "finished", "owned"],
)
def test_who_is_not_adopted(orphan: Object) -> None:
    made = decider(replica_set(0, status=reported(0)), pods=(orphan,))
    assert decide(made) == ()


def test_a_pod_that_no_longer_matches_is_released() -> None:
    made = decider(replica_set(1, status=reported(1)), pods=(pod("a", owner=OWNER, labels={"app": "other"}),))
    assert decide(made) == (
        PatchObject(
            ref=PODS,
            namespace="default",
            name="a",
            patch={"metadata": {"uid": "uid-a", "ownerReferences": [{"$patch": "delete", "uid": "uid-web"}]}},
            kind="strategic",
            on_behalf_of="uid-web",
        ),
    )
    tell(made, seen(PODS, pod("a", labels={"app": "other"})))
    assert short(decide(made)) == [("create", "pods", "web-")]


def test_a_set_being_deleted_only_reports() -> None:
    made = decider(replica_set(3, deletionTimestamp=stamp()), pods=(pod("a", owner=OWNER), pod("b")))
    assert short(decide(made)) == [("patch", "replicasets", "web", "status")]


def test_availability_comes_with_time() -> None:
    ready = {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": stamp(-10)}]}
    spec = {"minReadySeconds": 30}
    made = decider(replica_set(1, spec=spec), pods=(pod("a", owner=OWNER, status=ready),))
    [report] = decide(made)
    assert isinstance(report, PatchObject)
    assert report.patch["status"]["availableReplicas"] is None
    status = reported(1, availableReplicas=0)
    tell(made, seen(REPLICA_SETS, replica_set(1, spec=spec, status=status)))
    plan = made.decide(NOW)
    assert (plan.actions, plan.wake_at) == ((), NOW + 20)
    [report] = decide(made, NOW + 20)
    assert isinstance(report, PatchObject)
    assert report.patch["status"]["availableReplicas"] == 1


def test_pods_seen_before_their_owner_count_when_it_comes() -> None:
    made = ReplicaSetDecider()
    tell(made, seen(PODS, pod("a", owner=OWNER)), seen(REPLICA_SETS, replica_set(1, status=reported(1))))
    assert decide(made) == ()


def test_a_set_that_is_gone_is_forgotten() -> None:
    body = replica_set(3)
    made = decider(body, pods=(pod("a", owner=OWNER),))
    tell(made, gone(REPLICA_SETS, body))
    assert decide(made) == ()
    tell(made, gone(PODS, pod("a")))
    assert decide(made) == ()


def test_the_sets_of_one_deployment_rank_nodes_together() -> None:
    """A pod that shares its node with a sibling of another revision goes first."""
    owner = {"owner": ("Deployment", "d")}
    one = replica_set(1, name="web", status=reported(2), **owner)
    two = replica_set(1, name="old", status=reported(1), spec={"selector": {"matchLabels": {"v": "old"}}}, **owner)
    sibling = pod("s", owner=("ReplicaSet", "old"), labels={"v": "old"}, node="n2")
    pods = (pod("a", owner=OWNER, node="n1"), pod("b", owner=OWNER, node="n2"), sibling)
    assert short(decide(decider(one, two, pods=pods)))[:1] == [("delete", "pods", "b")]


def test_one_that_cannot_be_looked_at_keeps_no_other_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the fault is: the plan names it, the others get their pods, and the look is made again later."""
    made, error = decider(replica_set(1, name="bad"), replica_set(1)), KeyError("template")
    look = made._look

    def touchy(rs: Any, now: float, budget: int) -> list[Any]:
        if rs.name == "bad":
            raise error
        return look(rs, now, budget)

    monkeypatch.setattr(made, "_look", touchy)
    plan = made.decide(NOW)
    assert short(plan.actions) == [("create", "pods", "web-")]
    assert (plan.faults, plan.wake_at) == ((LookFault("default/bad", error),), NOW + 1)
    monkeypatch.undo()
    plan = made.decide(NOW + 1)
    assert short(plan.actions) == [("create", "pods", "bad-")]
    assert plan.faults == (LookFault("default/bad", None),)
