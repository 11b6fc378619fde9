"""Who is behind a request: certificates, bearer tokens, bootstrap tokens, nobody."""

import hashlib
from base64 import b64encode
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from tests.apiserver.auth.world import ADMIN, AUTHORITY, NOW, World, one, refused, wire

from flexlet.api import status
from flexlet.apiserver.auth import authenticate, certificates
from flexlet.apiserver.auth.credentials import Refused
from flexlet.apiserver.contract.request import ANONYMOUS, User


def certificate(name: str, *groups: str) -> bytes:
    issued = certificates.issue_client(AUTHORITY, name, groups, NOW, days=1)
    return issued.certificate.public_bytes(Encoding.DER)


@pytest.fixture
def world() -> World:
    return World(roles=False)


def test_a_certificate_names_user_and_groups(world: World) -> None:
    """CN is the user, each O a group, and the certificate's hash identifies the credential."""
    der = certificate("alice", "devs", "ops")
    extra: dict[str, tuple[str, ...]] = {
        "authentication.kubernetes.io/credential-id": (f"X509SHA256={hashlib.sha256(der).hexdigest()}",)
    }
    expected = User(name="alice", groups=("devs", "ops", "system:authenticated"), extra=extra)
    assert world.authenticator.authenticate(der, {}) == expected
    assert world.authenticator.authenticate(der, {"Authorization": "Bearer wrong"}) == expected


def test_a_certificate_ends_with_its_time_even_on_an_open_connection(world: World) -> None:
    """TLS looked at the time once, the request is looked at again."""
    der = certificate("alice")
    assert world.authenticator.authenticate(der, {}).name == "alice"
    world.now = NOW + 86400
    assert refused(lambda: world.authenticator.authenticate(der, {})) == one("errors", 33)["response_body"]
    assert world.authenticator.authenticate(der, {"Authorization": "Bearer secret"}) == ADMIN


@pytest.mark.parametrize("flaw", ["foreign", "same name", "serving", "no certificate"])
def test_a_certificate_that_is_not_ours_or_not_a_clients_is_refused(world: World, flaw: str) -> None:
    """TLS lets all of them through; each is 401, and a good token beside it still counts."""
    other = certificates.new_authority("other", NOW)
    namesake = certificates.new_authority("test", NOW)
    der = {
        "foreign": certificates.issue_client(other, "alice", ("system:masters",), NOW, 1),
        "same name": certificates.issue_client(namesake, "alice", ("system:masters",), NOW, 1),
        "serving": certificates.issue_serving(AUTHORITY, ["localhost"], NOW, 1),
    }
    shown = der[flaw].certificate.public_bytes(Encoding.DER) if flaw in der else b"\x30\x03\x02\x01\x01"
    assert refused(lambda: world.authenticator.authenticate(shown, {})) == one("errors", 33)["response_body"]
    assert world.authenticator.authenticate(shown, {"Authorization": "Bearer secret"}) == ADMIN


def test_a_certificate_without_a_name_is_nobodys(world: World) -> None:
    """Upstream takes it for no credential at all."""
    subject = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:masters")])
    leaf = certificates.Leaf(subject, AUTHORITY.key.public_key(), frozenset(), (), ())
    der = certificates.sign_leaf(AUTHORITY, leaf, NOW, 3600).public_bytes(Encoding.DER)
    assert world.authenticator.authenticate(der, {}) == ANONYMOUS


def test_a_wrong_token_is_never_anonymous(world: World) -> None:
    """Recorded: 401 with nothing but the word."""
    with pytest.raises(status.Unauthorized) as caught:
        world.authenticator.authenticate(None, {"Authorization": "Bearer nonsense"})
    assert wire(caught.value) == one("errors", 33)["response_body"]


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Basic eDp5"}, {"Authorization": "Bearer"}])
def test_without_a_credential_one_is_anonymous(world: World, headers: Any) -> None:
    """Headers of another scheme are none of ours."""
    assert world.authenticator.authenticate(None, headers) == ANONYMOUS


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("Bearer abc", "abc"),
        ("  bearer abc  ", "abc"),
        ("BEARER abc def", "abc"),
        ("Bearer  abc", ""),
        ("Token abc", ""),
        ("", ""),
    ],
)
def test_how_a_bearer_header_is_read(header: str, token: str) -> None:
    """One space, any case, and nothing after the token counts."""
    assert authenticate.bearer_token(header) == token


def test_remembered_certificates_are_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many callers do not fill the memory; the oldest is forgotten and read again."""
    monkeypatch.setattr(authenticate, "REMEMBERED", 2)
    ders = [certificate(name) for name in "abc"]
    names = [world.authenticator.authenticate(der, {}).name for der in [*ders, *ders]]
    assert names == list("abcabc")
    assert len(world.authenticator._identities) == 2


def bootstrap_secret(**changes: Any) -> Any:
    data = {
        "token-id": "abcdef",
        "token-secret": "0123456789abcdef",
        "usage-bootstrap-authentication": "true",
        "auth-extra-groups": "system:bootstrappers:workers",
        "expiration": "2030-01-01T00:00:00Z",
    }
    merged = {key: value for key, value in (data | changes.pop("data", {})).items() if value is not None}
    encoded = {key: b64encode(value.encode()).decode() for key, value in merged.items()}
    metadata = {"name": "bootstrap-token-abcdef", "namespace": "kube-system", **changes.pop("metadata", {})}
    return {"metadata": metadata, "type": "bootstrap.kubernetes.io/token", "data": encoded, **changes}


BOOTSTRAP = {"Authorization": "Bearer abcdef.0123456789abcdef"}


def test_a_bootstrap_token_gives_a_bootstrap_identity(world: World) -> None:
    """The user is named after the token's public half; groups are sorted."""
    world.put("secrets", bootstrap_secret())
    groups = ("system:bootstrappers", "system:bootstrappers:workers", "system:authenticated")
    expected = User(name="system:bootstrap:abcdef", groups=groups)
    assert world.authenticator.authenticate(None, BOOTSTRAP) == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"type": "Opaque"},
        {"metadata": {"deletionTimestamp": "2027-01-15T07:00:00Z"}},
        {"data": {"token-secret": "fedcba9876543210"}},
        {"data": {"token-id": "other1"}},
        {"data": {"usage-bootstrap-authentication": None}},
        {"data": {"expiration": "2020-01-01T00:00:00Z"}},
        {"data": {"expiration": "soon"}},
        {"data": {"auth-extra-groups": "system:masters"}},
    ],
)
def test_a_bootstrap_token_is_refused_for_any_flaw(world: World, changes: Any) -> None:
    """Type, deletion, secret, id, usage, time and groups must all be right."""
    world.put("secrets", bootstrap_secret(**changes))
    assert refused(lambda: world.authenticator.authenticate(None, BOOTSTRAP))["code"] == 401


def test_tokens_without_audiences_serve_the_servers_own(world: World) -> None:
    """A fixed token is no good towards somebody else."""
    assert world.authenticator.check_token("secret", ("https://other",)) == Refused("invalid bearer token")
