"""Defaults and bounds of LimitRanges."""

import copy
from typing import Any

import pytest

from flexlet.api.decode import from_value
from flexlet.api.limitrange import LimitRange
from flexlet.api.pod import Pod
from flexlet.core.limits.bounds import violations
from flexlet.core.limits.defaults import container_defaults, fill

RANGE = {
    "spec": {
        "limits": [
            {"type": "Pod", "default": {"cpu": "9"}},
            {
                "type": "Container",
                "default": {"cpu": "500m", "memory": "256Mi"},
                "defaultRequest": {"cpu": "100m", "memory": "256Mi"},
            },
        ]
    }
}


@pytest.mark.parametrize(
    ("given", "filled", "note"),
    [
        (
            {"name": "c"},
            {
                "requests": {"cpu": "100m", "memory": "256Mi"},
                "limits": {"cpu": "500m", "memory": "256Mi"},
            },
            "cpu, memory request for container c; cpu, memory limit for container c",
        ),
        (
            {"name": "c", "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}},
            {"requests": {"cpu": "1", "memory": "256Mi"}, "limits": {"cpu": "1", "memory": "256Mi"}},
            "memory request for container c; memory limit for container c",
        ),
    ],
)
def test_containers_get_what_they_leave_out(given: Any, filled: Any, note: str) -> None:
    spec = {"containers": [copy.deepcopy(given)]}
    assert fill(spec, *container_defaults(RANGE)) == f"LimitRanger plugin set: {note}"
    assert spec == {"containers": [{"name": "c", "resources": filled}]}


def test_init_containers_are_named_as_such() -> None:
    spec = {"containers": [], "initContainers": [{"name": "i"}]}
    assert fill(spec, {}, {"cpu": "1"}) == "LimitRanger plugin set: cpu limit for init container i"


def test_nothing_left_out_is_nothing_to_tell() -> None:
    spec = {"containers": [{"name": "c", "resources": {"limits": {"cpu": "2"}}}]}
    before = copy.deepcopy(spec)
    assert fill(spec, {}, {"cpu": "1"}) == ""
    assert spec == before


def found(
    item: Any, requests: Any = None, limits: Any = None, *, pod_level: bool = True, **spec: Any
) -> list[str]:
    """What one entry of a range says to a pod with one container."""
    resources = {"requests": requests or {}, "limits": limits or {}}
    pod = from_value({"spec": {"containers": [{"name": "c", "resources": resources}], **spec}}, Pod)
    limit_range = from_value({"spec": {"limits": [{"type": "Container", **item}]}}, LimitRange)
    return violations(limit_range, pod, pod_level=pod_level)


@pytest.mark.parametrize(
    ("item", "requests", "limits", "problems"),
    [
        ({"min": {"cpu": "1"}}, {"cpu": "1"}, None, []),
        ({"min": {"cpu": "1"}}, None, None, ["minimum cpu usage per Container is 1.  No request is specified"]),
        ({"min": {"cpu": "1"}}, {"cpu": "1m"}, None, ["minimum cpu usage per Container is 1, but request is 1m"]),
        (
            {"min": {"cpu": "1"}},
            {"cpu": "1"},
            {"cpu": "10m"},
            ["minimum cpu usage per Container is 1, but limit is 10m"],
        ),
        ({"max": {"cpu": "1"}}, None, {"cpu": "1"}, []),
        ({"max": {"cpu": "1"}}, None, None, ["maximum cpu usage per Container is 1.  No limit is specified"]),
        ({"max": {"cpu": "1"}}, None, {"cpu": "2"}, ["maximum cpu usage per Container is 1, but limit is 2"]),
        (
            {"max": {"cpu": "1"}},
            {"cpu": "2"},
            {"cpu": "1"},
            ["maximum cpu usage per Container is 1, but request is 2"],
        ),
        ({"maxLimitRequestRatio": {"cpu": "2"}}, {"cpu": "1"}, {"cpu": "2"}, []),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"cpu": "1"},
            {"cpu": "2500m"},
            ["cpu max limit to request ratio per Container is 2, but provided ratio is 2.500000"],
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            None,
            {"cpu": "1"},
            ["cpu max limit to request ratio per Container is 2, but no request is specified or request is 0"],
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"cpu": "1"},
            {"cpu": "0"},
            ["cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0"],
        ),
        (
            {"max": {"memory": "8Ei"}},
            {"memory": "1"},
            {"memory": "8E"},
            [],
        ),
        (
            {"maxLimitRequestRatio": {"memory": "8E"}},
            {"memory": "1"},
            {"memory": "1Gi"},
            [],
        ),
    ],
)
def test_bounds_of_a_container(item: Any, requests: Any, limits: Any, problems: list[str]) -> None:
    assert found(item, requests, limits) == problems


def test_findings_come_in_the_order_min_max_ratio() -> None:
    item = {"min": {"cpu": "1"}, "max": {"memory": "1Gi", "cpu": "2"}, "maxLimitRequestRatio": {"cpu": "3"}}
    assert found(item, {"cpu": "10m"}, {"cpu": "4", "memory": "2Gi"}) == [
        "minimum cpu usage per Container is 1, but request is 10m",
        "maximum cpu usage per Container is 2, but limit is 4",
        "maximum memory usage per Container is 1Gi, but limit is 2Gi",
        "cpu max limit to request ratio per Container is 3, but provided ratio is 400.000000",
    ]


POD_LEVEL = {"limits": {"cpu": "4"}}


@pytest.mark.parametrize(
    ("spec", "pod_level", "problems"),
    [
        ({}, True, []),
        ({"resources": POD_LEVEL}, True, ["maximum cpu usage per Pod is 3, but limit is 4"]),
        ({"resources": POD_LEVEL}, False, []),
        (
            {"initContainers": [{"name": "i", "resources": {"limits": {"cpu": "5"}}}]},
            True,
            ["maximum cpu usage per Pod is 3, but limit is 5"],
        ),
        ({"overhead": {"cpu": "9"}}, True, []),
    ],
)
def test_type_pod_looks_at_the_total(spec: Any, pod_level: bool, problems: list[str]) -> None:
    """Pod-level values replace the sum; overhead does not count."""
    item = {"type": "Pod", "max": {"cpu": "3"}}
    assert found(item, None, {"cpu": "2"}, pod_level=pod_level, **spec) == problems


def test_other_types_are_not_for_pods() -> None:
    assert found({"type": "PersistentVolumeClaim", "max": {"storage": "1"}}) == []
