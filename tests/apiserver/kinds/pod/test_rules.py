"""Rules of pods that are best said in one line each, and properties that hold for all of them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.apiserver.kinds.pod.pods import TIME, Pod, changed, copied, created, kind, lines, pod, stored

from flexlet.apiserver.kinds.pod.deletion import deletion_grace
from flexlet.apiserver.kinds.pod.equality import same
from flexlet.apiserver.kinds.pod.images import is_latest
from flexlet.apiserver.kinds.pod.internalform import diff
from flexlet.apiserver.kinds.pod.selectable import selectable_fields

PODS = [case["pod"] for case in lines("vectors/api.jsonl") if case["create"]["status"] == 201]
some_pod = st.sampled_from(PODS)


@pytest.mark.parametrize(
    ("spec", "phase", "requested", "grace"),
    [
        ({"nodeName": "n", "terminationGracePeriodSeconds": 30}, "Running", None, 30),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 30}, "Running", 5, 5),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 30}, "Running", 0, 0),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 30}, "Running", -1, 1),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 30}, "Succeeded", 5, 0),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 30}, "Failed", None, 0),
        ({"terminationGracePeriodSeconds": 30}, "Pending", 5, 0),
        ({"nodeName": "n"}, "Running", None, 0),
    ],
)
def test_deletion_grace(spec: dict[str, Any], phase: str, requested: int | None, grace: int) -> None:
    """Asked for, else the pod's own; nothing to wait for without a node or after the end."""
    assert deletion_grace({"spec": spec, "status": {"phase": phase}}, requested) == grace


@pytest.mark.parametrize(
    ("image", "latest"),
    [
        *(("busybox", True), ("busybox:latest", True), ("busybox:1", False), ("reg.example.com:5000/a/b", True)),
        *((f"b@sha256:{'0' * 64}", False), (f"b:latest@sha256:{'0' * 64}", True), ("b@sha256:00", False)),
        *(("UPPER", False), ("Reg/x", True), ("", False), (" x", False), ("0" * 64, False)),
    ],
)
def test_latest(image: str, latest: bool) -> None:
    """No tag means latest; a digest without a tag, or a name that does not parse, does not."""
    assert is_latest(image) is latest


def test_selectable_fields() -> None:
    """Every field a client may select pods by, old names included."""
    obj = stored(pod({"nodeName": "n", "hostNetwork": True, "serviceAccountName": "a"}))
    obj["status"]["podIPs"] = [{"ip": "10.0.0.1"}]
    assert selectable_fields(obj) == {
        "spec.nodeName": "n",
        "spec.host": "n",
        "spec.restartPolicy": "Always",
        "spec.schedulerName": "default-scheduler",
        "spec.serviceAccountName": "a",
        "spec.hostNetwork": "true",
        "status.phase": "Pending",
        "status.podIP": "10.0.0.1",
        "status.podIPs": "",
        "status.nominatedNodeName": "",
    }


def test_gated_pod_starts_with_its_condition() -> None:
    """A pod with scheduling gates says why it is not scheduled, since its creation."""
    assert created(pod({"schedulingGates": [{"name": "example.com/wait"}]})).pod["status"] == {
        "phase": "Pending",
        "qosClass": "BestEffort",
        "conditions": [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": TIME,
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ],
    }


def test_label_keys_become_expressions() -> None:
    """Label keys select by the pod's own values, which are written into the selector once."""
    term = {
        "topologyKey": "zone",
        "labelSelector": {},
        "matchLabelKeys": ["v"],
        "mismatchLabelKeys": ["t", "none"],
    }
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    outcome = created(pod({"affinity": affinity}, labels={"v": "1", "t": "2"}))
    assert outcome.causes == []
    written = outcome.pod["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]
    assert written["labelSelector"]["matchExpressions"] == [
        {"key": "v", "operator": "In", "values": ["1"]},
        {"key": "t", "operator": "NotIn", "values": ["2"]},
    ]


@pytest.mark.parametrize(
    ("annotations", "os", "causes"),
    [
        ({"kubernetes.io/config.mirror": "x"}, "linux", "static pods cannot be resized"),
        ({}, "windows", "windows pods cannot be resized"),
    ],
)
def test_some_pods_are_never_resized(annotations: dict[str, str], os: str, causes: str) -> None:
    """Mirror and Windows pods are refused for that alone, whatever else is wrong."""
    old = stored(pod({"nodeName": "n", "os": {"name": os}}, annotations=annotations))
    body = copied(old)
    body["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "-1"}}
    assert changed("resize", body, old).causes == [["[]", "FieldValueForbidden", f"Forbidden: {causes}"]]


def test_resize_takes_sizes_only() -> None:
    """Images, labels and status in the body of a resize are ignored."""
    old = stored(pod({"containers": [{"name": "c", "image": "a:1", "resources": {"requests": {"cpu": "1"}}}]}))
    body = copied(old)
    body["metadata"]["labels"] = {"new": "label"}
    body["status"] = {"phase": "Failed"}
    body["spec"]["containers"][0] |= {"image": "b:2", "resources": {"requests": {"cpu": "2"}}}
    outcome = changed("resize", body, old)
    assert outcome.causes == []
    wanted = copied(old)
    wanted["metadata"]["generation"] = 2
    wanted["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2"}}
    assert outcome.pod == wanted


@given(body=some_pod)
def test_defaulting_twice_changes_nothing(body: Pod) -> None:
    """A defaulted pod is complete."""
    obj = copied(body)
    kind().strategy.default(obj)
    again = copied(obj)
    kind().strategy.default(again)
    assert again == obj


@given(body=some_pod, path=st.sampled_from(["update", "resize", "status", "ephemeralcontainers"]))
def test_writing_back_changes_nothing(body: Pod, path: str) -> None:
    """A stored pod may be written back as it is on every path, and its generation stays."""
    old = stored(body)
    outcome = changed(path, old, old)
    assert outcome.causes == []
    assert outcome.pod == old


@given(body=some_pod, other=some_pod)
def test_diff_shows_every_difference(body: Pod, other: Pod) -> None:
    """Two specs are shown to differ exactly if they do not mean the same, amounts in one spelling."""
    one, two = stored(body)["spec"], stored(other)["spec"]
    assert same(one, two) is (diff(one, two, "PodSpec") == "")


@given(milli=st.integers(min_value=0, max_value=10**6))
def test_amounts_are_the_same_in_any_spelling(milli: int) -> None:
    """An amount written differently is no change."""
    one, two = ({"requests": {"cpu": text}} for text in (f"{milli}m", f"{milli * 1000}u"))
    assert same({"containers": [{"resources": one}]}, {"containers": [{"resources": two}]})
    assert not same({"requests": {"cpu": f"{milli}m"}}, {"requests": {"cpu": f"{milli + 1}m"}})
