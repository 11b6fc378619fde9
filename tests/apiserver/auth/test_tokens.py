"""Service-account tokens: issued as recorded, good while everything they are bound to is."""

import re
from base64 import urlsafe_b64decode
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from hypothesis import given
from hypothesis import strategies as st
from tests.apiserver.auth.world import ISSUER, NOW, World, one, token_key

from flexlet.api.status import ApiError
from flexlet.apiserver.auth import certificates, jwt
from flexlet.apiserver.auth.accounttokens import AccountTokens
from flexlet.apiserver.auth.credentials import Refused, Verified
from flexlet.apiserver.auth.tokens import openid_configuration
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import User

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
TIME, HOUR_LATER = "2027-01-15T08:00:00Z", "2027-01-15T09:00:00Z"


def account(name: str = "sa", **metadata: Any) -> Object:
    return {"metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}", **metadata}}


@pytest.fixture
def world() -> World:
    world = World(roles=False)
    world.put("serviceaccounts", account())
    pod = {"metadata": {"name": "p", "namespace": "ns", "uid": "uid-p"}}
    world.put("pods", pod | {"spec": {"serviceAccountName": "sa", "nodeName": "n"}})
    world.put("secrets", {"metadata": {"name": "s", "namespace": "ns", "uid": "uid-s"}})
    world.put("nodes", {"metadata": {"name": "n", "uid": "uid-n"}})
    return world


async def ask(world: World, **spec: Any) -> Object:
    return await world.tokens.create("ns", "sa", {"spec": spec} if spec else {}, world.now)


async def token(world: World, **spec: Any) -> str:
    return str((await ask(world, **spec))["status"]["token"])


def claims(text: str) -> Any:
    payload = text.split(".")[1]
    return msgspec.json.decode(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))


def check(world: World, text: str, *audiences: str) -> Any:
    return world.authenticator.check_token(text, audiences or (ISSUER,))


async def refusal(world: World, code: int, request: Object, name: str = "sa") -> str:
    with pytest.raises(ApiError) as caught:
        await world.tokens.create("ns", name, request, NOW)
    assert caught.value.code == code
    return str(caught.value)


@pytest.mark.parametrize("seq", [37, 38])
async def test_recorded_requests_get_the_recorded_answer(seq: int) -> None:
    """Defaults are the issuer's audience and an hour; the metadata is the account's."""
    row = one("crud", seq)
    world = World(roles=False)
    world.put("serviceaccounts", {"metadata": {"name": "sa1", "namespace": "rec-crud", "uid": "<uid:13>"}})
    answer = await world.tokens.create("rec-crud", "sa1", row["request_body"], NOW)
    assert answer["status"].pop("token").count(".") == 2
    recorded = row["response_body"]
    recorded["metadata"]["creationTimestamp"] = TIME
    recorded["status"] = {"expirationTimestamp": HOUR_LATER}
    assert answer == recorded


async def test_the_claims_of_a_plain_token(world: World) -> None:
    """Audience, times, issuer, a fresh id, and the account with its uid."""
    found = claims(await token(world, expirationSeconds=600, audiences=["a", "b"]))
    assert UUID.fullmatch(found.pop("jti"))
    assert found == {
        "aud": ["a", "b"],
        "exp": NOW + 600,
        "iat": NOW,
        "iss": ISSUER,
        "kubernetes.io": {"namespace": "ns", "serviceaccount": {"name": "sa", "uid": "uid-sa"}},
        "nbf": NOW,
        "sub": "system:serviceaccount:ns:sa",
    }


async def test_a_pods_own_token_names_pod_and_node_and_lives_on_after_its_warning(world: World) -> None:
    """3607 seconds for this server and a pod: a year, with the asked time as the moment to warn."""
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": "uid-p"}
    answer = await ask(world, expirationSeconds=3607, boundObjectRef=reference)
    found = claims(answer["status"]["token"])
    assert found["kubernetes.io"] == {
        "namespace": "ns",
        "node": {"name": "n", "uid": "uid-n"},
        "pod": {"name": "p", "uid": "uid-p"},
        "serviceaccount": {"name": "sa", "uid": "uid-sa"},
        "warnafter": NOW + 3607,
    }
    assert found["exp"] == NOW + 365 * 86400
    assert answer["status"]["expirationTimestamp"] == "2027-01-15T09:00:07Z"
    assert answer["spec"]["boundObjectRef"] == reference


async def test_a_verified_token_gives_the_recorded_user(world: World) -> None:
    """Groups of all accounts and of the namespace's; extra names the credential, pod and node."""
    text = await token(world, boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "p"})
    user = User(
        name="system:serviceaccount:ns:sa",
        uid="uid-sa",
        groups=("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"),
        extra={
            "authentication.kubernetes.io/credential-id": (f"JTI={claims(text)['jti']}",),
            "authentication.kubernetes.io/node-name": ("n",),
            "authentication.kubernetes.io/node-uid": ("uid-n",),
            "authentication.kubernetes.io/pod-name": ("p",),
            "authentication.kubernetes.io/pod-uid": ("uid-p",),
        },
    )
    assert check(world, text) == Verified(user, (ISSUER,))


@pytest.mark.parametrize(
    ("reference", "bucket", "namespace", "name"),
    [
        (None, "serviceaccounts", "ns", "sa"),
        ({"kind": "Pod", "apiVersion": "v1", "name": "p"}, "pods", "ns", "p"),
        ({"kind": "Secret", "apiVersion": "v1", "name": "s"}, "secrets", "ns", "s"),
        ({"kind": "Node", "apiVersion": "v1", "name": "n"}, "nodes", "", "n"),
    ],
)
async def test_a_token_dies_with_what_it_is_bound_to(
    world: World, reference: Any, bucket: str, namespace: str, name: str
) -> None:
    """Deleted, recreated or long deleted and lingering: each ends the token at once, cached or not."""
    text = await token(world, boundObjectRef=reference)
    bound = world.get(bucket, namespace, name)
    assert bound is not None
    kind = {"serviceaccounts": "service account", "pods": "pod", "secrets": "secret", "nodes": "node"}[bucket]
    mismatch = f"{kind} UID (new) does not match " + (
        "claim (uid-sa)" if reference is None else f"service account {kind} ref claim (uid-{name})"
    )
    gone = "service account token has been invalidated"
    gone_account = 'serviceaccounts "sa" not found'
    lingering = "service account ns/sa has been deleted" if reference is None else gone
    assert isinstance(check(world, text), Verified)
    world.remove(bucket, namespace, name)
    expected = gone_account if reference is None else gone
    assert check(world, text) == Refused(f"[invalid bearer token, {expected}]")
    world.put(bucket, bound | {"metadata": bound["metadata"] | {"uid": "new"}})
    assert check(world, text) == Refused(f"[invalid bearer token, {mismatch}]")
    world.put(bucket, bound | {"metadata": bound["metadata"] | {"deletionTimestamp": "2027-01-15T07:58:00Z"}})
    assert check(world, text) == Refused(f"[invalid bearer token, {lingering}]")
    world.put(bucket, bound)
    assert isinstance(check(world, text), Verified)


@pytest.mark.parametrize(
    ("after_s", "reason"),
    [
        (-61, "service account token is not valid yet"),
        (-59, ""),
        (659, ""),
        (661, "service account token has expired"),
    ],
)
async def test_time_is_looked_at_with_a_minute_of_leeway(world: World, after_s: float, reason: str) -> None:
    """Also for a token whose signature is known already."""
    text = await token(world, expirationSeconds=600)
    assert isinstance(check(world, text), Verified)
    world.now = NOW + after_s
    expected = Refused(f"[invalid bearer token, {reason}]") if reason else check(world, text)
    assert check(world, text) == expected


async def test_an_audience_must_be_shared(world: World) -> None:
    """Recorded: a token for the server shown to somebody else."""
    text = await token(world, audiences=["a", ISSUER])
    assert check(world, text, "x", "a").audiences == ("a",)
    assert check(world, text, "https://other") == Refused(
        f'[invalid bearer token, token audiences ["a" "{ISSUER}"] is invalid for the target audiences '
        '["https://other"]]'
    )


async def test_foreign_and_forged_tokens_are_refused(world: World) -> None:
    """Another issuer is not ours to judge; a wrong key, signature or algorithm is."""
    text = await token(world)
    head, body, signature = text.split(".")
    stranger = jwt.Signer(certificates.new_key())
    assert check(world, stranger.sign({"iss": "https://elsewhere"})) == Refused("invalid bearer token")
    unknown = Refused("[invalid bearer token, invalid signature, no keys found]")
    assert check(world, stranger.sign(claims(text))) == unknown
    broken = Refused("[invalid bearer token, go-jose/go-jose: error in cryptographic primitive]")
    assert check(world, f"{head}.{body}.{signature[:-4]}AAAA") == broken
    assert check(world, f"{head}.{body}.") == broken
    unsigned = jwt._encode(b'{"alg":"none"}').decode()
    assert check(world, f"{unsigned}.{body}.") == broken


async def test_tokens_of_an_rsa_key_verify(world: World) -> None:
    """A ring may hold keys of both kinds; the key decides the algorithm."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    ring = jwt.KeyRing([key.public_key(), token_key().public_key()])
    head = jwt._encode(b'{"alg":"RS256","kid":"%s"}' % jwt.key_id(key.public_key()).encode())
    signed = head + b"." + (await token(world)).split(".")[1].encode()
    signature = jwt._encode(key.sign(signed, padding.PKCS1v15(), SHA256()))
    checker = AccountTokens(ISSUER, ring, world)
    assert isinstance(checker.check((signed + b"." + signature).decode(), (ISSUER,), NOW), Verified)
    assert ring.algorithms() == ["ES256", "RS256"]
    assert [(entry["kty"], entry["use"]) for entry in ring.jwks()["keys"]] == [("RSA", "sig"), ("EC", "sig")]
    document = openid_configuration(ISSUER, f"{ISSUER}/openid/v1/jwks", ring.algorithms())
    assert document["id_token_signing_alg_values_supported"] == ["ES256", "RS256"]


@given(st.text() | st.tuples(st.text("abcAB12-_{}", max_size=9), st.text(max_size=9), st.text()).map(".".join))
def test_anything_else_is_simply_not_a_token(text: str) -> None:
    """Garbage is refused without a fault."""
    assert World(roles=False).accounts.check(text, (ISSUER,), NOW) is None


async def test_requests_that_break_a_rule(world: World) -> None:
    """Each refusal in upstream's words."""
    text = await refusal(world, 422, {"spec": {"expirationSeconds": 599}})
    assert text == (
        'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599: '
        "may not specify a duration less than 10 minutes"
    )
    text = await refusal(world, 422, {"spec": {"expirationSeconds": (1 << 32) + 1}})
    assert text.endswith("may not specify a duration larger than 2^32 seconds")
    text = await refusal(world, 422, {"metadata": {"name": "other"}})
    assert text == (
        'TokenRequest.authentication.k8s.io "sa" is invalid: metadata.name: Invalid value: "other": '
        "must match the service account name if specified"
    )
    text = await refusal(world, 409, {"metadata": {"uid": "other"}})
    assert text == (
        'Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "sa": the UID in the token request '
        "(other) does not match the UID of the service account (uid-sa)"
    )
    assert await refusal(world, 404, {}, "gone") == 'serviceaccounts "gone" not found'


@pytest.mark.parametrize(
    ("reference", "code", "text"),
    [
        ({"kind": "Pod", "apiVersion": "v1", "name": "gone"}, 404, 'pods "gone" not found'),
        (
            {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": "other"},
            409,
            (
                'Operation cannot be fulfilled on Pod "p": the UID in the bound object reference (other) does not '
                "match the UID in record. The object might have been deleted and then recreated"
            ),
        ),
        (
            {"kind": "Deployment", "apiVersion": "apps/v1", "name": "d"},
            400,
            "cannot bind token to object of type apps/v1, Kind=Deployment",
        ),
    ],
)
async def test_bound_objects_must_be_there_and_meant(world: World, reference: Any, code: int, text: str) -> None:
    """A token is bound to the very object its request names."""
    assert await refusal(world, code, {"spec": {"boundObjectRef": reference}}) == text


async def test_a_pod_of_another_account_is_refused(world: World) -> None:
    """A token cannot borrow somebody else's pod."""
    world.put("serviceaccounts", account("other"))
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
    text = await refusal(world, 400, {"spec": {"boundObjectRef": reference}}, "other")
    assert text == (
        'cannot bind token for serviceaccount "other" to pod running with different serviceaccount name.'
    )


async def test_admission_sees_the_completed_request_before_a_token_exists(world: World) -> None:
    """Validating admission runs after defaults and validation, on a request without a status."""
    seen: list[Any] = []

    async def admit(request: Object) -> None:
        seen.append(msgspec.json.decode(msgspec.json.encode(request)))

    await world.tokens.create("ns", "sa", {}, NOW, admit)
    spec = {"audiences": [ISSUER], "expirationSeconds": 3600, "boundObjectRef": None}
    assert [(request["spec"], request["status"]) for request in seen] == [(spec, {})]
