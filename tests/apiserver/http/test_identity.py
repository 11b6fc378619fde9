"""Who may ask, and who they are taken for."""

import pytest
from tests.apiserver.http.client import Client

pytestmark = pytest.mark.asyncio(loop_scope="module")

PODS = "/api/v1/namespaces/default/pods"


async def test_who_is_unknown_may_see_health_and_version_only(nobody: Client) -> None:
    assert (await nobody.ask("GET", "/readyz")).body == b"ok"
    assert (await nobody.ask("GET", "/version")).status == 200
    answer = await nobody.ask("GET", "/api")
    assert (answer.status, answer.json["message"]) == (
        403,
        'forbidden: User "system:anonymous" cannot get path "/api"',
    )


async def test_a_wrong_token_is_nobody_at_all(nobody: Client) -> None:
    answer = await nobody.ask("GET", PODS, Authorization="Bearer nonsense")
    assert (answer.status, answer.json) == (
        401,
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": "Unauthorized",
            "reason": "Unauthorized",
            "code": 401,
        },
    )


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        (
            "GET",
            f"{PODS}/p",
            (
                'pods "p" is forbidden: User "alice" cannot get resource "pods" in API group "" '
                'in the namespace "default"'
            ),
        ),
        (
            "GET",
            "/api/v1/pods?watch=1",
            'pods is forbidden: User "alice" cannot watch resource "pods" in API group "" at the cluster scope',
        ),
        (
            "PATCH",
            f"{PODS}/p/resize",
            (
                'pods "p" is forbidden: User "alice" cannot patch resource "pods/resize" in API group "" '
                'in the namespace "default"'
            ),
        ),
        (
            "GET",
            "/apis/nope.example.com/v1/things",
            (
                'things.nope.example.com is forbidden: User "alice" cannot list resource "things" '
                'in API group "nope.example.com" at the cluster scope'
            ),
        ),
        ("GET", "/metrics", 'forbidden: User "alice" cannot get path "/metrics"'),
    ],
)
async def test_authorization_comes_before_existence(alice: Client, method: str, path: str, message: str) -> None:
    answer = await alice.ask(method, path)
    assert (answer.status, answer.json["message"]) == (403, message)


async def test_acting_as_somebody_else(admin: Client, alice: Client) -> None:
    review = {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    answer = await admin.ask("POST", path, review, Impersonate_User="bob", Impersonate_Group="g")
    assert answer.status == 201
    assert answer.json["status"]["userInfo"]["username"] == "bob"
    assert (await admin.ask("GET", PODS, Impersonate_User="bob")).status == 403
    assert (await alice.ask("GET", PODS, Impersonate_User="admin")).status == 403


async def test_a_token_of_a_service_account_speaks_for_it(admin: Client, nobody: Client) -> None:
    issued = await admin.ask("POST", "/api/v1/namespaces/default/serviceaccounts/default/token", {})
    assert issued.status == 201
    bearer = f"Bearer {issued.json['status']['token']}"
    answer = await nobody.ask("GET", PODS, Authorization=bearer)
    assert 'User "system:serviceaccount:default:default" cannot list' in answer.json["message"]


async def test_rights_take_effect_at_once(admin: Client, alice: Client) -> None:
    rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    await admin.ask("POST", f"{rbac}/roles", {"metadata": {"name": "reader"}, "rules": rules})
    subject = {"kind": "User", "name": "alice", "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"kind": "Role", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"metadata": {"name": "reader"}, "subjects": [subject], "roleRef": reference}
    assert (await alice.ask("GET", PODS)).status == 403
    assert (await admin.ask("POST", f"{rbac}/rolebindings", binding)).status == 201
    assert (await alice.ask("GET", PODS)).status == 200
    await admin.ask("DELETE", f"{rbac}/rolebindings/reader")
    assert (await alice.ask("GET", PODS)).status == 403
