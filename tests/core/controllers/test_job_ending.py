"""How Jobs fail, and what happens to those that are over or gone."""

import pytest
from tests.core.controllers.jobs import (
    REACHED,
    STARTED,
    TEMPLATE,
    condition,
    decider,
    event,
    failed,
    job,
    release,
    status_of,
    worker,
)
from tests.core.controllers.world import (
    NOW,
    Object,
    changed,
    decide,
    gone,
    seen,
    stamp,
    tell,
)

from flexlet.core.actions import DeleteObject, PatchObject
from flexlet.core.observations import Failed
from flexlet.core.refs import JOBS, PODS

LIMIT = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
LATE = ("DeadlineExceeded", "Job was active longer than specified deadline")


@pytest.mark.parametrize(
    ("body", "pods", "reason"),
    [
        (job(STARTED | {"failed": 6}), (failed("a"),), LIMIT),
        (job(backoffLimit=0), (failed("a"),), LIMIT),
        (job(activeDeadlineSeconds=100), (worker("a"),), LATE),
        (
            job(template={**TEMPLATE, "spec": {"restartPolicy": "OnFailure"}}),
            (worker("a", status={"containerStatuses": [{"restartCount": 6}]}),),
            LIMIT,
        ),
        (
            job(podFailurePolicy={"rules": []}),
            (),
            ("NotSupported", "flexlet does not support Jobs with podFailurePolicy"),
        ),
        (
            job(backoffLimitPerIndex=1, successPolicy={}),
            (),
            ("NotSupported", "flexlet does not support Jobs with successPolicy, backoffLimitPerIndex"),
        ),
    ],
    ids=["limit", "first failure", "deadline", "restarts", "policy", "two"],
)
def test_why_jobs_fail(body: Object, pods: tuple[Object, ...], reason: tuple[str, str]) -> None:
    status = status_of(decide(decider(body, *pods)))
    assert status["conditions"] == [condition("FailureTarget", "True", *reason)]


def test_a_job_that_fails_ends_its_pods_first() -> None:
    body = job(STARTED | {"active": 1, "ready": 1}, activeDeadlineSeconds=50)
    made = decider(body, worker("a"))
    deletion, note = decide(made)
    assert deletion == DeleteObject(
        ref=PODS,
        namespace="default",
        name="a",
        uid="uid-a",
        on_behalf_of="uid-work",
        event=event("Normal", "SuccessfulDelete", "Deleted pod: a"),
    )
    target = condition("FailureTarget", "True", *LATE)
    status = status_of([note])
    assert (status["active"], status["terminating"], status["conditions"]) == (None, 1, [target])
    body = changed(body, note)
    tell(made, seen(JOBS, body), seen(PODS, worker("a", deletionTimestamp=stamp(30))))
    [note] = decide(made)
    assert status_of([note])["uncountedTerminatedPods"]["failed"] == ["uid-a"], "a deleted pod has failed"
    body = changed(body, note)
    tell(made, seen(JOBS, body))
    assert decide(made) == (release("a"),)
    tell(made, seen(PODS, worker("a", tracked=False, deletionTimestamp=stamp(30))))
    [count] = decide(made)
    status = status_of([count])
    assert (status["failed"], status["conditions"]) == (1, [target]), "not over while the pod still runs"
    body = changed(body, count)
    tell(made, seen(JOBS, body), gone(PODS, worker("a")))
    [end] = decide(made)
    assert isinstance(end, PatchObject)
    assert end.event == event("Warning", *LATE)
    assert status_of([end])["conditions"] == [target, condition("Failed", "True", *LATE)]


def test_the_deadline_is_waited_for() -> None:
    made = decider(job(STARTED | {"active": 1, "ready": 1}, activeDeadlineSeconds=150), worker("a"))
    plan = made.decide(NOW)
    assert (plan.actions, plan.wake_at) == ((), NOW + 50)


def test_pods_of_a_job_that_is_over_or_gone_are_let_go() -> None:
    over = job(STARTED | {"conditions": [condition("Complete", "True", *REACHED)], "completionTime": stamp()})
    made = decider(over, worker("a"))
    assert decide(made) == (release("a"),)
    running = decider(job(STARTED | {"active": 1, "ready": 1}), worker("b"))
    assert decide(running) == ()
    tell(running, gone(JOBS, job()))
    assert decide(running) == (release("b"),)
    tell(running, [Failed(release("b"), 500, "InternalError", "no")])
    assert decide(running, NOW + 1) == (release("b"),)


def test_a_job_being_deleted_lets_its_pods_go() -> None:
    body = job(STARTED | {"active": 1, "ready": 1}, deletionTimestamp=stamp())
    assert decide(decider(body, worker("a"))) == (release("a"),)


def test_a_finished_job_is_deleted_when_its_time_is_up() -> None:
    end = condition("Failed", "True", *LIMIT, at=-10)
    made = decider(job(STARTED | {"conditions": [end]}, ttlSecondsAfterFinished=30))
    plan = made.decide(NOW)
    assert (plan.actions, plan.wake_at) == ((), NOW + 20)
    assert decide(made, NOW + 20) == (
        DeleteObject(
            ref=JOBS,
            namespace="default",
            name="work",
            uid="uid-work",
            propagation="Foreground",
            on_behalf_of="uid-work",
        ),
    )
