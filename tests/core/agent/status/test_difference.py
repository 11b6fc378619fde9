"""Sending a status: what is news, and a patch that leads to exactly the status that was rendered."""

from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.agent.builders import container, pod
from tests.lives import recording
from tests.lives.placeholders import concrete, filled

from flexlet.api import decode, schema
from flexlet.api.nodepod import NodePod
from flexlet.api.patch import strategic
from flexlet.core.agent.status import patch, same

Json = dict[str, Any]

POD_TYPE = schema.named("core.v1.Pod")
POD = pod(container("c"))
FOREIGN = {"type": "x/ready", "status": "True"}
READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2025-01-01T00:00:00Z"}
PENDING = {"type": "PodResizePending", "status": "True", "lastProbeTime": "2025-01-01T00:00:00Z"}


@cache
def recorded() -> list[Json]:
    """Every status that a kubelet wrote in a recorded life, without what others wrote into it."""
    found = [_own(entry.status) for name in recording.names() for entry in recording.load(name).watch]
    unique = {decode.to_json(each): each for each in found if "startTime" in each}
    return [filled(_spoken(each), concrete(1e9)) for each in unique.values()]


def _own(status: Json) -> Json:
    others = ("x/ready", "DisruptionTarget")
    return {**status, "conditions": [each for each in status.get("conditions", ()) if each["type"] not in others]}


def _spoken(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _spoken(item) for key, item in value.items() if item is not None}
    return [_spoken(each) for each in value] if isinstance(value, list) else value


STATUSES = st.deferred(lambda: st.sampled_from(recorded()))


@given(STATUSES, STATUSES)
def test_a_patch_leads_to_the_new_status(before: Json, after: Json) -> None:
    """Whatever the API had: fields that are gone are gone, conditions are in order, lists are replaced."""
    body = patch(POD, after, before)
    assert body["metadata"] == {"uid": POD.metadata.uid}
    assert _patched(before, body) == _trimmed(after)


@given(STATUSES, STATUSES)
def test_a_patch_of_the_apis_copy_leads_to_the_new_status(before: Json, after: Json) -> None:
    """A restarted agent knows only the part of the status that it reads; the patch covers the rest."""
    copy = decode.from_value({"metadata": {"uid": "u"}, "status": before}, NodePod)
    assert _patched(before, patch(copy, after)) == _trimmed(after)


@given(STATUSES)
def test_no_news_is_an_empty_patch(status: Json) -> None:
    assert patch(POD, status, status) == {"metadata": {"uid": POD.metadata.uid}, "status": {}}


def test_conditions_of_others_are_neither_written_nor_removed() -> None:
    body = patch(POD, {"conditions": [READY]}, {"conditions": [FOREIGN]})
    assert body["status"] == {"$setElementOrder/conditions": [{"type": "Ready"}], "conditions": [READY]}
    assert _patched({"conditions": [FOREIGN]}, body) == {"conditions": [READY, FOREIGN]}


def test_a_disruption_is_written_and_never_removed() -> None:
    """Others may have noted it; it stays true."""
    disrupted = {"type": "DisruptionTarget", "status": "True"}
    assert patch(POD, {"conditions": [disrupted]}, {})["status"]["conditions"] == [disrupted]
    assert patch(POD, {"conditions": [READY]}, {"conditions": [disrupted, READY]})["status"] == {}


def test_fields_of_others_are_left_alone() -> None:
    others = {"nominatedNodeName": "n", "resourceClaimStatuses": [{"name": "x"}]}
    assert patch(POD, {"phase": "Running"}, {"phase": "Running"} | others)["status"] == {}


def test_only_what_changed_of_a_condition_is_sent() -> None:
    waits = {**READY, "status": "False", "reason": "ContainersNotReady"}
    body = patch(POD, {"conditions": [READY]}, {"conditions": [waits]})
    assert body["status"]["conditions"] == [{"type": "Ready", "status": "True", "reason": None}]


def test_a_condition_that_vanished_is_deleted() -> None:
    body = patch(POD, {"conditions": [READY]}, {"conditions": [PENDING, READY]})
    assert body["status"]["conditions"] == [{"$patch": "delete", "type": "PodResizePending"}]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ({"phase": "Running"}, {"phase": "Running"}, True),
        ({"phase": "Running"}, {"phase": "Failed"}, False),
        ({"phase": "Running"}, {"phase": "Running", "reason": "x"}, False),
        (None, {"phase": "Running"}, False),
        (None, None, True),
        ({"conditions": [PENDING]}, {"conditions": [{**PENDING, "lastProbeTime": "later"}]}, True),
        ({"conditions": [PENDING]}, {"conditions": [{**PENDING, "reason": "Deferred"}]}, False),
        ({"conditions": [PENDING]}, {"conditions": []}, False),
        ({"conditions": [READY]}, {"conditions": [{**READY, "lastTransitionTime": "later"}]}, False),
        ({"conditions": [READY]}, {"conditions": [FOREIGN, READY]}, True),
    ],
)
def test_looking_at_a_resize_again_is_no_news(a: Json | None, b: Json | None, expected: bool) -> None:
    """Nor is what others say of the pod; everything else is."""
    assert same(a, b) is expected


def _patched(before: Json, body: Json) -> Json:
    status: Json = strategic.apply(POD_TYPE, {"status": before}, {"status": body["status"]}).value["status"]
    return _trimmed(status)


def _trimmed(status: Json) -> Json:
    return {key: value for key, value in status.items() if value not in ([], {}) or key == "resources"}
