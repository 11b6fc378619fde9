"""Deployments roll out templates."""

from typing import Any

import pytest
from tests.core.controllers.deployments import (
    AVAILABLE,
    HASH,
    NEXT,
    PREFIX,
    UNAVAILABLE,
    complete,
    decider,
    deployment,
    event,
    progressing,
    replica_set,
)
from tests.core.controllers.world import (
    NOW,
    TEMPLATE,
    Object,
    changed,
    decide,
    reference,
    seen,
    short,
    stamp,
    tell,
)

from flexlet.core.actions import CreateObject, DeleteObject, PatchObject
from flexlet.core.refs import DEPLOYMENTS, REPLICA_SETS


def status_patch(**status: Any) -> Object:
    """The whole status as it is written; what is not named is taken out."""
    empty = dict.fromkeys(
        (
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
            "collisionCount",
        )
    )
    return empty | {"observedGeneration": 1, "terminatingReplicas": 0} | status


def test_a_new_deployment_creates_its_first_replica_set() -> None:
    labels = {"app": "web", "pod-template-hash": HASH}
    body = {
        "kind": "ReplicaSet",
        "apiVersion": "apps/v1",
        "metadata": {
            "name": f"web-{HASH}",
            "labels": labels,
            "annotations": {
                "team": "red",
                f"{PREFIX}revision": "1",
                f"{PREFIX}desired-replicas": "2",
                f"{PREFIX}max-replicas": "3",
            },
            "ownerReferences": [reference("Deployment", "web")],
        },
        "spec": {
            "replicas": 2,
            "minReadySeconds": 0,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": TEMPLATE["spec"]},
        },
    }
    annotations = {"team": "red", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
    assert decide(decider(deployment(annotations=annotations))) == (
        CreateObject(
            ref=REPLICA_SETS,
            namespace="default",
            body=body,
            on_behalf_of="uid-web",
            event=event(f"Scaled up replica set web-{HASH} from 0 to 2"),
        ),
    )


def test_what_was_created_is_reported_with_its_revision() -> None:
    made = decider(deployment())
    decide(made)
    new = replica_set(f"web-{HASH}", 2, up=0, status={"replicas": 0, "observedGeneration": 0})
    tell(made, seen(REPLICA_SETS, new))
    created = progressing("True", "NewReplicaSetCreated", f'Created new replica set "web-{HASH}"')
    [report] = decide(made)
    assert report == PatchObject(
        ref=DEPLOYMENTS,
        namespace="default",
        name="web",
        patch={
            "metadata": {"annotations": {f"{PREFIX}revision": "1"}},
            "status": status_patch(unavailableReplicas=2, conditions=[created, UNAVAILABLE]),
        },
        subresource="status",
        on_behalf_of="uid-web",
    )
    tell(made, seen(DEPLOYMENTS, changed(deployment(), report)))
    plan = made.decide(NOW)
    assert (plan.actions, plan.wake_at) == ((), NOW + 601), "it looks for progress when the deadline has passed"


def test_pods_that_come_up_are_progress_and_then_success() -> None:
    new = replica_set("web-1", 2, up=1)
    before = {"observedGeneration": 1, "unavailableReplicas": 2, "terminatingReplicas": 0}
    created = progressing("True", "NewReplicaSetCreated", 'Created new replica set "web-1"', -60)
    revision = {f"{PREFIX}revision": "1"}
    body = deployment(annotations=revision, status=before | {"conditions": [created, UNAVAILABLE]})
    made = decider(body, sets=(new,))
    moving = progressing("True", "ReplicaSetUpdated", 'ReplicaSet "web-1" is progressing.')
    moving["lastTransitionTime"] = stamp(-60)
    [report] = decide(made)
    counts = {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 1, "availableReplicas": 1}
    expected = status_patch(**counts, unavailableReplicas=1, conditions=[UNAVAILABLE, moving])
    assert isinstance(report, PatchObject)
    assert report.patch == {"status": expected}
    body = changed(body, report)
    tell(made, seen(DEPLOYMENTS, body), seen(REPLICA_SETS, replica_set("web-1", 2)))
    done = progressing("True", "NewReplicaSetAvailable", 'ReplicaSet "web-1" has successfully progressed.')
    done["lastTransitionTime"] = stamp(-60)
    [report] = decide(made)
    assert isinstance(report, PatchObject)
    assert report.patch["status"]["conditions"] == [AVAILABLE, done]
    tell(made, seen(DEPLOYMENTS, changed(body, report)))
    assert decide(made) == ()


def test_a_new_template_rolls_out_beside_the_old_one() -> None:
    body = deployment(template=NEXT, generation=2, status=complete("web-1"))
    made = decider(body, sets=(replica_set("web-1", 2),))
    [create] = decide(made)
    assert isinstance(create, CreateObject)
    assert create.body["spec"]["replicas"] == 1, "the surge"
    assert create.body["metadata"]["annotations"][f"{PREFIX}revision"] == "2"


def test_a_step_patches_the_set_and_reports() -> None:
    old, new = (
        replica_set("web-1", 2),
        replica_set("web-2", 1, template=NEXT, annotations={f"{PREFIX}revision": "2"}),
    )
    body = deployment(template=NEXT, annotations={f"{PREFIX}revision": "2"}, status=complete("web-1"))
    scale, report = decide(decider(body, sets=(old, new)))
    assert scale == PatchObject(
        ref=REPLICA_SETS,
        namespace="default",
        name="web-1",
        patch={"spec": {"replicas": 1}},
        on_behalf_of="uid-web",
        event=event("Scaled down replica set web-1 from 2 to 1"),
    )
    assert short([report]) == [("patch", "deployments", "web", "status")]


def test_going_back_makes_the_old_set_new_again() -> None:
    """Its revision is the next one, the former is kept as history: that is what `rollout history` shows."""
    old = replica_set("web-1", 0)
    current = replica_set("web-2", 2, template=NEXT, annotations={f"{PREFIX}revision": "2"})
    body = deployment(annotations={f"{PREFIX}revision": "2"}, status=complete("web-2"))
    scale, report = decide(decider(body, sets=(old, current)))
    assert isinstance(scale, PatchObject)
    assert (scale.name, scale.patch) == (
        "web-1",
        {
            "metadata": {"annotations": {f"{PREFIX}revision": "3", f"{PREFIX}revision-history": "1"}},
            "spec": {"replicas": 1},
        },
    )
    assert isinstance(report, PatchObject)
    assert report.patch["metadata"] == {"annotations": {f"{PREFIX}revision": "3"}}


def test_scaling_is_not_a_rollout() -> None:
    """All sets change in proportion, and no progress is claimed."""
    body = deployment(5, generation=2, annotations={f"{PREFIX}revision": "1"}, status=complete("web-1"))
    scale, report = decide(decider(body, sets=(replica_set("web-1", 2),)))
    assert isinstance(scale, PatchObject)
    assert scale.patch == {
        "metadata": {"annotations": {f"{PREFIX}desired-replicas": "5", f"{PREFIX}max-replicas": "6"}},
        "spec": {"replicas": 5},
    }
    assert isinstance(report, PatchObject)
    assert report.patch["status"]["observedGeneration"] == 2
    assert [one["reason"] for one in report.patch["status"]["conditions"]] == [
        "NewReplicaSetAvailable",
        "MinimumReplicasUnavailable",
    ]


def test_a_pause_stops_the_rollout_but_not_scaling() -> None:
    body = deployment(3, template=NEXT, spec={"paused": True}, status=complete("web-1"))
    scale, report = decide(decider(body, sets=(replica_set("web-1", 2),)))
    assert isinstance(scale, PatchObject)
    assert scale.patch["spec"] == {"replicas": 3}
    paused = progressing("Unknown", "DeploymentPaused", "Deployment is paused")
    assert isinstance(report, PatchObject)
    assert paused in report.patch["status"]["conditions"]
    body = changed(body, report)
    resumed = {**body, "spec": {**body["spec"], "paused": False}}
    made = decider(resumed, sets=(replica_set("web-1", 3, annotations={f"{PREFIX}desired-replicas": "3"}),))
    assert short(decide(made))[0][:2] == ("create", "replicasets")


def test_a_resumed_deployment_has_its_whole_deadline_again() -> None:
    paused = progressing("Unknown", "DeploymentPaused", "Deployment is paused", -9999)
    body = deployment(status=complete("web-1") | {"conditions": [AVAILABLE, paused]})
    [report] = decide(decider(body, sets=(replica_set("web-1", 2, up=1),)))
    assert isinstance(report, PatchObject)
    resumed = progressing("Unknown", "DeploymentResumed", "Deployment is resumed")
    resumed["lastTransitionTime"] = paused["lastTransitionTime"]
    assert resumed in report.patch["status"]["conditions"]


RECREATE = {"strategy": {"type": "Recreate"}}


@pytest.mark.parametrize(
    ("old", "story"),
    [
        pytest.param(
            replica_set("web-1", 2),
            [("patch", "replicasets", "web-1", ""), ("patch", "deployments", "web", "status")],
            id="old pods go first",
        ),
        pytest.param(
            replica_set("web-1", 0, status={"replicas": 2}),
            [("patch", "deployments", "web", "status")],
            id="while some are left nothing starts",
        ),
        pytest.param(
            replica_set("web-1", 0, status={"terminatingReplicas": 1}),
            [("patch", "deployments", "web", "status")],
            id="not even while they end",
        ),
        pytest.param(
            replica_set("web-1", 0, generation=2),
            [("patch", "deployments", "web", "status")],
            id="nor while nobody has looked",
        ),
    ],
)
def test_recreate_waits_for_old_pods(old: Object, story: list[tuple[str, ...]]) -> None:
    """Two versions must never run side by side."""
    body = deployment(template=NEXT, spec=RECREATE, status={"replicas": 9})
    assert short(decide(decider(body, sets=(old,)))) == story


def test_recreate_starts_when_no_old_pod_is_left() -> None:
    body = deployment(template=NEXT, spec=RECREATE)
    [create] = decide(decider(body, sets=(replica_set("web-1", 0),)))
    assert isinstance(create, CreateObject)
    assert create.body["spec"]["replicas"] == 2


def test_old_revisions_beyond_the_limit_are_dropped_oldest_first() -> None:
    revision = {f"{PREFIX}revision": "9"}
    sets = [replica_set("web-1", 2, annotations=revision)]
    for number in range(2, 6):
        template = {**NEXT, "spec": {"containers": [{"name": "c", "image": f"x:{number}"}]}}
        noted = {f"{PREFIX}revision": str(number)}
        sets.append(replica_set(f"web-{number}", 0, template=template, annotations=noted))
    sets[1]["status"]["observedGeneration"] = 0
    body = deployment(annotations=revision, spec={"revisionHistoryLimit": 1}, status=complete("web-1"))
    made = decider(body, sets=tuple(sets))
    deletions = decide(made)
    assert deletions == tuple(
        DeleteObject(
            ref=REPLICA_SETS,
            namespace="default",
            name=f"web-{number}",
            uid=f"uid-web-{number}",
            on_behalf_of="uid-web",
        )
        for number in (3, 4)
    ), "web-2 may still have pods, web-5 is the one that is kept"
    tell(made, seen(DEPLOYMENTS, {**body, "metadata": {**body["metadata"], "labels": {"new": "label"}}}))
    assert decide(made) == (), "a deletion is not sent twice"


def test_annotations_and_readiness_follow_to_the_new_set() -> None:
    annotations = {f"{PREFIX}revision": "1", "kubernetes.io/change-cause": "because"}
    body = deployment(annotations=annotations, spec={"minReadySeconds": 7}, status=complete("web-1"))
    [patch] = decide(decider(body, sets=(replica_set("web-1", 2),)))
    assert isinstance(patch, PatchObject)
    assert patch.patch == {
        "metadata": {"annotations": {"kubernetes.io/change-cause": "because"}},
        "spec": {"minReadySeconds": 7},
    }
