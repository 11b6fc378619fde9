"""Signing requests: kubelets are approved by the rules, approved requests are signed."""

from base64 import b64decode, b64encode
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, ip_address
from typing import Any

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from tests.apiserver.auth.world import ADMIN, NOW, World, one, rule, user
from tests.apiserver.housekeeping.memorycluster import MemoryCluster
from tests.engine.fakes import FakeClock

from flexlet.api import status
from flexlet.apiserver.auth import certificates, requests
from flexlet.apiserver.housekeeping.csr import CSRS, Office
from flexlet.errors import InputError

AUTHORITY = certificates.new_authority("test", NOW)
KEY = certificates.new_key()
CLIENT_USAGES = ["digital signature", "client auth"]
SERVER_USAGES = ["digital signature", "server auth"]


def request(name: str = "system:node:n", *organizations: str, names: Any = ()) -> x509.CertificateSigningRequest:
    attributes = [
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations or ("system:nodes",)
    ]
    subject = x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateSigningRequestBuilder(subject)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(KEY, hashes.SHA256())


def csr(asked: x509.CertificateSigningRequest, signer: str, usages: list[str], **spec: Any) -> Any:
    encoded = b64encode(asked.public_bytes(Encoding.PEM)).decode()
    full = {"request": encoded, "signerName": signer, "usages": usages, "username": "somebody", **spec}
    return {"kind": "CertificateSigningRequest", "metadata": {"name": "r"}, "spec": full, "status": {}}


class Bench:
    """An office over a cluster whose access reviews a real authorizer answers."""

    def __init__(self) -> None:
        self.world = World()
        self.cluster = MemoryCluster(self._review)
        self.asked: list[str] = []
        self.office = Office(self.cluster, AUTHORITY, FakeClock(NOW))

    def _review(self, body: Any) -> bytes:
        spec = body["spec"]
        self.asked.append(spec["resourceAttributes"]["subresource"])
        coroutine = self.world.reviews.create("SubjectAccessReview", {"spec": spec}, ADMIN)
        try:
            coroutine.send(None)
        except StopIteration as answer:
            return msgspec.json.encode(answer.value)
        raise AssertionError("a review does not wait")

    async def handle(self, obj: Any) -> Any:
        """The request's status after the office has seen it."""
        value = self.cluster.put(CSRS.plural, obj)
        await self.office.handle("ADDED", value)
        return self.cluster.by_key(CSRS.plural)["r"]["status"]


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_a_bootstrap_request_is_approved_and_signed_as_recorded(bench: Bench) -> None:
    """A new node with a bootstrap identity gets its client certificate without anybody's help."""
    group = {"kind": "Group", "name": "system:bootstrappers"}
    may = rule("create", "certificates.k8s.io", "certificatesigningrequests/nodeclient")
    bench.world.grant("", "join", [may], group)
    recorded = one("crud", 121)["response_body"]
    who = {key: recorded["spec"][key] for key in ("username", "groups", "extra")}
    found = await bench.handle(csr(request(), requests.KUBELET_CLIENT, CLIENT_USAGES, **who))
    pem = b64decode(found.pop("certificate"))
    expected = {
        key: value
        for key, value in recorded["status"]["conditions"][0].items()
        if key not in {"lastUpdateTime", "lastTransitionTime"}  # set by the server
    }
    assert found == {"conditions": [expected]}
    identity = certificates.identity(
        AUTHORITY.certificate, x509.load_pem_x509_certificate(pem).public_bytes(Encoding.DER)
    )
    assert identity is not None
    assert (identity.user.name, identity.user.groups) == (
        "system:node:n",
        ("system:nodes", "system:authenticated"),
    )
    assert bench.cluster.writes == [
        ("approval", "certificatesigningrequests", "r"),
        ("status", "certificatesigningrequests", "r"),
    ]


async def test_a_node_renews_its_own_certificate_by_a_right_of_its_own(bench: Bench) -> None:
    """The right selfnodeclient is asked first, and only when requester and subject are the same."""
    may = rule("create", "certificates.k8s.io", "certificatesigningrequests/selfnodeclient")
    bench.world.grant("", "renew", [may], {"kind": "Group", "name": "system:nodes"})
    own = {"username": "system:node:n", "groups": ["system:nodes"]}
    found = await bench.handle(csr(request(), requests.KUBELET_CLIENT, CLIENT_USAGES, **own))
    assert found["conditions"][0]["message"] == (
        "Auto approving self kubelet client certificate after SubjectAccessReview."
    )
    other = own | {"username": "system:node:m"}
    assert await bench.handle(csr(request(), requests.KUBELET_CLIENT, CLIENT_USAGES, **other)) == {}
    assert bench.asked == ["selfnodeclient", "nodeclient"]


@pytest.mark.parametrize(
    ("asked", "signer", "usages"),
    [
        (request("alice"), requests.KUBELET_CLIENT, CLIENT_USAGES),
        (request(), requests.KUBELET_CLIENT, SERVER_USAGES),
        (request(), requests.CLIENT, CLIENT_USAGES),
        (request(), "example.com/other", CLIENT_USAGES),
    ],
)
async def test_everything_else_waits_for_a_person(bench: Bench, asked: Any, signer: str, usages: Any) -> None:
    """However much the requester may do."""
    bench.world.grant("", "all", [rule("*", "*", "*")], user("somebody"))
    assert await bench.handle(csr(asked, signer, usages)) == {}
    assert bench.cluster.writes == []


APPROVED = {"type": "Approved", "status": "True", "reason": "Me"}


async def test_an_approved_request_that_breaks_the_signers_rules_fails_as_recorded(bench: Bench) -> None:
    """Recorded: a serving certificate without a name or address."""
    failed = one("crud", 124)["request_body"]["status"]["conditions"][1]
    obj = csr(request(), requests.KUBELET_SERVING, SERVER_USAGES) | {"status": {"conditions": [APPROVED]}}
    found = await bench.handle(obj)
    del failed["lastTransitionTime"]  # set by the server
    failed["lastUpdateTime"] = "2027-01-15T08:00:00Z"
    assert found == {"conditions": [APPROVED, failed]}
    await bench.office.handle("MODIFIED", await bench.cluster.get(CSRS, "", "r"))
    assert len(bench.cluster.writes) == 1


NAMES = [x509.DNSName("n.lan"), x509.IPAddress(IPv4Address("10.0.0.1"))]
NODE = {
    "metadata": {"name": "n"},
    "status": {
        "addresses": [
            {"type": "InternalIP", "address": "10.0.0.1"},
            {"type": "InternalDNS", "address": "n.lan"},
            {"type": "InternalDNS", "address": "kubernetes"},
        ]
    },
}
OWN = {"username": "system:node:n", "groups": ["system:nodes", "system:authenticated"]}


def serving(names: Any = NAMES, **who: Any) -> Any:
    return csr(request(names=names), requests.KUBELET_SERVING, SERVER_USAGES, **(OWN | who))


async def test_a_node_gets_a_serving_certificate_for_its_own_addresses(bench: Bench) -> None:
    """Upstream leaves it to an approver; a small cluster has none."""
    bench.cluster.put("nodes", NODE)
    found = await bench.handle(serving())
    assert x509.load_pem_x509_certificate(b64decode(found.pop("certificate"))).subject == request().subject
    message = "Auto approving kubelet serving certificate for the addresses of its own Node."
    condition = {"type": "Approved", "status": "True", "reason": "AutoApproved", "message": message}
    assert found == {"conditions": [condition]}


@pytest.mark.parametrize(
    "asked",
    [
        serving(username="system:node:m"),
        serving(groups=["system:authenticated"]),
        serving([*NAMES, x509.DNSName("other")]),
        serving([x509.DNSName("kubernetes")]),
        csr(request(names=NAMES), requests.KUBELET_SERVING, CLIENT_USAGES, **OWN),
    ],
    ids=["for another", "no node", "foreign name", "the server's name", "other usages"],
)
async def test_no_other_serving_certificate_is_approved(bench: Bench, asked: Any) -> None:
    """A node cannot pose as anybody else, not even by reporting the name."""
    bench.cluster.put("nodes", NODE)
    assert await bench.handle(asked) == {}


@pytest.mark.parametrize(
    "name",
    [
        *("LOCALHOST", "Kubernetes.default.svc", "*.default.svc", "kubernetes.default.svc.", "*.lan", "api.lan."),
        *("foreign.example", "x.localhost", "10.0.0.1", "10.0.0.9", "127.0.0.1", "127.1.2.3", "::ffff:127.0.0.1"),
        *("::1", "::", "0.0.0.0", "localhost.localdomain", "a.b.svc", "svc.cluster.local"),  # noqa: S104
    ],
)
async def test_a_node_gets_no_certificate_for_names_of_the_server_even_if_it_reports_them(name: str) -> None:
    """Whatever the case, final dots and patterns; foreign names are not even reported."""
    bench = Bench()
    bench.office = Office(bench.cluster, AUTHORITY, FakeClock(NOW), ["api.lan", "10.0.0.9"])
    foreign = name in {"foreign.example", "10.0.0.1"}  # 10.0.0.1 as a DNS name, which no Node can report
    kind = "InternalIP" if ":" in name or name[0] in "01" else "InternalDNS"
    entries = [] if foreign else [{"type": kind, "address": name}]
    bench.cluster.put("nodes", {"metadata": {"name": "n"}, "status": {"addresses": entries}})
    asked = x509.DNSName(name) if foreign or kind == "InternalDNS" else x509.IPAddress(ip_address(name))
    assert await bench.handle(serving([asked])) == {}


async def test_names_are_compared_without_regard_to_case_and_final_dot(bench: Bench) -> None:
    bench.cluster.put("nodes", NODE)
    assert "certificate" in await bench.handle(serving([x509.DNSName("N.LAN."), NAMES[1]]))


async def test_a_serving_request_waits_for_its_node(bench: Bench) -> None:
    """A node asks as soon as it knows its addresses; its Node may report them a moment later."""
    assert await bench.handle(serving()) == {}
    await bench.office.node_changed("ADDED", bench.cluster.put("nodes", NODE | {"status": {}}))
    await bench.office.node_changed("ADDED", bench.cluster.put("nodes", {"metadata": {"name": "m"}}))
    assert "certificate" not in bench.cluster.by_key(CSRS.plural)["r"]["status"]
    await bench.office.node_changed("MODIFIED", bench.cluster.put("nodes", NODE))
    assert "certificate" in bench.cluster.by_key(CSRS.plural)["r"]["status"]
    await bench.office.node_changed("DELETED", bench.cluster.put("nodes", NODE))


async def test_a_waiting_request_that_is_gone_is_forgotten(bench: Bench) -> None:
    await bench.handle(serving())
    bench.cluster.drop(CSRS.plural, "", "r")
    await bench.office.node_changed("ADDED", bench.cluster.put("nodes", NODE))
    assert bench.cluster.writes == []


@pytest.mark.parametrize("held", ["Denied", "Failed"])
async def test_denied_and_failed_requests_are_not_signed(bench: Bench, held: str) -> None:
    """Even when they are approved as well."""
    conditions = [APPROVED, {"type": held, "status": "True"}]
    obj = csr(request(), requests.CLIENT, CLIENT_USAGES) | {"status": {"conditions": conditions}}
    assert await bench.handle(obj) == {"conditions": conditions}


async def test_a_request_nobody_can_read_or_that_is_gone_is_left_alone(bench: Bench) -> None:
    """The loop goes on."""
    obj = csr(request(), requests.CLIENT, CLIENT_USAGES, request=b64encode(b"nonsense").decode())
    assert await bench.handle(obj | {"status": {"conditions": [APPROVED]}}) == {"conditions": [APPROVED]}
    readable = csr(request(), requests.CLIENT, CLIENT_USAGES) | {"status": obj["status"]}
    value = bench.cluster.put(CSRS.plural, readable)
    await bench.cluster.delete(CSRS, "", "r")
    await bench.office.handle("ADDED", value)
    await bench.office.handle("DELETED", value)
    assert bench.cluster.writes == []
    with pytest.raises(status.NotFound):
        await bench.cluster.get(CSRS, "", "r")


DNS, IP = x509.DNSName("n"), x509.IPAddress(IPv4Address("10.0.0.1"))
MAIL, URI = x509.RFC822Name("a@b.c"), x509.UniformResourceIdentifier("https://x")


@pytest.mark.parametrize(
    ("signer", "asked", "usages", "text"),
    [
        (requests.KUBELET_CLIENT, request(), CLIENT_USAGES, ""),
        (requests.KUBELET_CLIENT, request(), [*CLIENT_USAGES, "key encipherment"], ""),
        (
            requests.KUBELET_CLIENT,
            request(),
            ["client auth"],
            "usages did not match [client auth digital signature key encipherment]",
        ),
        (
            requests.KUBELET_CLIENT,
            request("system:node:n", "system:nodes", "x"),
            CLIENT_USAGES,
            "subject organization is not system:nodes",
        ),
        (
            requests.KUBELET_CLIENT,
            request("n"),
            CLIENT_USAGES,
            "subject common name does not begin with system:node:",
        ),
        (
            requests.KUBELET_CLIENT,
            request(names=[IP, DNS]),
            CLIENT_USAGES,
            "DNS subjectAltNames are not allowed",
        ),
        (requests.KUBELET_CLIENT, request(names=[URI]), CLIENT_USAGES, "URI subjectAltNames are not allowed"),
        (requests.KUBELET_SERVING, request(names=[DNS, IP]), SERVER_USAGES, ""),
        (requests.KUBELET_SERVING, request(), SERVER_USAGES, "DNS or IP subjectAltName is required"),
        (
            requests.KUBELET_SERVING,
            request(names=[DNS, MAIL]),
            SERVER_USAGES,
            "Email subjectAltNames are not allowed",
        ),
        (
            requests.KUBELET_SERVING,
            request("n", names=[DNS]),
            SERVER_USAGES,
            "subject common name does not begin with system:node:",
        ),
        (requests.CLIENT, request("alice", "devs"), ["client auth"], ""),
        (
            requests.CLIENT,
            request("alice"),
            ["digital signature"],
            "missing required usage for client certificate: client auth",
        ),
        (requests.CLIENT, request("alice"), SERVER_USAGES, "invalid usage for client certificate: server auth"),
    ],
)
def test_what_signers_object_to(signer: str, asked: Any, usages: list[str], text: str) -> None:
    """Each in upstream's words, the first objection only."""
    assert requests.objection(signer, asked, usages) == text


def test_a_signed_certificate_takes_over_subject_key_and_names_only() -> None:
    """Usages come from the request object; the certificate is no authority."""
    asked = request(names=[DNS, IP])
    usages = ["digital signature", "key encipherment", "server auth"]
    found = x509.load_pem_x509_certificate(
        requests.sign_request(AUTHORITY, asked, usages, requests.lifetime(None), NOW).encode()
    )
    usage = found.extensions.get_extension_for_class(x509.KeyUsage).value
    assert (found.subject, found.public_key()) == (asked.subject, KEY.public_key())
    assert (usage.digital_signature, usage.key_encipherment, usage.key_cert_sign) == (True, True, False)
    purposes = found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(purposes) == [ExtendedKeyUsageOID.SERVER_AUTH]
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert list(names) == [DNS, IP]
    moment = datetime.fromtimestamp(NOW, UTC)
    assert found.not_valid_before_utc == moment - timedelta(minutes=5)
    assert found.not_valid_after_utc == moment + timedelta(days=365, minutes=-5)


@pytest.mark.parametrize(("asked", "seconds"), [(None, 31536000), (1, 600), (3600, 3600), (99_999_999, 31536000)])
def test_how_long_certificates_last(asked: int | None, seconds: int) -> None:
    """As long as asked, between ten minutes and a year."""
    assert requests.lifetime(asked) == seconds


@pytest.mark.parametrize(
    ("pem", "text"),
    [
        (b"", "PEM block type must be CERTIFICATE REQUEST"),
        (
            b"-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n",
            "asn1: structure error: malformed certificate request",
        ),
    ],
)
def test_what_is_no_request(pem: bytes, text: str) -> None:
    """An error that says so, whatever the bytes."""
    with pytest.raises(InputError, match=text):
        requests.read_request(pem)
