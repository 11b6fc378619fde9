"""How many pods may be disrupted."""

from typing import Any

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
    stamp,
    tell,
)

from flexlet.core.actions import PatchObject
from flexlet.core.controllers.disruption.decider import DisruptionDecider
from flexlet.core.observations import Failed
from flexlet.core.refs import BUDGETS, DEPLOYMENTS, PODS, REPLICA_SETS

RS = ("ReplicaSet", "rs")


def budget(status: Object | None = None, **spec: Any) -> Object:
    body = {"selector": {"matchLabels": {"app": "web"}}, **spec}
    return {"metadata": meta("pdb", resourceVersion="5"), "spec": body, "status": status or {}}


def replica_set(replicas: int, **parts: Any) -> Object:
    return {"metadata": meta("rs", **parts), "spec": {"replicas": replicas}}


def decider(body: Object, *pods: Object, sets: tuple[Object, ...] = ()) -> DisruptionDecider:
    made = DisruptionDecider()
    tell(made, seen(REPLICA_SETS, *sets), seen(PODS, *pods), seen(BUDGETS, body))
    return made


def status_of(actions: Any) -> Object:
    [patch] = actions
    assert isinstance(patch, PatchObject)
    status: Object = patch.patch["status"]
    return status


def web(count: int, **parts: Any) -> tuple[Object, ...]:
    return tuple(pod(f"p{number}", owner=RS, **parts) for number in range(count))


def test_a_report_is_bound_to_the_version_it_was_made_from() -> None:
    """Evictions write the same status; neither may overwrite the other."""
    condition = {
        "type": "DisruptionAllowed",
        "status": "True",
        "observedGeneration": 1,
        "lastTransitionTime": stamp(),
        "reason": "SufficientPods",
        "message": "",
    }
    body = budget(minAvailable=2)
    made = decider(body, *web(3))
    [patch] = decide(made)
    assert patch == PatchObject(
        ref=BUDGETS,
        namespace="default",
        name="pdb",
        patch={
            "metadata": {"resourceVersion": "5"},
            "status": {
                "observedGeneration": 1,
                "disruptedPods": None,
                "disruptionsAllowed": 1,
                "currentHealthy": 3,
                "desiredHealthy": 2,
                "expectedPods": 3,
                "conditions": [condition],
            },
        },
        subresource="status",
        on_behalf_of="uid-pdb",
    )
    tell(made, seen(BUDGETS, changed(body, patch)))
    assert decide(made) == ()


@pytest.mark.parametrize(
    ("spec", "counts"),
    [
        ({"minAvailable": 2}, (3, 2, 4, 1)),
        ({"minAvailable": 9}, (3, 9, 4, 0)),
        ({"minAvailable": "50%"}, (3, 5, 10, 0)),
        ({"minAvailable": "25%"}, (3, 3, 10, 0)),
        ({"minAvailable": "20%"}, (3, 2, 10, 1)),
        ({"maxUnavailable": 8}, (3, 2, 10, 1)),
        ({"maxUnavailable": "75%"}, (3, 2, 10, 1)),
        ({"maxUnavailable": 20}, (3, 0, 10, 3)),
    ],
)
def test_what_budgets_ask_for(spec: Object, counts: tuple[int, ...]) -> None:
    """Shares are of what the controllers want, numbers of what is there. Healthy, desired, expected, allowed."""
    status = status_of(
        decide(decider(budget(**spec), *web(3), pod("p9", owner=RS, ready=False), sets=(replica_set(10),)))
    )
    keys = ("currentHealthy", "desiredHealthy", "expectedPods", "disruptionsAllowed")
    assert tuple(status[key] for key in keys) == counts


def test_a_budget_without_pods_allows_nothing() -> None:
    [patch] = decide(decider(budget(minAvailable=0)))
    assert isinstance(patch, PatchObject)
    assert patch.event is not None
    assert (patch.event.reason, patch.patch["status"]["disruptionsAllowed"]) == ("NoPods", 0)
    assert patch.patch["status"]["conditions"][0]["reason"] == "InsufficientPods"


def test_the_sets_of_a_deployment_count_as_the_deployment() -> None:
    one = replica_set(3, owner=("Deployment", "d"))
    two = {**replica_set(2, owner=("Deployment", "d")), "metadata": meta("rs2", owner=("Deployment", "d"))}
    made = decider(budget(maxUnavailable="50%"), *web(2), pod("x", owner=("ReplicaSet", "rs2")), sets=(one, two))
    deployment = {"metadata": meta("d"), "spec": {"replicas": 4}}
    tell(made, seen(DEPLOYMENTS, deployment))
    status = status_of(decide(made))
    assert (status["expectedPods"], status["desiredHealthy"]) == (4, 2)
    tell(made, seen(DEPLOYMENTS, {**deployment, "spec": {"replicas": 6}}))
    assert status_of(decide(made))["expectedPods"] == 6


@pytest.mark.parametrize(
    ("owner", "message"),
    [
        (("ReplicaSet", "unknown"), 'found no controllers for pod "p0"'),
        (("Job", "j"), "jobs.batch does not implement the scale subresource"),
        (("DaemonSet", "d"), "daemonsets.apps does not implement the scale subresource"),
        (("Widget", "w"), 'found no controllers for pod "p0"'),
    ],
)
def test_when_the_whole_is_unknown_nothing_may_go(owner: tuple[str, str], message: str) -> None:
    before = {"disruptionsAllowed": 3, "currentHealthy": 4, "desiredHealthy": 1, "expectedPods": 4}
    body = budget(before, maxUnavailable="50%")
    [patch] = decide(decider(body, pod("p0", ownerReferences=[reference(*owner)])))
    assert isinstance(patch, PatchObject)
    assert patch.event is not None
    assert patch.event.reason == "CalculateExpectedPodCountFailed"
    status = patch.patch["status"]
    assert (status["disruptionsAllowed"], status["currentHealthy"]) == (0, 4)
    [condition] = status["conditions"]
    assert (condition["status"], condition["reason"], condition["message"]) == ("False", "SyncFailed", message)


def test_pods_without_a_controller_count_only_by_number() -> None:
    status = status_of(decide(decider(budget(maxUnavailable=1), pod("a"), *web(2), sets=(replica_set(2),))))
    assert (status["currentHealthy"], status["expectedPods"], status["disruptionsAllowed"]) == (3, 2, 2)


def test_announced_evictions_count_until_they_are_overdue() -> None:
    announced = {"p0": stamp(-10), "p1": stamp(-200), "gone": stamp(-10)}
    body = budget({"disruptedPods": announced}, minAvailable=1)
    made = decider(body, *web(3))
    status = status_of(decide(made))
    assert status["disruptedPods"] == {"p0": stamp(-10), "p1": None, "gone": None}
    assert (status["currentHealthy"], status["disruptionsAllowed"]) == (2, 1)
    assert made.decide(NOW).wake_at == NOW + 110
    status = status_of(decide(made, NOW + 110))
    assert (status["disruptedPods"], status["currentHealthy"]) == (None, 3)


def test_pods_that_change_are_counted_again() -> None:
    body = budget(minAvailable=1)
    made = decider(body, *web(2))
    [patch] = decide(made)
    tell(made, seen(BUDGETS, changed(body, patch)))
    assert decide(made) == ()
    for change, healthy in [
        (seen(PODS, pod("p0", owner=RS, ready=False)), 1),
        (seen(PODS, pod("p0", owner=RS)), 2),
        (seen(PODS, pod("p0", owner=RS, deletionTimestamp=stamp())), 1),
        (gone(PODS, pod("p1")), 0),
        (seen(PODS, pod("p2", owner=RS)), 1),
        (seen(PODS, pod("p2", owner=RS, labels={"app": "other"})), 0),
    ]:
        tell(made, change)
        [patch] = decide(made)
        assert status_of([patch])["currentHealthy"] == healthy
        body = changed(body, patch)
        tell(made, seen(BUDGETS, body))


def test_a_conflict_is_met_with_patience() -> None:
    made = decider(budget(minAvailable=1), *web(2))
    [patch] = decide(made)
    tell(made, [Failed(patch, 409, "Conflict", "modified")])
    assert decide(made) == ()
    assert decide(made, NOW + 1) != ()


def test_a_budget_that_is_gone_is_forgotten() -> None:
    body = budget(minAvailable=1)
    made = decider(body, *web(2))
    tell(made, gone(BUDGETS, body), seen(PODS, pod("p9")))
    assert decide(made) == ()


def test_sets_that_are_gone_no_longer_count() -> None:
    made = decider(budget(maxUnavailable=1), *web(1), sets=(replica_set(5),))
    assert status_of(decide(made))["expectedPods"] == 5
    tell(made, gone(REPLICA_SETS, replica_set(5)))
    assert status_of(decide(made))["conditions"][0]["reason"] == "SyncFailed"
