"""One reader of identities: what it refuses is refused at every door."""

from base64 import b64encode

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import AuthorityInformationAccessOID, ExtendedKeyUsageOID
from hypothesis import given
from hypothesis import strategies as st
from tests.apiserver.auth import foreigncerts
from tests.apiserver.auth.foreigncerts import AMBIGUOUS, CN, NODE, ORG, UID, UNKNOWN, joined, name
from tests.apiserver.auth.world import AUTHORITY, NOW, World, one, refused

from flexlet.apiserver.auth import certificates, requests, servingnames
from flexlet.apiserver.auth.subject import Subject, read_subject
from flexlet.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore:Attribute's length")  # X.520 likes neither 0 nor 65 characters

UNAUTHORIZED = one("errors", 33)["response_body"]
PLACE = x509.UniformResourceIdentifier("http://c/")
OCSP = AuthorityInformationAccessOID.OCSP
USAGES = ["digital signature", "client auth"]


@pytest.mark.parametrize("case", AMBIGUOUS)
def test_a_subject_that_could_be_two_people_is_nobodys(case: str) -> None:
    """Neither signer signs it, and the certificate, had somebody signed it, authenticates nobody."""
    asked = foreigncerts.csr(AMBIGUOUS[case])
    with pytest.raises(InputError):
        read_subject(asked)
    assert requests.objection(requests.KUBELET_CLIENT, asked, USAGES) != ""
    assert requests.objection(requests.CLIENT, asked, USAGES) != ""
    der = foreigncerts.certificate(AUTHORITY, AMBIGUOUS[case], NOW)
    assert certificates.identity(AUTHORITY.certificate, der) == certificates.NEVER
    assert refused(lambda: World(roles=False).authenticator.authenticate(der, {})) == UNAUTHORIZED


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("two common names", "subject has more than one common name"),
        ("two in one part", "subject has more than one common name"),
        ("a unit", "subject has a part other than O and CN: 2.5.4.11"),
        ("NUL", "subject common name has characters that do not print"),
        ("NUL in a group", "subject organization has characters that do not print"),
    ],
)
def test_the_signer_says_what_is_wrong(case: str, text: str) -> None:
    asked = foreigncerts.csr(AMBIGUOUS[case])
    assert requests.objection(requests.KUBELET_CLIENT, asked, USAGES) == text


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (name((ORG, "a"), (ORG, "b"), (CN, "me")), Subject("me", ("a", "b"))),
        (name((CN, "me"), (ORG, "a")), Subject("me", ("a",))),
        (joined((ORG, "a"), (ORG, "b"), (CN, "me")), Subject("me", ("a", "b"))),
        (name((ORG, "a")), Subject("", ("a",))),
        (name((CN, "")), Subject("", ())),
        (name((CN, "me"), (UID, "7")), Subject("me", (), "7")),
        (name((CN, "Jürgen"), kind=_ASN1Type.BMPString), Subject("Jürgen", ())),
        (name((CN, "x" * 100)), Subject("x" * 100, ())),
    ],
)
def test_a_subject_is_read_the_same_from_a_request_and_from_a_certificate(
    subject: x509.Name, expected: Subject
) -> None:
    """However its parts are joined, ordered and encoded."""
    der = foreigncerts.certificate(AUTHORITY, subject, NOW)
    assert read_subject(x509.load_der_x509_certificate(der)) == expected
    assert read_subject(foreigncerts.csr(subject)) == expected


def test_a_uid_is_for_authorities_to_write_not_for_requests() -> None:
    """As upstream's signer, which leaves it out of what it signs; here the request is refused."""
    subject = name((ORG, "system:nodes"), (CN, NODE), (UID, "7"))
    text = "subject has a part other than O and CN: uid"
    assert requests.objection(requests.KUBELET_CLIENT, foreigncerts.csr(subject), USAGES) == text
    found = certificates.identity(AUTHORITY.certificate, foreigncerts.certificate(AUTHORITY, subject, NOW))
    assert found is not None
    assert found.user.uid == "7"


def test_text_that_is_no_text_raises_nothing() -> None:
    """Bytes that are not UTF-8 where UTF-8 is promised: no identity, no request."""
    good = foreigncerts.certificate(AUTHORITY, name((CN, "abcdef")), NOW)
    bad = foreigncerts.damaged(good, b"abcdef", b"\xff\xfe\xfd\xfc\xfb\xfa")
    assert certificates.identity(AUTHORITY.certificate, bad) == certificates.NEVER
    with pytest.raises(InputError, match="cannot be read"):
        read_subject(x509.load_der_x509_certificate(bad))
    der = foreigncerts.csr(name((CN, "abcdef"))).public_bytes(Encoding.DER)
    asked = x509.load_der_x509_csr(foreigncerts.damaged(der, b"abcdef", b"\xff\xfe\xfd\xfc\xfb\xfa"))
    with pytest.raises(InputError, match="malformed certificate request"):
        requests.read_request(asked.public_bytes(Encoding.PEM))


@pytest.mark.parametrize(
    ("extension", "known"),
    [
        (x509.UnrecognizedExtension(UNKNOWN, b"\x05\x00"), False),
        (x509.TLSFeature([x509.TLSFeatureType.status_request]), False),  # parsed, but nobody acts on it
        (x509.KeyUsage(True, False, False, False, False, False, False, False, False), True),
        (x509.BasicConstraints(ca=False, path_length=None), True),
        (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), True),
        (x509.CertificatePolicies([x509.PolicyInformation(UNKNOWN, None)]), True),
        (x509.CRLDistributionPoints([x509.DistributionPoint([PLACE], None, None, None)]), True),
        (x509.NameConstraints([x509.DNSName("n")], None), True),
        (x509.SubjectAlternativeName([x509.DNSName("n")]), True),
        (x509.SubjectAlternativeName([x509.RegisteredID(UNKNOWN), x509.DNSName("n")]), True),
        (x509.SubjectAlternativeName([x509.RegisteredID(UNKNOWN)]), False),  # as Go: nothing in it was understood
        (x509.SubjectKeyIdentifier(b"k"), False),  # as Go: must not be critical
        (x509.AuthorityKeyIdentifier(b"k", None, None), False),
        (x509.AuthorityInformationAccess([x509.AccessDescription(OCSP, PLACE)]), False),
        (x509.PolicyConstraints(0, None), False),  # Go evaluates these; nobody here does
        (x509.InhibitAnyPolicy(0), False),
    ],
)
def test_a_critical_extension_must_be_known(extension: x509.ExtensionType, known: bool) -> None:
    """X.509: whoever does not know a critical extension must not believe the certificate."""
    der = foreigncerts.certificate(AUTHORITY, name((CN, "me")), NOW, extension)
    authenticator = World(roles=False).authenticator
    if known:
        assert authenticator.authenticate(der, {}).name == "me"
    else:
        assert refused(lambda: authenticator.authenticate(der, {})) == UNAUTHORIZED


@pytest.mark.parametrize(
    ("usages", "good"),
    [
        ([ExtendedKeyUsageOID.CLIENT_AUTH], True),
        ([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH], True),
        ([ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE], True),
        ([ExtendedKeyUsageOID.SERVER_AUTH], False),
        ([UNKNOWN], False),
    ],
)
def test_a_certificate_that_is_not_for_clients_identifies_none(
    usages: list[x509.ObjectIdentifier], good: bool
) -> None:
    """As Go verifies: one of its usages, where it names some, is that of clients or any."""
    der = foreigncerts.certificate(AUTHORITY, name((CN, "me")), NOW, x509.ExtendedKeyUsage(usages))
    assert (certificates.identity(AUTHORITY.certificate, der) != certificates.NEVER) is good


def test_a_request_with_an_unknown_critical_extension_is_not_signed() -> None:
    asked = foreigncerts.csr(name((ORG, "system:nodes"), (CN, NODE)), critical=UNKNOWN)
    text = f"critical extension {UNKNOWN.dotted_string} is not known"
    assert requests.objection(requests.KUBELET_CLIENT, asked, USAGES) == text


def test_names_of_other_kinds_are_not_signed() -> None:
    """Upstream copies four kinds of names and drops the others; what was asked for and is not given is refused."""
    other = x509.DirectoryName(name((CN, "x")))
    asked = foreigncerts.csr(name((CN, "alice")), [other])
    text = "only DNS, Email, IP and URI subjectAltNames are allowed"
    assert requests.objection(requests.CLIENT, asked, ["client auth"]) == text


@pytest.mark.parametrize("san", [b"\x00", b"\x30\x03\x82\x01\xff", b"\x30\x06\x87\x04\x01\x02\x03", b"\x30\x80"])
def test_a_broken_san_is_a_broken_request(san: bytes) -> None:
    """As upstream says when it is created."""
    asked = foreigncerts.csr(name((ORG, "system:nodes"), (CN, NODE)), san=san)
    with pytest.raises(InputError) as refusal:
        requests.read_request(asked.public_bytes(Encoding.PEM))
    assert refusal.value.message == "asn1: structure error: malformed certificate request"


def test_pem_is_read_in_one_pass() -> None:
    """A megabyte that only begins blocks, closed by a wrong end: no reason to start over each time."""
    text = b"-----BEGIN CERTIFICATE REQUEST-----\n" * 30_000 + b"-----END X-----\n"
    assert list(requests.blocks(text)) == []
    two = b"noise\n-----BEGIN A-----\nx\n-----END A-----\n-----BEGIN B-----\n-----END C-----\n-----BEGIN D-----\n"
    assert list(requests.blocks(two + b"-----END D-----")) == [
        ("A", b"-----BEGIN A-----\nx\n-----END A-----"),
        ("D", b"-----BEGIN D-----\n-----END D-----"),
    ]


DOORS = ("", requests.CLIENT, requests.KUBELET_CLIENT, requests.KUBELET_SERVING)


def through_every_door(pem: bytes) -> bool:
    """Admission, approval, signing and authentication of a request; whether it was read at all. None may raise."""
    try:
        asked = requests.read_request(pem)
    except InputError:
        return False
    for signer in DOORS:
        if requests.objection(signer, asked, USAGES) == "":
            signed = requests.sign_request(AUTHORITY, asked, USAGES, 600, NOW)
            der = x509.load_pem_x509_certificate(signed.encode()).public_bytes(Encoding.DER)
            found = certificates.identity(AUTHORITY.certificate, der)
            assert found is None or found.user.name == read_subject(asked).name
        servingnames.is_own(requests.names(asked), frozenset())
        servingnames.matches(requests.names(asked), frozenset({"n"}))
    return True


FLIPS = st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), min_size=1, max_size=4)


@given(FLIPS, st.integers(0, 2000))
def test_broken_bytes_pass_no_door_and_raise_at_none(flips: list[tuple[int, int]], cut: int) -> None:
    """Of a request and of a certificate."""
    asked = foreigncerts.csr(name((ORG, "system:nodes"), (CN, NODE)), [x509.DNSName("n")])
    der = _broken(asked.public_bytes(Encoding.DER), flips)
    label = b"CERTIFICATE REQUEST-----\n"
    for text in (der, der[:cut]):
        through_every_door(b"-----BEGIN " + label + b64encode(text) + b"\n-----END " + label)
    shown = _broken(foreigncerts.certificate(AUTHORITY, name((CN, "me")), NOW), flips)
    found = certificates.identity(AUTHORITY.certificate, shown)
    assert found in (certificates.NEVER, None) or found.user.name == "me"
    assert certificates.identity(AUTHORITY.certificate, shown[:cut]) in (certificates.NEVER, found)


def _broken(der: bytes, flips: list[tuple[int, int]]) -> bytes:
    found = bytearray(der)
    for place, value in flips:
        found[place % len(found)] = value
    return bytes(found)


PARTS = st.tuples(st.sampled_from([CN, ORG, UID, UNKNOWN]), st.text(max_size=8))


@given(st.lists(PARTS, max_size=4), st.binary(max_size=24), st.binary(min_size=1, max_size=400))
def test_anything_that_was_signed_properly_raises_at_no_door(
    parts: list[tuple[x509.ObjectIdentifier, str]], san: bytes, text: bytes
) -> None:
    """Subjects of any text, SANs of any bytes, and bytes that are no request."""
    through_every_door(foreigncerts.csr(name(*parts), san=san).public_bytes(Encoding.PEM))
    through_every_door(
        foreigncerts.csr(name(*parts), san=b"\x30" + bytes([len(san)]) + san).public_bytes(Encoding.PEM)
    )
    assert not through_every_door(text)


@pytest.mark.parametrize(
    ("signer", "purpose"), [(requests.KUBELET_CLIENT, "client auth"), (requests.KUBELET_SERVING, "server auth")]
)
def test_the_usages_of_a_nodes_certificates(signer: str, purpose: str) -> None:
    """A signature and the purpose, with or without encipherment, and nothing else."""
    names = [x509.DNSName("n")] if signer == requests.KUBELET_SERVING else []
    asked = foreigncerts.csr(name((ORG, "system:nodes"), (CN, NODE)), names)
    good = ["digital signature", purpose]
    objection = f"usages did not match [{' '.join(sorted([*good, 'key encipherment']))}]"
    found = {
        usages: requests.objection(signer, asked, usages)
        for usages in (tuple(good), (*good, "key encipherment"), (purpose,), (*good, "any"), ())
    }
    assert list(found.values()) == ["", "", objection, objection, objection]


def test_the_names_that_are_the_servers_own() -> None:
    """Those of every server and those its certificate covers, as they are compared."""
    assert servingnames.reserved(["API.Example.COM.", "::ffff:10.0.0.1"]) == {
        *("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"),
        *("kubernetes.default.svc.cluster.local", "127.0.0.1", "::1", "api.example.com", "10.0.0.1"),
    }
