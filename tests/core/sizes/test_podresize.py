from typing import Any

import pytest

from flexlet.api import decode
from flexlet.api.pod import Pod
from flexlet.core.sizes.podresize import chosen, outcome, patch, patched, read, resources
from flexlet.core.sizes.wish import Outcome
from flexlet.errors import ConfigError, InputError

Json = dict[str, Any]
SAME = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
APART = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}
ONLY_LIMIT = {"limits": {"cpu": "2"}}
ONLY_REQUEST = {"requests": {"cpu": "1"}}


def pod(*containers: Json, level: Json | None = None, **status: Any) -> Pod:
    listed = [{"name": f"c{number}", "resources": each} for number, each in enumerate(containers)]
    spec: Json = {"containers": listed, "nodeName": "n1"} | ({"resources": level} if level else {})
    value = {"metadata": {"name": "web", "generation": 2}, "spec": spec, "status": status}
    return decode.from_value(value, Pod)


@pytest.mark.parametrize(
    ("now", "wish", "sent"),
    [
        (SAME, "2", {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}),
        (APART, "1500m", {"requests": {"cpu": "1500m"}}),
        (APART, "1500m/3", {"requests": {"cpu": "1500m"}, "limits": {"cpu": "3"}}),
        (APART, "/3", {"limits": {"cpu": "3"}}),
        (ONLY_LIMIT, "3", {"limits": {"cpu": "3"}}),
        (ONLY_REQUEST, "3", {"requests": {"cpu": "3"}}),
        ({}, "3", {"requests": {"cpu": "3"}}),
    ],
)
def test_one_value_is_what_the_container_has(now: Json, wish: str, sent: Json) -> None:
    """The QoS class stays for life: what is the same stays the same."""
    found = pod(now)
    body = patch(found, "c0", {"cpu": read(wish)})
    assert body == {"spec": {"containers": [{"name": "c0", "resources": sent}]}}
    after = decode.to_value(resources(patched(found, "c0", body), "c0"))
    assert after == {key: {**now.get(key, {}), **sent.get(key, {})} for key in {*now, *sent}}


def test_a_pod_as_a_whole() -> None:
    found = pod({}, {}, level=APART)
    body = patch(found, "", {"cpu": read("2"), "memory": read("1Gi")})
    assert body == {"spec": {"resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}}
    assert decode.to_value(resources(patched(found, "", body), ""))["requests"] == {"cpu": "2", "memory": "1Gi"}


def test_who_is_meant() -> None:
    """The pod where it has resources of its own or several containers; else its only container."""
    assert chosen(pod(SAME), "") == "c0"
    assert chosen(pod(SAME, level=APART), "") == ""
    assert chosen(pod(SAME, level=APART), "c0") == "c0"
    assert chosen(pod(SAME, SAME), "") == ""
    with pytest.raises(ConfigError, match="pod web has no container x: it has c0, c1"):
        chosen(pod(SAME, SAME), "x")


@pytest.mark.parametrize("text", ["", "/", "much", "1/", "1/2/3"])
def test_what_is_no_amount(text: str) -> None:
    with pytest.raises(InputError):
        read(text)


def held(resources: Json, **more: Any) -> Json:
    return {"containerStatuses": [{"name": "c0", "resources": resources}], "phase": "Running"} | more


def condition(kind: str, reason: str, generation: int = 2) -> Json:
    told = {"type": kind, "status": "True", "reason": reason, "message": "why"}
    return {"conditions": [told | {"observedGeneration": generation}]}


NOT_YET = Outcome("Waiting", "Pending", "the node has not taken it up yet")


@pytest.mark.parametrize(
    ("status", "wanted"),
    [
        (held(SAME), Outcome("Done", "InForce")),
        (held(APART), NOT_YET),
        ({"phase": "Running"}, NOT_YET),
        (held(SAME, **condition("PodResizePending", "Deferred")), Outcome("Refused", "Deferred", "why")),
        (held(SAME, **condition("PodResizePending", "Infeasible")), Outcome("Refused", "Infeasible", "why")),
        (held(APART, **condition("PodResizePending", "Deferred", 1)), NOT_YET),
        (held(SAME, **condition("PodResizeInProgress", "")), Outcome("Waiting", "InProgress", "why")),
        (held(SAME, **condition("PodResizeInProgress", "Error")), Outcome("Waiting", "Error", "why")),
        (held(SAME) | {"phase": "Failed", "reason": "Evicted"}, Outcome("Failed", "Evicted", "the pod has ended")),
    ],
)
def test_what_became_of_it(status: Json, wanted: Outcome) -> None:
    """What was said of an older generation does not count."""
    assert outcome(pod(SAME, **status), "c0") == wanted


def test_a_pod_level_resize_is_in_force_when_the_pod_says_so() -> None:
    assert outcome(pod(SAME, level=APART, phase="Running", resources=APART), "") == Outcome("Done", "InForce")
    assert outcome(pod(SAME, level=APART, phase="Running", resources=SAME), "") == NOT_YET


def test_a_pod_without_a_node_has_its_size_at_once() -> None:
    found = decode.from_value({"spec": {"containers": [{"name": "c0"}]}}, Pod)
    words = "the pod has no node yet; it will start with this size"
    assert outcome(found, "c0") == Outcome("Done", "Unscheduled", words)
