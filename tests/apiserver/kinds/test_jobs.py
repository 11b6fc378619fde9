"""Jobs: selectors made by the server, what may change while a job is suspended, how a job may end."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.apiserver.kinds import recordings
from tests.apiserver.kinds.recordings import TIME, Record

from flexlet.apiserver.kinds.job import indexes
from flexlet.errors import InputError

KIND = recordings.kind_of("jobs", "batch")
LATER = "2026-01-02T03:05:05Z"


def job(spec: Record | None = None, status: Record | None = None, **pod: Any) -> Record:
    """A job as it is stored, changed."""
    obj: Record = {
        "metadata": {"name": "j", "namespace": "ns", "uid": "u", "resourceVersion": "1"},
        "spec": {
            "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}], **pod}},
            **(spec or {}),
        },
    }
    KIND.strategy.default(obj)
    KIND.strategy.prepare_create(obj)
    obj["status"] = status or {}
    return obj


def held(*kinds: str) -> list[Record]:
    return [{"type": kind, "status": "True"} for kind in kinds]


@pytest.mark.parametrize("case", recordings.scenarios("jobs"))
def test_rules_of_new_jobs(case: Record) -> None:
    """The words of kube-apiserver."""
    obj = job(case["spec"], **case.get("pod", {}))
    assert [str(error) for error in KIND.strategy.validate(obj)] == case["errors"]


def test_a_manual_selector_is_left_alone() -> None:
    """Then the user answers for it."""
    spec = {
        "manualSelector": True,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
        },
    }
    obj = job(spec)
    assert obj["spec"]["selector"] == {"matchLabels": {"a": "b"}}
    assert obj["metadata"]["labels"] == {"a": "b"}
    assert KIND.strategy.validate(obj) == []


def test_a_copied_selector_is_refused() -> None:
    """A manifest read from the server belongs to the old job."""
    spec = {"selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "other"}}}
    texts = [str(error) for error in KIND.strategy.validate(job(spec))]
    selector = '{"matchLabels":{"batch.kubernetes.io/controller-uid":"other"}}'
    assert f"spec.selector: Invalid value: {selector}: `selector` not auto-generated" in texts


@pytest.mark.parametrize(
    ("before", "after", "fields"),
    [
        ({}, {"parallelism": 3, "completions": 1, "suspend": True, "backoffLimit": 1}, []),
        ({}, {"completions": 2}, ["spec.completions"]),
        (
            {"completionMode": "Indexed", "completions": 2},
            {"completionMode": "Indexed", "completions": 3},
            ["spec.completions"],
        ),
        (
            {"completionMode": "Indexed", "completions": 2},
            {"completionMode": "Indexed", "completions": 3, "parallelism": 3},
            [],
        ),
        ({}, {"completionMode": "Indexed", "completions": 1}, ["spec.completionMode"]),
        ({}, {"managedBy": "example.com/x"}, ["spec.managedBy"]),
    ],
)
def test_what_may_change(before: Record, after: Record, fields: list[str]) -> None:
    """Little of a job's spec."""
    errors = KIND.strategy.validate_update(job(after), job(before))
    assert [error.field for error in errors] == fields


IDLE: Record = {"suspend": True}
RESOURCES = [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}]


@pytest.mark.parametrize(
    ("spec", "status", "pod", "fields"),
    [
        (IDLE, {}, {"nodeSelector": {"a": "b"}}, []),
        (IDLE, {}, {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}}, []),
        (IDLE, {}, {"containers": RESOURCES}, []),
        (IDLE, {}, {"containers": [{"name": "c", "image": "other"}]}, ["spec.template.spec"]),
        (IDLE, {"startTime": TIME}, {"nodeSelector": {"a": "b"}}, ["spec.template"]),
        (IDLE, {"startTime": TIME, "conditions": held("Suspended")}, {"nodeSelector": {"a": "b"}}, []),
        (IDLE, {"active": 1}, {"containers": RESOURCES}, ["spec.template"]),
        ({}, {}, {"containers": RESOURCES}, ["spec.template"]),
    ],
)
def test_the_template_of_an_idle_job(spec: Record, status: Record, pod: Record, fields: list[str]) -> None:
    """Where pods go and what they get may change while there are none."""
    errors = KIND.strategy.validate_update(job(spec, **pod), job(spec, status))
    assert [error.field for error in errors] == fields


COMPLETE = {"conditions": held("SuccessCriteriaMet", "Complete"), "startTime": TIME, "completionTime": LATER}


@pytest.mark.parametrize("case", recordings.scenarios("job_status"))
def test_how_a_status_may_change(case: Record) -> None:
    """A job ends once, announced, with nothing left over."""
    sub = KIND.subresource("status")
    assert sub is not None
    assert sub.update is not None
    errors = sub.update.validate_update(job(None, case["after"]), job(None, case["before"]))
    assert [str(error) for error in errors] == case["errors"]


@given(st.sets(st.integers(0, 99)))
def test_indexes_are_counted_as_they_are_written(found: set[int]) -> None:
    """A list of single indexes names as many as it has."""
    text = ",".join(map(str, sorted(found)))
    assert indexes.count(text, 100) == len(found)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1-3,5", 4),
        ("", 0),
        ("3,1", "non-increasing order, previous: 3, current: 1"),
        ("3-3", "non-increasing order, previous: 3, current: 3"),
        ("x", 'cannot convert string to integer for index: "x"'),
        ("10", 'too large index: "10"'),
    ],
)
def test_what_indexes_may_look_like(text: str, wanted: int | str) -> None:
    """Increasing intervals below the number of completions."""
    if isinstance(wanted, int):
        assert indexes.count(text, 10) == wanted
        return
    with pytest.raises(InputError) as fault:
        indexes.count(text, 10)
    assert fault.value.message == wanted


def test_overlapping_indexes() -> None:
    """The first index in both texts; unreadable parts are passed over."""
    assert indexes.overlap("0-2,x,5", "3,5-6", 10) == 5
    assert indexes.overlap("0-2", "3", 10) is None


@pytest.mark.parametrize(
    ("spec", "status", "meta", "wanted"),
    [
        ({}, {}, {}, ["Running", "0/1", ""]),
        ({"parallelism": 3}, {"succeeded": 1}, {}, ["Running", "1/1 of 3", ""]),
        ({}, {"startTime": TIME}, {}, ["Running", "0/1", "90s"]),
        ({}, COMPLETE, {}, ["Complete", "0/1", "60s"]),
        ({}, {"conditions": held("FailureTarget")}, {}, ["FailureTarget", "0/1", ""]),
        ({}, {"conditions": held("Suspended")}, {"deletionTimestamp": TIME}, ["Terminating", "0/1", ""]),
        ({}, {"conditions": held("Failed")}, {"deletionTimestamp": TIME}, ["Failed", "0/1", ""]),
    ],
)
def test_rows_of_jobs(spec: Record, status: Record, meta: Record, wanted: list[str]) -> None:
    """State, progress and how long it took or takes."""
    obj = job(spec, status)
    obj["metadata"] |= meta
    assert KIND.strategy.cells(obj, recordings.NOW + 90)[1:4] == wanted
