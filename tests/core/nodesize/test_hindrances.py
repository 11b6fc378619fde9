"""What would be in the way of balloons."""

from typing import Any

import pytest

from flexlet.api import decode
from flexlet.core.nodesize import hindrances

Json = dict[str, Any]
BY_CLASS = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]}


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"limits": [{"type": "Container", "max": {"cpu": "2"}}]}, ["LimitRange x"]),
        ({"limits": [{"type": "Container", "default": {"memory": "1Gi"}}]}, ["LimitRange x"]),
        ({"limits": [{"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}}]}, []),
    ],
)
def test_limit_ranges(spec: Json, found: list[str]) -> None:
    known = decode.from_value({"metadata": {"name": "x"}, "spec": spec}, hindrances.LimitRange)
    assert hindrances.limiting([known], []) == found


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"hard": {"requests.cpu": "10"}}, ["ResourceQuota x"]),
        ({"hard": {"memory": "10Gi", "pods": "5"}}, ["ResourceQuota x"]),
        ({"hard": {"pods": "5"}}, []),
        ({"hard": {"cpu": "10"}, "scopeSelector": BY_CLASS}, []),
    ],
)
def test_quotas(spec: Json, found: list[str]) -> None:
    known = decode.from_value({"metadata": {"name": "x"}, "spec": spec}, hindrances.ResourceQuota)
    assert hindrances.limiting([], [known]) == found


@pytest.mark.parametrize(
    ("tolerations", "found"),
    [
        ([], ["s/d"]),
        ([{"operator": "Exists"}], []),
        ([{"key": "flexlet.io/balloon-pending", "operator": "Exists", "effect": "NoSchedule"}], []),
        ([{"key": "other", "operator": "Exists"}], ["s/d"]),
    ],
)
def test_daemon_sets(tolerations: list[Json], found: list[str]) -> None:
    template = {"spec": {"containers": [], "tolerations": tolerations}}
    meta = {"name": "d", "namespace": "s"}
    known = decode.from_value({"metadata": meta, "spec": {"template": template}}, hindrances.DaemonSet)
    assert hindrances.shut_out([known]) == found
