"""Feature gates: what goes when one is off, and what stays because a pod already uses it."""

from typing import Any

from tests.apiserver.kinds.pod.pods import changed, copied, created, kind, pod, stored

LEVEL = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}
NO_LEVEL = {"PodLevelResources": False, "InPlacePodLevelResourcesVerticalScaling": False}
NO_LEVEL_RESIZE = {"InPlacePodLevelResourcesVerticalScaling": False}
NO_RESIZE = {"InPlacePodVerticalScaling": False}
NO_INIT_RESIZE = {"InPlacePodVerticalScalingInitContainers": False}
FORBIDDEN = "FieldValueForbidden"


def container(name: str = "c", **more: Any) -> dict[str, Any]:
    """A container with some fields."""
    return {"name": name, "image": "busybox:1", **more}


def test_pod_level_dropped_on_create() -> None:
    """Without PodLevelResources a new pod loses spec.resources, and its containers make the QoS class."""
    spec = {"resources": LEVEL, "containers": [container(resources={"requests": {"cpu": "3"}})]}
    outcome = created(pod(spec), NO_LEVEL)
    assert outcome.causes == []
    assert "resources" not in outcome.pod["spec"]
    assert outcome.pod["status"]["qosClass"] == "Burstable"


def test_pod_level_kept_when_used() -> None:
    """A pod made before the gate went off keeps spec.resources through updates of other things."""
    old = stored(pod({"resources": LEVEL}))
    body = copied(old)
    body["spec"]["containers"][0]["image"] = "busybox:2"
    outcome = changed("update", body, old, NO_LEVEL)
    assert outcome.causes == []
    assert outcome.pod["spec"]["resources"] == LEVEL
    assert outcome.pod["metadata"]["generation"] == 2


def test_pod_level_resize_refused() -> None:
    """Without its gate no pod with pod-level resources is resized, not even its containers."""
    old = stored(pod({"resources": LEVEL}))
    body = copied(old)
    body["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100m"}}
    text = (
        "Forbidden: resize of pods with pod-level resources is forbidden when "
        "InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled"
    )
    assert changed("resize", body, old, NO_LEVEL_RESIZE).causes == [["[]", FORBIDDEN, text]]


def test_pod_level_resize_ignored_without_gate() -> None:
    """Without its gate spec.resources of a resize is not even looked at where the pod has none."""
    old = stored(pod({"containers": [container(resources={"requests": {"cpu": "1"}})]}))
    body = copied(old)
    body["spec"]["resources"] = {"requests": {"cpu": "2"}}
    outcome = changed("resize", body, old, NO_LEVEL_RESIZE)
    assert outcome.causes == []
    assert outcome.pod["spec"] == old["spec"]


def test_init_containers_immutable() -> None:
    """Without its gate plain init containers keep their size; sidecars do not care."""
    init = [
        container("i", resources={"requests": {"cpu": "1"}}),
        container("s", resources={"requests": {"cpu": "1"}}, restartPolicy="Always"),
    ]
    old = stored(pod({"initContainers": init}))
    body = copied(old)
    body["spec"]["initContainers"][1]["resources"]["requests"]["cpu"] = "2"
    assert changed("resize", body, old, NO_INIT_RESIZE).causes == []
    body["spec"]["initContainers"][0]["resources"]["requests"]["cpu"] = "2"
    text = "Forbidden: resources for non-sidecar init containers are immutable"
    assert changed("resize", body, old, NO_INIT_RESIZE).causes == [["spec", FORBIDDEN, text]]
    assert changed("resize", body, old).causes == []


def test_no_resize_at_all() -> None:
    """Without InPlacePodVerticalScaling there is no such path and no resizePolicy."""
    assert kind(NO_RESIZE).subresource("resize") is None
    policy = [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]
    outcome = created(pod({"containers": [container(resizePolicy=policy)]}), NO_RESIZE)
    assert outcome.causes == []
    assert "resizePolicy" not in outcome.pod["spec"]["containers"][0]


def test_status_fields_dropped() -> None:
    """Status fields of a feature that is off are not stored, unless the pod has them already."""
    old = stored(pod())
    body = copied(old)
    status = {"name": "c", "image": "", "imageID": "", "ready": True, "restartCount": 0}
    sized = {**status, "resources": {}, "allocatedResources": {"cpu": "1"}, "state": {}, "lastState": {}}
    body["status"] |= {"resources": LEVEL, "allocatedResources": {"cpu": "1"}, "containerStatuses": [sized]}
    with_all = changed("status", body, old)
    assert with_all.pod["status"] == body["status"]
    off = changed("status", body, old, NO_LEVEL_RESIZE | NO_RESIZE).pod["status"]
    assert off == {**old["status"], "containerStatuses": [{**status, "state": {}, "lastState": {}}]}
    kept = changed("status", body, {**old, "status": body["status"]}, NO_LEVEL_RESIZE).pod["status"]
    assert kept == body["status"]
