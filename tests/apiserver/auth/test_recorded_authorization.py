"""Every recorded request, as far as authorization goes: the same refusals, the same requests let through."""

from typing import Any

import pytest
from tests.apiserver.auth.world import World, attributes_of, bound_pod, recorded, rule, user

ALICE_RULES = (
    rule("get list watch patch", ".", "pods pods/status"),
    rule("get update list", ".", "configmaps", "only"),
    rule("get", "apps", "*"),
    rule("*", "rec.example.com", "*/scale"),
)


@pytest.fixture
def recording() -> World:
    """The server that was recorded, as far as decisions depend on it."""
    world = World()
    account = {"kind": "ServiceAccount", "name": "default", "namespace": "rec-adm"}
    world.grant("rec-adm", "ra", ALICE_RULES, user("alice"))
    world.grant("rec-adm", "roles", [rule("create", "rbac.authorization.k8s.io", "*")], user("alice"))
    world.grant("rec-adm", "sa", [rule("list", ".", "pods")], account)
    access = {"name": "kube-api-access", "projected": {"sources": [{"configMap": {"name": "kube-root-ca.crt"}}]}}
    used = [{"name": "s", "secret": {"secretName": "used"}}, {"name": "c", "configMap": {"name": "used"}}]
    world.put("pods", bound_pod("r1", "rec-node-1"))
    world.put("pods", bound_pod("vol", "rec-node-1", volumes=[*used, access]))
    return world


def refused_by_authorization(row: Any) -> bool:
    """A 403 that says what the user cannot do; other ones come from admission."""
    return row["status"] == 403 and 'forbidden: User "' in row["response_body"]["message"]


def requests() -> list[Any]:
    rows = recorded("errors")[1:12] + recorded("admission")
    return [row for row in rows if "as_user" in row]


@pytest.mark.parametrize("row", requests(), ids=lambda row: f"{row['file']}-{row['seq']}")
def test_recorded_requests_are_refused_with_the_same_status_or_let_through(recording: World, row: Any) -> None:
    """Authorization refuses exactly what upstream's refused, in the same words."""
    attributes = attributes_of(row)
    if refused_by_authorization(row):
        assert recording.refusal(attributes) == row["response_body"]
    else:
        assert recording.authorizer.decide(attributes).allowed


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/version"])
def test_anonymous_callers_reach_the_health_paths_only(recording: World, path: str) -> None:
    """system:public-info-viewer is all a caller without credentials has."""
    row = {"method": "GET", "path": path, "as_user": "anonymous"}
    assert recording.authorizer.decide(attributes_of(row)).allowed
    assert not recording.authorizer.decide(attributes_of(row | {"path": "/api"})).allowed
