"""Reviews answer as recorded."""

from typing import Any

import msgspec
import pytest
from tests.apiserver.auth.test_recorded_authorization import ALICE_RULES
from tests.apiserver.auth.world import ADMIN, ALICE, ISSUER, World, as_user, one, rule, user, wire

from flexlet.api import status
from flexlet.apiserver.auth import reviewspecs
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import User

KINDS = {
    "selfsubjectaccessreviews": "SelfSubjectAccessReview",
    "subjectaccessreviews": "SubjectAccessReview",
    "localsubjectaccessreviews": "LocalSubjectAccessReview",
    "selfsubjectrulesreviews": "SelfSubjectRulesReview",
    "selfsubjectreviews": "SelfSubjectReview",
    "tokenreviews": "TokenReview",
}


@pytest.fixture
def world() -> World:
    world = World()
    world.grant("rec-adm", "ra", ALICE_RULES, user("alice"))
    world.grant("rec-crud", "r", [rule("get list", ".", "pods pods/log")])
    world.grant("rec-crud", "rb", [], user("alice"))
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    metadata = {"name": "rb", "namespace": "rec-crud"}
    binding = {"metadata": metadata, "roleRef": reference, "subjects": [user("alice")]}
    world.put("rbac.authorization.k8s.io/rolebindings", binding)
    return world


async def review(world: World, row: Any, caller: User | None = None) -> Object:
    parts = row["path"].split("/")
    body = msgspec.json.decode(msgspec.json.encode(row["request_body"]))
    if "namespaces" in parts:
        body.setdefault("metadata", {})["namespace"] = parts[parts.index("namespaces") + 1]
    return await world.reviews.create(KINDS[parts[-1]], body, caller or as_user(row))


@pytest.mark.parametrize(
    ("file", "seq"),
    [
        *(("crud", seq) for seq in (97, 98, 99, 100, 101)),
        *(("admission", seq) for seq in (130, 147, 148)),
        *(("crud", 40), ("admission", 129)),
    ],
)
async def test_recorded_reviews(world: World, file: str, seq: int) -> None:
    """The request comes back with the recorded status."""
    row = one(file, seq)
    assert await review(world, row) == row["response_body"]


@pytest.mark.parametrize(("file", "seq"), [("crud", 102), ("admission", 132), ("admission", 149)])
async def test_recorded_rules_reviews(world: World, file: str, seq: int) -> None:
    """All rules that apply, in any order: upstream's own order changes from run to run."""
    row = one(file, seq)
    answer, recorded = await review(world, row), row["response_body"]
    for kind in ("resourceRules", "nonResourceRules"):
        found, expected = answer["status"].pop(kind), recorded["status"].pop(kind)
        assert sorted(found, key=str) == sorted(expected, key=str)
    assert answer == recorded


@pytest.mark.parametrize("seq", [131, 132, 133])
async def test_recorded_refusals(world: World, seq: int) -> None:
    """A question without a subject or an object is not one."""
    row = one("errors", seq)
    with pytest.raises(status.ApiError) as caught:
        await review(world, row)
    assert wire(caught.value) == row["response_body"]


async def test_recorded_token_reviews(world: World) -> None:
    """A good token gives its user; one for others says whom it is for."""
    account = {"metadata": {"name": "sa1", "namespace": "rec-crud", "uid": "<uid:13>"}}
    world.put("serviceaccounts", account)
    token = (await world.tokens.create("rec-crud", "sa1", {}, world.now))["status"]["token"]
    for seq in (39, 41):
        row = one("crud", seq)
        body = {"spec": row["request_body"]["spec"] | {"token": token}}
        answer = await world.reviews.create("TokenReview", body, ADMIN)
        recorded = row["response_body"] | {"spec": body["spec"]}
        if "extra" in answer["status"]["user"]:
            known = answer["status"]["user"]["extra"].popitem()[1]
            recorded["status"]["user"]["extra"].popitem()
            assert len(known) == 1
            del answer["status"]["user"]["extra"], recorded["status"]["user"]["extra"]
        assert answer == recorded


async def test_recorded_self_reviews(world: World) -> None:
    """Who am I: the user with its extra, and the time."""
    row = one("crud", 42)
    extra: dict[str, tuple[str, ...]] = {"authentication.kubernetes.io/credential-id": ("X509SHA256=<hash>",)}
    answer = await review(world, row, User(name=ADMIN.name, groups=ADMIN.groups, extra=extra))
    assert answer == row["response_body"] | {"metadata": {"creationTimestamp": "2027-01-15T08:00:00Z"}}


async def test_a_denied_review_tells_the_reason(world: World) -> None:
    """A node's refusal is explained in the review as in the request."""
    spec = {
        "user": "system:node:n",
        "groups": ["system:nodes"],
        "resourceAttributes": {"verb": "list", "resource": "pods"},
    }
    answer = await world.reviews.create("SubjectAccessReview", {"spec": spec}, ADMIN)
    reason = "can only list/watch pods with spec.nodeName field selector"
    assert answer["status"] == {"allowed": False, "reason": reason}


@pytest.mark.parametrize(
    ("requirements", "status_"),
    [
        ([{"key": "spec.nodeName", "operator": "In", "values": ["n"]}], {"allowed": True}),
        (
            [
                {"key": "spec.nodeName", "operator": "In", "values": ["n"]},
                {"key": "a", "operator": "Exists"},
            ],
            {
                "allowed": True,
                "evaluationError": ("spec.resourceAttributes.fieldSelector partially ignored due to parse error"),
            },
        ),
    ],
)
async def test_selectors_of_a_review_count(world: World, requirements: Any, status_: Any) -> None:
    """A question about a list may carry the selector of the list."""
    attributes = {"verb": "list", "resource": "pods", "fieldSelector": {"requirements": requirements}}
    spec = {"user": "system:node:n", "groups": ["system:nodes"], "resourceAttributes": attributes}
    answer = await world.reviews.create("SubjectAccessReview", {"spec": spec}, ADMIN)
    assert answer["status"] == status_


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        (
            "SelfSubjectAccessReview",
            {"metadata": {"name": "x"}, "spec": {"resourceAttributes": {}}},
            'metadata: Invalid value: {"name":"x"}: must be empty',
        ),
        (
            "SelfSubjectAccessReview",
            {"spec": {"resourceAttributes": {}, "nonResourceAttributes": {}}},
            (
                "spec.nonResourceAttributes: Invalid value: {}: cannot be specified in combination with "
                "resourceAttributes"
            ),
        ),
        (
            "LocalSubjectAccessReview",
            {"metadata": {"namespace": "a"}, "spec": {"user": "u", "resourceAttributes": {"namespace": "b"}}},
            'spec.resourceAttributes.namespace: Invalid value: "b": must match metadata.namespace',
        ),
        (
            "LocalSubjectAccessReview",
            {"metadata": {"namespace": "a"}, "spec": {"user": "u", "nonResourceAttributes": {"path": "/"}}},
            'spec.nonResourceAttributes: Invalid value: {"path":"/"}: disallowed on this kind of request',
        ),
        (
            "SelfSubjectAccessReview",
            {"spec": {"resourceAttributes": {"fieldSelector": {}}}},
            (
                "spec.resourceAttributes.fieldSelector.requirements: Required value: when "
                "spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required"
            ),
        ),
    ],
)
async def test_invalid_questions(world: World, kind: str, body: Any, message: str) -> None:
    """Each rule in upstream's words."""
    with pytest.raises(status.Invalid) as caught:
        await world.reviews.create(kind, body, ALICE)
    assert str(caught.value) == f'.authorization.k8s.io "" is invalid: {message}'


async def test_a_rules_review_needs_a_namespace(world: World) -> None:
    """Rules are listed per namespace."""
    with pytest.raises(status.BadRequest, match="no namespace on request"):
        await world.reviews.create("SelfSubjectRulesReview", {"spec": {}}, ALICE)
    assert world.authenticator.audiences == (ISSUER,)


@pytest.mark.parametrize(
    ("kind", "metadata", "errors"),
    [
        ("SelfSubjectAccessReview", {}, []),
        ("SelfSubjectAccessReview", {"namespace": "ns"}, ["must be empty"]),
        ("LocalSubjectAccessReview", {"namespace": "ns", "labels": {}}, []),
        ("LocalSubjectAccessReview", {"namespace": "ns", "name": "a"}, ["must be empty except for namespace"]),
    ],
)
def test_a_review_has_no_metadata(kind: str, metadata: Any, errors: list[str]) -> None:
    spec = {"user": "me", "resourceAttributes": {"verb": "get", "namespace": "ns"}}
    shown = msgspec.json.encode(metadata).decode()
    assert [str(error) for error in reviewspecs.validate(kind, metadata, spec)] == [
        f"metadata: Invalid value: {shown}: {text}" for text in errors
    ]
