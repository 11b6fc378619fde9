"""Jobs whose pods have numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.controllers.jobs import STARTED, decider, done, job, release, status_of, worker
from tests.core.controllers.world import (
    changed,
    decide,
    seen,
    tell,
)

from flexlet.core.actions import CreateObject, DeleteObject
from flexlet.core.controllers.job import indexes
from flexlet.core.refs import JOBS


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
