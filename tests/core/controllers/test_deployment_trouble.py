"""Deployments that get stuck, are refused something, lose their sets, or are gone."""

import msgspec
from tests.core.controllers.deployments import (
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
    changed,
    decide,
    gone,
    reference,
    seen,
    short,
    stamp,
    tell,
)

from flexlet.core.actions import CreateObject, PatchObject
from flexlet.core.controllers import templates
from flexlet.core.observations import Absent, Failed
from flexlet.core.refs import DEPLOYMENTS, REPLICA_SETS


def test_a_rollout_without_progress_times_out() -> None:
    stuck = progressing("True", "ReplicaSetUpdated", 'ReplicaSet "web-1" is progressing.', -601)
    counts = {"replicas": 2, "updatedReplicas": 2, "unavailableReplicas": 2, "terminatingReplicas": 0}
    status = counts | {"observedGeneration": 1, "conditions": [UNAVAILABLE, stuck]}
    body = deployment(annotations={f"{PREFIX}revision": "1"}, status=status)
    made = decider(body, sets=(replica_set("web-1", 2, up=0),))
    [report] = decide(made)
    assert isinstance(report, PatchObject)
    late = progressing("False", "ProgressDeadlineExceeded", 'ReplicaSet "web-1" has timed out progressing.')
    assert report.patch["status"]["conditions"] == [UNAVAILABLE, late]
    tell(made, seen(DEPLOYMENTS, changed(body, report)))
    assert made.decide(NOW).wake_at is None


def test_without_a_deadline_progress_is_not_judged() -> None:
    body = deployment(spec={"progressDeadlineSeconds": None}, status=complete("web-1"))
    [report] = decide(decider(body, sets=(replica_set("web-1", 2, up=1),)))
    assert isinstance(report, PatchObject)
    assert [one["type"] for one in report.patch["status"]["conditions"]] == ["Available"]


def test_a_replica_set_that_cannot_be_created_is_reported() -> None:
    made = decider(deployment())
    [create] = decide(made)
    tell(made, [Failed(create, 403, "Forbidden", "no")])
    text = f'Failed to create new replica set "web-{HASH}": no'
    told, report = decide(made)
    assert told == event(text, "ReplicaSetCreateError", "Warning")
    assert isinstance(report, PatchObject)
    refused = progressing("False", "ReplicaSetCreateError", text)
    assert report.patch["status"]["conditions"] == [refused, UNAVAILABLE]
    tell(made, seen(DEPLOYMENTS, changed(deployment(), report)))
    assert decide(made) == ()
    assert short(decide(made, NOW + 1)) == [("create", "replicasets", f"web-{HASH}")]


def test_a_name_that_is_taken_changes_the_hash() -> None:
    made = decider(deployment())
    [create] = decide(made)
    tell(made, [Failed(create, 409, "AlreadyExists", "exists")])
    decide(made)
    [report] = decide(made, NOW + 1)
    assert isinstance(report, PatchObject)
    assert report.patch["status"]["collisionCount"] == 1
    tell(made, seen(DEPLOYMENTS, changed(deployment(), report)))
    [create] = decide(made, NOW + 1)
    assert isinstance(create, CreateObject)
    assert create.body["metadata"]["name"] == f"web-{templates.hash_of(msgspec.json.encode(TEMPLATE), 1)}"


def test_the_failure_of_a_set_is_the_deployments() -> None:
    failure = {
        "type": "ReplicaFailure",
        "status": "True",
        "lastTransitionTime": stamp(-5),
        "reason": "FailedCreate",
        "message": "exceeded quota",
    }
    new = replica_set("web-1", 2, status={"conditions": [failure]})
    [report] = decide(decider(deployment(status=complete("web-1")), sets=(new,)))
    assert isinstance(report, PatchObject)
    assert failure | {"lastUpdateTime": stamp(-5)} in report.patch["status"]["conditions"]


def test_orphaned_sets_are_adopted_and_strays_released() -> None:
    orphan = replica_set("web-1", 2)
    del orphan["metadata"]["ownerReferences"]
    stray = replica_set("web-9", 0)
    stray["metadata"]["labels"] = {"app": "other"}
    made = decider(deployment(), sets=(orphan, stray))
    assert short(decide(made)) == [("patch", "replicasets", "web-9", ""), ("look up", "deployments", "web")]
    tell(made, seen(REPLICA_SETS, {**stray, "metadata": {**stray["metadata"], "ownerReferences": []}}))
    [adopt] = decide(made)
    assert isinstance(adopt, PatchObject)
    assert adopt.patch["metadata"]["ownerReferences"] == [reference("Deployment", "web")]


def test_a_deployment_found_missing_is_forgotten() -> None:
    orphan = replica_set("web-1", 2)
    del orphan["metadata"]["ownerReferences"]
    made = decider(deployment(), sets=(orphan,))
    decide(made)
    tell(made, [Absent(DEPLOYMENTS, "default", "web")])
    assert decide(made) == ()


def test_a_deployment_being_deleted_only_counts() -> None:
    body = deployment(template=NEXT, deletionTimestamp=stamp(), status=complete("web-1", 9))
    assert short(decide(decider(body, sets=(replica_set("web-1", 2),)))) == [
        ("patch", "deployments", "web", "status")
    ]


def test_a_deployment_that_selects_everything_does_nothing() -> None:
    body = deployment(spec={"selector": {}})
    assert short(decide(decider(body))) == [
        ("event", "SelectingAll", "This deployment is selecting all pods. A non-empty selector is required."),
        ("patch", "deployments", "web", "status"),
    ]


def test_a_deployment_that_is_gone_is_forgotten() -> None:
    made = decider(deployment(), sets=(replica_set("web-1", 2),))
    tell(made, gone(DEPLOYMENTS, deployment()))
    assert decide(made) == ()
    tell(made, gone(REPLICA_SETS, replica_set("web-1", 2)))
    assert decide(made) == ()


def test_a_status_that_makes_no_sense_is_written_over() -> None:
    """Whoever may write a status must not be able to stop the controllers."""
    odd = {"conditions": [{}, {"type": "Progressing"}, {"type": "Available", "status": "True"}]}
    failing = replica_set("web-1", 2, status={"conditions": [{"type": "ReplicaFailure"}]})
    [report] = decide(decider(deployment(status=odd), sets=(failing,)))
    assert isinstance(report, PatchObject)
    assert report.patch["status"]["replicas"] == 2
