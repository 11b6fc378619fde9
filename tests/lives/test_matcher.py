"""Whoever holds flexlet against the recordings must be right about what differs."""

from typing import Any

import pytest
from tests.lives import recording
from tests.lives.matcher import Matcher, compare_cgroup, compare_events, compare_status
from tests.lives.placeholders import concrete, filled

from flexlet.core.actions import RecordEvent

Json = dict[str, Any]

TIME = "2025-01-01T00:00:12Z"
CREATED = 1735689600.0


def running(container_id: str, name: str = "c") -> Json:
    return {"name": name, "containerID": f"containerd://{container_id}"}


@pytest.mark.parametrize("name", recording.names())
def test_a_recording_fits_itself(name: str) -> None:
    """With any values for its placeholders, as long as they are the same throughout."""
    life, fill = recording.load(name), concrete(CREATED)
    matcher = Matcher(CREATED)
    for entry in life.watch:
        assert matcher.status(entry.status, filled(entry.status, fill)) == []
    assert matcher.events(life.events, filled(list(life.events), fill)) == []
    for snapshot in life.cgroup.values():
        assert matcher.cgroup(snapshot, snapshot) == []


def test_a_placeholder_means_one_value() -> None:
    matcher = Matcher()
    assert matcher.status({"podIP": "<podIP>"}, {"podIP": "10.0.0.1"}) == []
    assert matcher.status({"podIP": "<podIP>"}, {"podIP": "10.0.0.2"}) == ["podIP: '10.0.0.2', was '<podIP>'"]
    assert matcher.status({"podIP": "<podIP:q>"}, {"podIP": "10.0.0.2"}) == []


def test_no_two_runs_have_one_id() -> None:
    recorded = {"containerStatuses": [running("<id:c#1>")]}
    matcher = Matcher()
    assert matcher.status(recorded, {"containerStatuses": [running("abc")]}) == []
    again = {"containerStatuses": [running("<id:c#2>")]}
    assert len(matcher.status(again, {"containerStatuses": [running("abc")]})) == 1
    assert matcher.status(again, {"containerStatuses": [running("def")]}) == []


def test_what_does_not_fit_binds_nothing() -> None:
    matcher = Matcher()
    assert len(matcher.status({"a": "<uid>", "b": "x"}, {"a": "1", "b": "y"})) == 1
    assert matcher.status({"a": "<uid>"}, {"a": "2"}) == []


def test_placeholders_stand_inside_texts() -> None:
    text = "back-off 10s restarting failed container=c pod=p_ns(<uid>)"
    assert compare_status({"m": text}, {"m": text.replace("<uid>", "1-2-3")}) == []
    assert len(compare_status({"m": text}, {"m": text.replace("10s", "20s")})) == 1


def test_times_are_times_and_exact_if_the_creation_is_known() -> None:
    recorded = {"startTime": "<t+12s>"}
    assert compare_status(recorded, {"startTime": "1999-09-09T09:09:09Z"}) == []
    assert len(compare_status(recorded, {"startTime": "soon"})) == 1
    assert compare_status(recorded, {"startTime": TIME}, CREATED) == []
    assert len(compare_status(recorded, {"startTime": "1999-09-09T09:09:09Z"}, CREATED)) == 1


def test_null_is_absent_and_nothing_else_is() -> None:
    assert compare_status({"lastProbeTime": None}, {}) == []
    assert compare_status({"lastState": {}}, {}) == ["lastState: None, was {}"]


def test_conditions_are_compared_by_type_and_in_order() -> None:
    a, b = {"type": "A", "status": "True"}, {"type": "B", "status": "True"}
    assert compare_status({"conditions": [a, b]}, {"conditions": [b, a]}) == [
        "conditions: ['B', 'A'], was ['A', 'B']"
    ]
    assert compare_status({"conditions": [a]}, {"conditions": [{**a, "status": "False"}]}) == [
        "conditions[A].status: 'False', was 'True'"
    ]


def test_digests_of_images_may_differ() -> None:
    recorded = {"containerStatuses": [{"name": "c", "imageID": "sha256:1"}]}
    assert compare_status(recorded, {"containerStatuses": [{"name": "c", "imageID": "sha256:2"}]}) == []
    assert len(compare_status(recorded, {"containerStatuses": [{"name": "c", "imageID": ""}]})) == 1


def resources(asked: Json, said: Json, phase: str = "Running") -> tuple[Json, Json]:
    """A status as we would write it, and one that says something else of the pod's resources."""
    ours = {
        "phase": phase,
        "resources": {"requests": asked},
        "allocatedResources": asked,
        "containerStatuses": [{"name": "c", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}],
    }
    return {**ours, "resources": {"requests": said}}, ours


@pytest.mark.parametrize(
    ("asked", "said", "fits"),
    [
        ({"cpu": "100m"}, {"cpu": "79m"}, True),
        ({"cpu": "100m"}, {"cpu": "80m"}, False),
        ({"cpu": "10m", "memory": "1Gi"}, {"memory": "1Gi"}, True),
        ({"cpu": "1", "memory": "96Mi"}, {"cpu": "1", "memory": "64Mi"}, True),
    ],
)
def test_a_pods_resources_may_say_what_was_asked(asked: Json, said: Json, fits: bool) -> None:
    """The recorded kubelet says how the kernel rounded it, and freezes the memory request."""
    assert (compare_status(*resources(asked, said)) == []) is fits


def test_statuses_are_told_in_order_with_others_between() -> None:
    recorded: list[Json] = [{"phase": "Pending"}, {"phase": "Running"}, {"phase": "Failed"}]
    told: list[Json] = [
        {"phase": "Pending"},
        {"phase": "Pending", "x": 1},
        {"phase": "Running"},
        {"phase": "Failed"},
    ]
    assert Matcher().walk(recorded, told) == []
    assert Matcher().walk(recorded, told[:3]) == ["status 2: nothing more was told"]
    assert Matcher().walk(recorded, told[2:]) == [
        "status 0: phase: 'Running', was 'Pending'",
    ]


def event(reason: str, message: str, path: str = "spec.containers{c}") -> RecordEvent:
    about = {"kind": "Pod", "name": "p", "fieldPath": path}
    return RecordEvent(about=about, type="Normal", reason=reason, message=message, component="kubelet")


def test_events_are_a_set_without_those_of_others() -> None:
    recorded = [
        {"type": "Normal", "reason": "Scheduled", "message": "m", "component": "default-scheduler"},
        {"type": "Normal", "reason": "Started", "message": "Container started", "fieldPath": "spec.containers{c}"},
        {"type": "Normal", "reason": "BackOff", "message": "in pod p(<uid>)", "fieldPath": "spec.containers{c}"},
    ]
    told = [event("BackOff", "in pod p(7)"), *([event("Started", "Container started")] * 3)]
    assert compare_events(recorded, told) == []
    assert compare_events(recorded, told[:1]) == [
        "missing event: Normal Started spec.containers{c} Container started"
    ]
    assert compare_events(recorded, [*told, event("Killing", "x", "")]) == ["unexpected event: p Normal Killing x"]


def test_cgroups_are_compared_file_by_file() -> None:
    recorded = {".": {"cpu.max": "max 100000", "odd": "1"}, "c": {"cpu.weight": "4"}}
    assert compare_cgroup(recorded, {".": {"cpu.max": "max 100000"}, "c": {"cpu.weight": "4"}}) == []
    assert compare_cgroup(recorded, {".": {"cpu.max": "1000 100000"}, "d": {}}) == [
        "cgroup .: cpu.max is '1000 100000', was 'max 100000'",
        "cgroup c: missing",
        "cgroup d: unexpected",
    ]


def test_a_weight_may_stay_where_the_recorded_kubelet_let_it_drop() -> None:
    assert compare_cgroup({"c": {"cpu.weight": "1"}}, {"c": {"cpu.weight": "8"}}) == []
    assert len(compare_cgroup({".": {"cpu.weight": "1"}}, {".": {"cpu.weight": "8"}})) == 1
