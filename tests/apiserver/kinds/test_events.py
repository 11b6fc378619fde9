"""Events: two forms of one thing, and what each group demands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.apiserver.kinds import recordings
from tests.apiserver.kinds.recordings import MICROTIME, TIME, Record

from flexlet.apiserver.kinds.eventforms import from_core, to_core

CORE = recordings.kind_of("events").strategy
MODERN = recordings.kind_of("events", "events.k8s.io").strategy

words = st.text("abc", min_size=1, max_size=3)
references = st.fixed_dictionaries({}, optional={"kind": words, "namespace": words, "name": words, "uid": words})
core_events = st.fixed_dictionaries(
    {"metadata": st.fixed_dictionaries({"name": words, "namespace": words}), "involvedObject": references},
    optional={
        "reason": words,
        "message": words,
        "source": st.fixed_dictionaries({}, optional={"component": words, "host": words}),
        "firstTimestamp": st.just(TIME),
        "lastTimestamp": st.just(TIME),
        "count": st.integers(1, 9),
        "type": words,
        "eventTime": st.just(MICROTIME),
        "series": st.fixed_dictionaries({"count": st.integers(1, 9), "lastObservedTime": st.just(MICROTIME)}),
        "action": words,
        "related": references,
        "reportingComponent": words,
        "reportingInstance": words,
    },
)


@given(core_events)
def test_forms_turn_into_each_other(event: Record) -> None:
    """Nothing is lost between the groups."""
    CORE.default(event)
    assert to_core(from_core(event)) == event


def test_the_recorded_event_in_both_groups() -> None:
    """What was created in one group is read in the other as kube-apiserver shows it."""
    made = recordings.line("crud", 80)["response_body"]
    made["metadata"].pop("managedFields")
    read = to_core(made)
    assert read == {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": made["metadata"],
        "involvedObject": {"kind": "Pod", "namespace": "rec-crud", "name": "p1"},
        "reason": "R",
        "message": "n",
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "type": "Normal",
        "eventTime": MICROTIME,
        "action": "Act",
        "reportingComponent": "flexlet.io/agent",
        "reportingInstance": "i",
    }
    assert from_core(read) == made


def modern(**changes: object) -> Record:
    """A complete event of events.k8s.io, changed."""
    event: Record = {
        "metadata": {"name": "e", "namespace": "ns"},
        "regarding": {"kind": "Pod", "namespace": "ns", "name": "p"},
        "eventTime": MICROTIME,
        "type": "Normal",
        "action": "A",
        "reason": "R",
        "reportingController": "example.com/c",
        "reportingInstance": "i",
    }
    event |= changes
    MODERN.default(event)
    return event


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, []),
        ({"deprecatedCount": 3}, ['count: Invalid value: "": needs to be unset']),
        ({"deprecatedSource": {"host": "h"}}, ['source: Invalid value: "": needs to be unset']),
        (
            {"series": {"count": 1}},
            ['series.count: Invalid value: "": should be at least 2', "series.lastObservedTime: Required value"],
        ),
        ({"reason": "x" * 129}, ['reason: Invalid value: "": can have at most 128 characters']),
        ({"note": "x" * 1025}, ['message: Invalid value: "": can have at most 1024 characters']),
        (
            {"regarding": {"kind": "Node"}},
            ['involvedObject.namespace: Invalid value: "": does not match event.namespace'],
        ),
    ],
)
def test_what_events_k8s_io_demands(changes: Record, wanted: list[str]) -> None:
    """A modern reporter says when, who and what, and leaves the old fields alone."""
    assert [str(error) for error in MODERN.validate(modern(**changes))] == wanted


def test_only_the_series_of_a_modern_event_changes() -> None:
    """Everything else was said once and for all."""
    old = modern()
    old["metadata"] |= {"resourceVersion": "1", "uid": "u"}
    more = modern(series={"count": 2, "lastObservedTime": MICROTIME})
    other = modern(note="other", reportingInstance="j")
    for event in (more, other):
        event["metadata"] |= {"resourceVersion": "1", "uid": "u"}
    assert MODERN.validate_update(more, old) == []
    assert [str(error) for error in MODERN.validate_update(other, old)] == [
        'message: Invalid value: "other": field is immutable',
        'reportingInstance: Invalid value: "j": field is immutable',
    ]


@pytest.mark.parametrize(
    ("namespace", "about", "time", "fits"),
    [
        ("default", "", None, True),
        ("ns", "", None, False),
        ("ns", "ns", None, True),
        ("ns", "other", None, False),
        ("kube-system", "", MICROTIME, True),
        ("ns", "", MICROTIME, False),
        ("ns", "other", MICROTIME, True),
    ],
)
def test_where_an_event_belongs(namespace: str, about: str, time: str | None, fits: bool) -> None:
    """Beside its object, or in a default place for objects without a namespace."""
    event: Record = {
        "metadata": {"name": "e", "namespace": namespace},
        "involvedObject": {"namespace": about},
        "eventTime": time,
        "reportingComponent": "c",
        "reportingInstance": "i",
        "action": "a",
        "reason": "r",
    }
    CORE.default(event)
    wanted = (
        [] if fits else [f'involvedObject.namespace: Invalid value: "{about}": does not match event.namespace']
    )
    assert [str(error) for error in CORE.validate(event)] == wanted


def test_selectable_fields_of_both_groups() -> None:
    """The same facts under each group's names."""
    event: Record = {
        "metadata": {"name": "e", "namespace": "ns"},
        "involvedObject": {"kind": "Pod", "name": "p", "uid": "u"},
        "reason": "R",
        "type": "Normal",
        "reportingComponent": "c",
    }
    CORE.default(event)
    about = {"kind": "Pod", "name": "p", "uid": "u", "namespace": "", "apiVersion": "", "resourceVersion": ""}
    about["fieldPath"] = ""
    assert CORE.fields(event) == {
        **{f"involvedObject.{key}": value for key, value in about.items()},
        "reason": "R",
        "type": "Normal",
        "reportingComponent": "c",
        "source": "c",
    }
    assert MODERN.fields(from_core(event)) == {
        **{f"regarding.{key}": value for key, value in about.items()},
        "reason": "R",
        "type": "Normal",
        "reportingController": "c",
    }
