from typing import Any

import pytest

from flexlet.api import schema
from flexlet.api.schema import shapes


@pytest.mark.parametrize(
    ("name", "value", "stored"),
    [
        ("core.v1.Pod", {}, {"metadata": {}, "spec": {"containers": None}, "status": {}}),
        ("core.v1.EnvVar", {"name": "A", "value": ""}, {"name": "A"}),
        ("core.v1.PodSpec", {"containers": [], "hostNetwork": False, "volumes": []}, {"containers": None}),
        (
            "core.v1.PodSpec",
            {"containers": None, "enableServiceLinks": False},
            {"containers": None, "enableServiceLinks": False},
        ),
        ("core.v1.Volume", {"name": "v", "emptyDir": {"medium": ""}}, {"name": "v", "emptyDir": {}}),
        ("core.v1.EmptyDirVolumeSource", {"sizeLimit": 1}, {"sizeLimit": "1"}),
        ("rbac.v1.Role", {"rules": []}, {"metadata": {}, "rules": None}),
        (
            "rbac.v1.Role",
            {"metadata": None, "rules": [{"verbs": ["get"]}]},
            {"metadata": {}, "rules": [{"verbs": ["get"]}]},
        ),
        ("core.v1.NodeSpec", {"podCIDRs": [], "unschedulable": None}, {}),
        ("apps.v1.DeploymentSpec", {"replicas": 0}, None),
        ("apiextensions.v1.CustomResourceDefinitionStatus", {"conditions": [], "storedVersions": ["v1"]}, None),
    ],
)
def test_stored_form(name: str, value: dict[str, Any], stored: dict[str, Any] | None) -> None:
    """Empty values go, except pointers and what is always shown; storage makes empty lists null."""
    special = {
        "apps.v1.DeploymentSpec": {
            "replicas": 0,
            "selector": None,
            "template": {"metadata": {}, "spec": {"containers": None}},
            "strategy": {},
        },
        "apiextensions.v1.CustomResourceDefinitionStatus": {
            "conditions": [],
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": ["v1"],
        },
    }
    before = repr(value)
    kind = schema.named(name)
    result = schema.stored_form(kind, value)
    assert result == (special[name] if stored is None else stored)
    assert repr(value) == before
    assert schema.stored_form(kind, result) is result


def test_what_stands_in_for_missing_values_is_new_each_time() -> None:
    """Callers may change what they get without changing what the next one gets."""
    pod = schema.named("core.v1.Pod")
    schema.stored_form(pod, {})["spec"]["nodeName"] = "n"
    assert schema.stored_form(pod, {}) == {"metadata": {}, "spec": {"containers": None}, "status": {}}


def test_unchanged_parts_are_shared() -> None:
    """Only what lies on the way to a change is copied."""
    volumes = [{"name": "v", "emptyDir": {}}]
    container = {"name": "c", "resources": {"limits": {"cpu": "1000m"}}}
    value = {"metadata": {"name": "p"}, "spec": {"volumes": volumes, "containers": [container]}, "status": {}}
    result = schema.stored_form(schema.named("core.v1.Pod"), value)
    assert result["spec"]["containers"] == [{"name": "c", "resources": {"limits": {"cpu": "1"}}}]
    assert result["spec"]["volumes"] is volumes
    assert result["metadata"] is value["metadata"]


def test_the_quick_check_is_never_lenient() -> None:
    """Unknown fields, nulls, wrong kinds and numbers out of range are left to a closer look."""
    pod = schema.named("core.v1.Pod")
    spec = {"containers": [{"name": "c"}]}
    assert shapes.fits(pod, {"spec": spec})
    doubtful: list[Any] = [
        None,
        [],
        {"x": 1},
        {"spec": None},
        {"spec": {**spec, "priority": 2**31}},
        {"spec": {**spec, "priority": 1.0}},
        {"spec": {**spec, "priority": True}},
        {"spec": {**spec, "nodeName": None}},
        {"spec": {"containers": [None]}},
        {"metadata": {"labels": {"a": None}}},
    ]
    assert [value for value in doubtful if shapes.fits(pod, value)] == []
