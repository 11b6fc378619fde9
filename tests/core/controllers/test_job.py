"""Jobs: run, count, end."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
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

from flexlet.core.actions import ApiAction, CreateObject, DeleteObject, PatchObject, RecordEvent
from flexlet.core.controllers.job import indexes
from flexlet.core.controllers.job.decider import JobDecider
from flexlet.core.observations import Failed
from flexlet.core.refs import JOBS, PODS

OWNER = ("Job", "work")
FINALIZER = "batch.kubernetes.io/job-tracking"
ABOUT = {"kind": "Job", "apiVersion": "batch/v1", "namespace": "default", "name": "work", "uid": "uid-work"}
LABELS = {"batch.kubernetes.io/controller-uid": "uid-work"}
TEMPLATE = {
    "metadata": {"labels": LABELS},
    "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x:1"}]},
}
STARTED: Object = {"startTime": stamp(-100), "ready": 0, "terminating": 0, "uncountedTerminatedPods": {}}


def job(status: Object | None = None, **spec: Any) -> Object:
    parts = {key: spec.pop(key) for key in ("deletionTimestamp", "generation") if key in spec}
    body = {"parallelism": 1, "completions": 1, "backoffLimit": 6, "template": TEMPLATE} | spec
    body["selector"] = {"matchLabels": LABELS}
    return {"metadata": meta("work", **parts), "spec": body, "status": STARTED if status is None else status}


def worker(name: str, *, tracked: bool = True, **parts: Any) -> Object:
    if tracked:
        parts["finalizers"] = [FINALIZER]
    parts.setdefault("labels", LABELS)
    return pod(name, owner=OWNER, **parts)


def done(name: str, **parts: Any) -> Object:
    return worker(name, phase="Succeeded", ready=False, **parts)


def failed(name: str, **parts: Any) -> Object:
    return worker(name, phase="Failed", ready=False, **parts)


def decider(body: Object, *pods: Object) -> JobDecider:
    made = JobDecider()
    tell(made, seen(JOBS, body), seen(PODS, *pods))
    return made


def condition(kind: str, status: str, reason: str, message: str, at: float = 0.0) -> Object:
    return {
        "type": kind,
        "status": status,
        "lastProbeTime": stamp(at),
        "lastTransitionTime": stamp(at),
        "reason": reason,
        "message": message,
    }


REACHED = ("CompletionsReached", "Reached expected number of succeeded pods")
LIMIT = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
LATE = ("DeadlineExceeded", "Job was active longer than specified deadline")


def event(kind: str, reason: str, message: str) -> RecordEvent:
    return RecordEvent(about=ABOUT, type=kind, reason=reason, message=message, component="job-controller")


def status_of(actions: Iterable[ApiAction]) -> Object:
    """The status that is written."""
    [patch] = [one for one in actions if isinstance(one, PatchObject) and one.subresource == "status"]
    status: Object = patch.patch["status"]
    return status


def release(name: str) -> PatchObject:
    return PatchObject(
        ref=PODS,
        namespace="default",
        name=name,
        patch={"metadata": {"uid": f"uid-{name}", "$deleteFromPrimitiveList/finalizers": [FINALIZER]}},
        kind="strategic",
        on_behalf_of="uid-work",
    )


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


def test_an_indexed_job_gives_each_pod_a_number() -> None:
    spec = {"completionMode": "Indexed", "completions": 4, "parallelism": 2}
    index = "batch.kubernetes.io/job-completion-index"
    held = worker("a", annotations={index: "1"})
    actions = decide(decider(job(STARTED | {"completedIndexes": "0", "succeeded": 1}, **spec), held))
    [create] = actions
    assert isinstance(create, CreateObject)
    metadata, pod_spec = create.body["metadata"], create.body["spec"]
    assert metadata["generateName"] == "work-2-"
    assert (metadata["annotations"][index], metadata["labels"][index]) == ("2", "2")
    assert pod_spec["hostname"] == "work-2"
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{index}']"}}
    assert pod_spec["containers"][0]["env"] == [{"name": "JOB_COMPLETION_INDEX", "valueFrom": source}]


def test_an_indexed_job_counts_indexes() -> None:
    """An index counts once, however many pods had it; pods without one of the Job's own are removed."""
    index = "batch.kubernetes.io/job-completion-index"
    spec = {"completionMode": "Indexed", "completions": 3, "parallelism": 3}
    pods = (
        done("a", annotations={index: "0"}),
        done("b", annotations={index: "0"}),
        worker("c", annotations={index: "1"}),
        worker("d", annotations={index: "1"}, ready=False),
        worker("e", annotations={index: "7"}),
    )
    body = job(STARTED, **spec)
    made = decider(body, *pods)
    actions = decide(made)
    assert sorted(one.name for one in actions if isinstance(one, DeleteObject)) == ["d", "e"]
    status = status_of(actions)
    assert (status["completedIndexes"], status["succeeded"]) == ("0", 1)
    tell(made, seen(JOBS, changed(body, actions[-1])))
    assert release("a") in decide(made)


def test_only_replacing_failed_pods_waits_for_their_end() -> None:
    body = job(STARTED | {"terminating": 1}, podReplacementPolicy="Failed", completions=2)
    leaving = worker("a", deletionTimestamp=stamp(30))
    assert decide(decider(body, leaving)) == ()
    assert short(decide(decider(job(completions=2), leaving)))[0] != ("create", "pods", "work-"), "it backs off"


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


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (set(), ""),
        ({3}, "3"),
        ({1, 2}, "1,2"),
        ({0, 1, 2, 5}, "0-2,5"),
        ({0, 2, 4}, "0,2,4"),
        ({7, 8, 9, 11, 12}, "7-9,11,12"),
    ],
)
def test_indexes_as_text(found: set[int], text: str) -> None:
    assert (indexes.format_indexes(found), indexes.parse(text, 100)) == (text, found)


@given(st.sets(st.integers(0, 60)))
def test_the_text_of_indexes_reads_back(found: set[int]) -> None:
    assert indexes.parse(indexes.format_indexes(found), 61) == found


def test_indexes_beyond_the_completions_and_broken_text_are_ignored() -> None:
    assert indexes.parse("1,x,3-9,-", 5) == {1, 3, 4}
    assert indexes.first_missing({0, 2}, 2, 4) == [1, 3]
    assert indexes.first_missing({0, 1}, 2, 3) == [2]


def test_a_status_that_makes_no_sense_is_written_over() -> None:
    odd = STARTED | {"conditions": [{}, {"type": "Suspended"}, {"type": "FailureTarget", "status": "True"}]}
    status = status_of(decide(decider(job(odd))))
    assert [one.get("type") for one in status["conditions"]] == [None, "Suspended", "FailureTarget", "Failed"]
