"""Jobs: run and count."""

import pytest
from tests.core.controllers.jobs import (
    FINALIZER,
    LABELS,
    OWNER,
    REACHED,
    STARTED,
    TEMPLATE,
    condition,
    decider,
    done,
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
    pod,
    reference,
    seen,
    short,
    stamp,
    tell,
)

from flexlet.core.actions import CreateObject, PatchObject
from flexlet.core.observations import Failed
from flexlet.core.refs import JOBS, PODS


def test_pods_are_created_with_a_finalizer_so_that_none_is_lost() -> None:
    body = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "generateName": "work-",
            "labels": LABELS,
            "ownerReferences": [reference(*OWNER)],
            "finalizers": [FINALIZER],
        },
        "spec": TEMPLATE["spec"],
    }
    create = CreateObject(
        ref=PODS,
        namespace="default",
        body=body,
        on_behalf_of="uid-work",
        event=event("Normal", "SuccessfulCreate", "Created pod: {name}"),
    )
    assert decide(decider(job({}, parallelism=2, completions=5))) == (create, create)


@pytest.mark.parametrize(
    ("spec", "status", "created"),
    [
        ({"parallelism": 3, "completions": 2}, {}, 2),
        ({"parallelism": 3, "completions": 5}, {"succeeded": 4}, 1),
        ({"parallelism": 3, "completions": None}, {}, 3),
        ({"parallelism": 3, "completions": None}, {"succeeded": 1}, 0),
        ({"parallelism": 0, "completions": 2}, {}, 0),
        ({"suspend": True}, {}, 0),
        ({"deletionTimestamp": stamp()}, {}, 0),
        ({"managedBy": "example.com/other"}, {}, 0),
    ],
    ids=["all", "the rest", "a queue", "a queue that ends", "none", "suspended", "deleted", "not ours"],
)
def test_how_many_pods_are_started(spec: Object, status: Object, created: int) -> None:
    actions = decide(decider(job(STARTED | status, **spec)))
    assert sum(isinstance(action, CreateObject) for action in actions) == created


def test_a_running_job_reports_when_it_started() -> None:
    assert decide(decider(job({}), worker("a"))) == (
        PatchObject(
            ref=JOBS,
            namespace="default",
            name="work",
            patch={
                "status": {
                    "active": 1,
                    "ready": 1,
                    "terminating": 0,
                    "succeeded": None,
                    "failed": None,
                    "uncountedTerminatedPods": {"succeeded": None, "failed": None},
                    "completedIndexes": None,
                    "startTime": stamp(),
                    "completionTime": None,
                    "conditions": None,
                }
            },
            subresource="status",
            on_behalf_of="uid-work",
        ),
    )


def test_a_job_ends_well_step_by_step() -> None:
    """Noted, released, counted, complete: a crash after any step loses nothing and counts nothing twice."""
    body = job(STARTED | {"active": 1, "ready": 1})
    made = decider(body, worker("a"))
    assert decide(made) == ()
    tell(made, seen(PODS, done("a")))
    [note] = decide(made)
    met = condition("SuccessCriteriaMet", "True", *REACHED)
    status = status_of([note])
    assert (status["uncountedTerminatedPods"], status["succeeded"], status["conditions"]) == (
        {"succeeded": ["uid-a"], "failed": None},
        None,
        [met],
    )
    body = changed(body, note)
    tell(made, seen(JOBS, body))
    assert decide(made) == (release("a"),)
    tell(made, seen(PODS, done("a", tracked=False)))
    [end] = decide(made)
    assert isinstance(end, PatchObject)
    assert end.event == event("Normal", "Completed", "Job completed")
    status = status_of([end])
    assert status == {
        "active": None,
        "ready": 0,
        "terminating": 0,
        "succeeded": 1,
        "failed": None,
        "uncountedTerminatedPods": {"succeeded": None, "failed": None},
        "completedIndexes": None,
        "startTime": stamp(-100),
        "completionTime": stamp(),
        "conditions": [met, condition("Complete", "True", *REACHED)],
    }
    tell(made, seen(JOBS, changed(body, end)))
    assert decide(made) == ()


def test_after_a_crash_counting_goes_on_where_it_was() -> None:
    noted = STARTED | {"uncountedTerminatedPods": {"succeeded": ["uid-a", "uid-b"]}}
    body = job(noted, completions=5, parallelism=0)
    actions = decide(decider(body, done("a"), done("c")))
    assert actions[0] == release("a")
    status = status_of(actions)
    assert status["succeeded"] == 1, "b has lost its finalizer and is counted"
    assert status["uncountedTerminatedPods"]["succeeded"] == ["uid-a", "uid-c"]


def test_a_failed_pod_is_replaced_after_a_pause_that_doubles() -> None:
    body = job(completions=2)
    finished = {"containerStatuses": [{"state": {"terminated": {"finishedAt": stamp(-4)}}}]}
    made = decider(body, failed("a", status=finished))
    [note] = decide(made)
    assert status_of([note])["uncountedTerminatedPods"]["failed"] == ["uid-a"]
    assert made.decide(NOW).wake_at == NOW + 6
    body = changed(body, note)
    tell(made, seen(JOBS, body))
    assert decide(made) == (release("a"),)
    tell(made, seen(PODS, failed("a", tracked=False)))
    [count] = decide(made)
    assert status_of([count])["failed"] == 1
    body = changed(body, count)
    tell(made, seen(JOBS, body))
    assert decide(made) == ()
    assert short(decide(made, NOW + 6)) == [("create", "pods", "work-")]
    again = {"containerStatuses": [{"state": {"terminated": {"finishedAt": stamp(10)}}}]}
    tell(made, seen(PODS, failed("b", status=again)))
    decide(made, NOW + 10)
    assert made.decide(NOW + 10).wake_at == NOW + 30


def test_a_success_forgets_former_failures() -> None:
    early = {"containerStatuses": [{"state": {"terminated": {"finishedAt": stamp(-20)}}}]}
    late = {"containerStatuses": [{"state": {"terminated": {"finishedAt": stamp(-1)}}}]}
    made = decider(job(completions=3), failed("a", status=early), done("b", status=late))
    assert short(decide(made)) == [("create", "pods", "work-")]


def test_pods_that_are_too_many_do_not_count_as_failed() -> None:
    """They lose their finalizer before anyone could count them."""
    body = job(STARTED | {"active": 2, "ready": 1}, parallelism=1, completions=5)
    made = decider(body, worker("a"), worker("b", ready=False))
    actions = decide(made)
    assert actions[0] == release("b")
    assert short(actions[1:]) == [("delete", "pods", "b"), ("patch", "jobs", "work", "status")]


def test_suspending_stops_the_pods_and_the_clock() -> None:
    body = job(STARTED | {"active": 1, "ready": 1}, suspend=True)
    made = decider(body, worker("a"))
    actions = decide(made)
    assert actions[0] == release("a")
    assert short(actions[1:]) == [("delete", "pods", "a"), ("patch", "jobs", "work", "status")]
    patch = actions[-1]
    assert isinstance(patch, PatchObject)
    assert patch.event == event("Normal", "Suspended", "Job suspended")
    suspended = condition("Suspended", "True", "JobSuspended", "Job suspended")
    assert status_of(actions)["conditions"] == [suspended]
    assert status_of(actions)["startTime"] is None
    resumed = changed(body, patch)
    resumed = {**resumed, "spec": {**resumed["spec"], "suspend": False}}
    tell(made, seen(JOBS, resumed), gone(PODS, worker("a")))
    assert short(decide(made)) == [("create", "pods", "work-")]
    tell(made, seen(PODS, worker("b")))
    [report] = decide(made, NOW + 5)
    status = status_of([report])
    assert status["conditions"] == [condition("Suspended", "False", "JobResumed", "Job resumed", 5)]
    assert status["startTime"] == stamp(5)


def test_only_replacing_failed_pods_waits_for_their_end() -> None:
    body = job(STARTED | {"terminating": 1}, podReplacementPolicy="Failed", completions=2)
    leaving = worker("a", deletionTimestamp=stamp(30))
    assert decide(decider(body, leaving)) == ()
    assert short(decide(decider(job(completions=2), leaving)))[0] != ("create", "pods", "work-"), "it backs off"


def test_a_refused_pod_is_told_and_tried_again_later() -> None:
    made = decider(job({}))
    [create] = decide(made)
    tell(made, [Failed(create, 403, "Forbidden", "exceeded quota")])
    assert short(decide(made)) == [
        ("event", "FailedCreate", "Error creating: exceeded quota"),
        ("patch", "jobs", "work", "status"),
    ]
    assert short(decide(made, NOW + 1)) == [("create", "pods", "work-")]


def test_orphans_are_adopted_with_the_finalizer() -> None:
    made = decider(job(), pod("a", labels=LABELS))
    assert short(decide(made)) == [("look up", "jobs", "work")]
    [adopt] = decide(made)
    assert isinstance(adopt, PatchObject)
    assert adopt.patch["metadata"] == {
        "uid": "uid-a",
        "ownerReferences": [reference(*OWNER)],
        "finalizers": [FINALIZER],
    }


def test_a_status_that_makes_no_sense_is_written_over() -> None:
    odd = STARTED | {"conditions": [{}, {"type": "Suspended"}, {"type": "FailureTarget", "status": "True"}]}
    status = status_of(decide(decider(job(odd))))
    assert [one.get("type") for one in status["conditions"]] == [None, "Suspended", "FailureTarget", "Failed"]
