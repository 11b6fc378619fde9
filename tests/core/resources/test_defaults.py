import copy
from typing import Any

import msgspec
import pytest
from tests.pods import Level, container, pod, resources

from flexlet.api import decode
from flexlet.api.pod import Pod
from flexlet.core.resources.defaults import default_pod, default_pod_dict
from flexlet.core.resources.rounding import round_list, text_requirements
from flexlet.errors import InputError

A = container("a", "100m,128Mi")


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        (("", ""), ("", "")),
        (("100m", ""), ("100m", "")),
        (("", "1,1Gi"), ("1,1Gi", "1,1Gi")),
        (("100m", "1,1Gi"), ("100m,1Gi", "1,1Gi")),
        (("", "0"), ("0", "0")),
        (("", "example.com/gpu=1"), ("example.com/gpu=1", "example.com/gpu=1")),
        (("0.0004,1.0001", ""), ("1m,1001m", "")),
    ],
)
def test_containers_request_their_limits(written: Level, stored: Level) -> None:
    """A limit without a request is requested in full, and nothing finer than a thousandth is stored."""
    case = default_pod(pod(container("a", *written), init=(container("i", *written),)))
    assert case.spec.containers[0].resources == resources(*stored)
    assert case.spec.init_containers[0].resources == resources(*stored)


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        (pod(container("a"), level=("", "1,1Gi")), ("1,1Gi", "1,1Gi")),
        (pod(A, container("b"), level=("", "1,1Gi")), ("100m,128Mi", "1,1Gi")),
        (pod(A, container("b", "100m,64Mi", ",200Mi"), level=("", "1")), ("200m,192Mi", "1")),
        (pod(container("a", "", "1,1Gi"), level=("500m,512Mi", "")), ("500m,512Mi", "")),
        (pod(A, level=("1", "1")), ("1,128Mi", "1")),
        (
            pod(container("a", "", "hugepages-2Mi=4Mi"), level=("1,1Gi", "1,1Gi")),
            ("1,1Gi,hugepages-2Mi=4Mi", "1,1Gi,hugepages-2Mi=4Mi"),
        ),
        (
            pod(container("a", "", "hugepages-2Mi=4Mi"), level=("1", "")),
            ("1,hugepages-2Mi=4Mi", "hugepages-2Mi=4Mi"),
        ),
        (
            pod(container("a", "", "hugepages-2Mi=4Mi"), level=("hugepages-2Mi=8Mi", "")),
            ("hugepages-2Mi=8Mi", ""),
        ),
        (
            pod(container("a", "", "hugepages-2Mi=4Mi"), level=("", "hugepages-2Mi=8Mi")),
            ("hugepages-2Mi=8Mi", "hugepages-2Mi=8Mi"),
        ),
        (pod(A, level=("", "")), ("", "")),
        (pod(container("a"), level=("", "example.com/gpu=1")), ("", "example.com/gpu=1")),
        (pod(container("a", "0.0004"), container("b", "0.0004"), level=("", "1")), ("1m", "1")),
    ],
)
def test_pod_level(written: Pod, stored: Level) -> None:
    """Requests come from the containers, else from the limits, where the client set limits at all.

    The last case: totals are rounded once, so two containers of 1m each have a pod of 1m.
    """
    assert default_pod(written).spec.resources == resources(*stored)


def test_no_pod_level_stays_none() -> None:
    assert default_pod(pod(container("a", "", "1,1Gi"))).spec.resources is None


def everything() -> dict[str, Any]:
    """A pod body with an unrounded amount in every place that can hold one."""
    fine = {"cpu": "0.0001"}
    reported = {"name": "a", "allocatedResources": dict(fine), "resources": {"limits": dict(fine)}}
    claim = {"spec": {"resources": {"requests": {"storage": "0.0001"}}}}
    return {
        "spec": {
            "containers": [{"name": "a", "resources": {"claims": [{"name": "c"}], "limits": {"cpu": 0.0001}}}],
            "initContainers": [{"name": "i"}],
            "ephemeralContainers": [{"name": "e", "resources": {"limits": dict(fine)}}],
            "overhead": dict(fine),
            "resources": {"limits": dict(fine)},
            "volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": claim}}, {"name": "w", "emptyDir": {}}],
        },
        "status": {
            "containerStatuses": [copy.deepcopy(reported)],
            "initContainerStatuses": [copy.deepcopy(reported)],
            "ephemeralContainerStatuses": [{"name": "e"}],
            "allocatedResources": dict(fine),
            "resources": {"requests": dict(fine)},
        },
    }


def test_dicts() -> None:
    """The face for JSON dicts applies the rule in place, rounds every list and keeps what it does not know."""
    body = everything()
    default_pod_dict(body)
    one = {"cpu": "1m"}
    reported = {"name": "a", "allocatedResources": one, "resources": {"limits": one}}
    claim = {"spec": {"resources": {"requests": {"storage": "1m"}}}}
    assert body == {
        "spec": {
            "containers": [
                {"name": "a", "resources": {"claims": [{"name": "c"}], "limits": one, "requests": one}}
            ],
            "initContainers": [{"name": "i", "resources": {}}],
            "ephemeralContainers": [{"name": "e", "resources": {"limits": one}}],
            "overhead": one,
            "resources": {"limits": one, "requests": one},
            "volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": claim}}, {"name": "w", "emptyDir": {}}],
        },
        "status": {
            "containerStatuses": [reported],
            "initContainerStatuses": [reported],
            "ephemeralContainerStatuses": [{"name": "e"}],
            "allocatedResources": one,
            "resources": {"requests": one},
        },
    }


def test_both_faces_agree() -> None:
    body = everything()
    typed = default_pod(decode.from_value(body, Pod))
    default_pod_dict(body)
    assert decode.from_value(body, Pod) == typed


def test_empty_dicts() -> None:
    """Nothing is made up where there is nothing."""
    bodies: list[dict[str, Any]] = [{}, {"spec": None}, {"spec": {"containers": None, "resources": {}}}]
    for body in bodies:
        default_pod_dict(body)
    assert bodies == [{}, {"spec": None}, {"spec": {"containers": None, "resources": {}}}]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (
            {"spec": {"containers": [{"resources": {"limits": {"cpu": "x"}}}]}},
            "$.spec.containers[0].resources.limits.cpu",
        ),
        ({"spec": {"overhead": {"cpu": []}}}, "$.spec.overhead.cpu"),
        ({"status": {"resources": {"limits": {"cpu": "x"}}}}, "$.status.resources.limits.cpu"),
        (
            {"status": {"containerStatuses": [{"allocatedResources": {"memory": True}}]}},
            "$.status.containerStatuses[0].allocatedResources.memory",
        ),
    ],
)
def test_unreadable_amounts_name_their_path(body: dict[str, Any], path: str) -> None:
    with pytest.raises(InputError) as caught:
        default_pod_dict(body)
    assert caught.value.path == path


def test_rounding_any_list() -> None:
    """Other kinds hold resource lists, too."""
    amounts: dict[str, Any] = {"cpu": 1, "memory": " 1024Mi ", "pods": None, "storage": "1n"}
    round_list(amounts)
    assert amounts == {"cpu": "1", "memory": "1Gi", "pods": "0", "storage": "1m"}


def test_canonical_text() -> None:
    """Lists are written sorted, and left out when empty."""
    text = text_requirements(resources("1,1024Mi,a=1", ""))
    assert msgspec.json.encode(text) == b'{"requests":{"a":"1","cpu":"1","memory":"1Gi"}}'
    assert text_requirements(resources("", "2")) == {"limits": {"cpu": "2"}}
