"""Certificates and requests that no well-meaning client makes."""

import warnings
from collections.abc import Sequence
from datetime import timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import NameOID

from flexlet.apiserver.auth import certificates

KEY = certificates.new_key()
CN, ORG, OU = NameOID.COMMON_NAME, NameOID.ORGANIZATION_NAME, NameOID.ORGANIZATIONAL_UNIT_NAME
UID = x509.ObjectIdentifier("1.3.6.1.4.1.57683.2")
UNKNOWN = x509.ObjectIdentifier("1.3.6.1.4.1.57683.99")
Part = tuple[x509.ObjectIdentifier, str]
NODE = "system:node:evil"
VICTIM = "system:serviceaccount:ops:deployer"

AMBIGUOUS: dict[str, x509.Name] = {}


def name(*parts: Part, kind: _ASN1Type = _ASN1Type.UTF8String) -> x509.Name:
    """A subject of single-valued relative names, in this order."""
    with warnings.catch_warnings():  # of lengths that X.520 does not like
        warnings.simplefilter("ignore")
        return x509.Name([x509.NameAttribute(oid, value, kind, _validate=False) for oid, value in parts])


def joined(*parts: Part) -> x509.Name:
    """A subject of one relative name that has all the parts."""
    attributes = [x509.NameAttribute(oid, value) for oid, value in parts]
    return x509.Name([x509.RelativeDistinguishedName(attributes)])


AMBIGUOUS |= {
    "two common names": name((ORG, "system:nodes"), (CN, NODE), (CN, VICTIM)),
    "the node last": name((ORG, "system:nodes"), (CN, VICTIM), (CN, NODE)),
    "the same twice": name((ORG, "system:nodes"), (CN, NODE), (CN, NODE)),
    "two in one part": joined((ORG, "system:nodes"), (CN, NODE), (CN, VICTIM)),
    "an empty one first": name((ORG, "system:nodes"), (CN, ""), (CN, NODE)),
    "a unit": name((ORG, "system:nodes"), (OU, "x"), (CN, NODE)),
    "a mail address": name((ORG, "system:nodes"), (NameOID.EMAIL_ADDRESS, "a@b.c"), (CN, NODE)),
    "a part nobody knows": name((ORG, "system:nodes"), (UNKNOWN, "x"), (CN, NODE)),
    "NUL": name((ORG, "system:nodes"), (CN, f"{NODE}\0{VICTIM}")),
    "NUL in a group": name((ORG, "system:nodes"), (ORG, "system:masters\0"), (CN, NODE)),
    "a line break": name((ORG, "system:nodes"), (CN, f"{NODE}\n")),
    "two-byte NUL": name((ORG, "system:nodes"), (CN, f"{NODE}\0"), kind=_ASN1Type.BMPString),
    "an invisible sign": name((ORG, "system:nodes"), (CN, f"{NODE}\u200b")),
}
"""Subjects that one reader may take for somebody and another for somebody else."""


def csr(
    subject: x509.Name,
    names: Sequence[x509.GeneralName] = (),
    *,
    san: bytes = b"",
    critical: x509.ObjectIdentifier | None = None,
) -> x509.CertificateSigningRequest:
    """A request with SANs, or with any bytes in their place, or with a critical extension."""
    builder = x509.CertificateSigningRequestBuilder(subject)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    if san:
        broken = x509.UnrecognizedExtension(x509.SubjectAlternativeName.oid, san)
        builder = builder.add_extension(broken, critical=False)
    if critical is not None:
        builder = builder.add_extension(x509.UnrecognizedExtension(critical, b"\x05\x00"), critical=True)
    return builder.sign(KEY, hashes.SHA256())


def certificate(
    authority: certificates.Credential,
    subject: x509.Name,
    now: float,
    critical: x509.ExtensionType | None = None,
) -> bytes:
    """A client certificate (DER) that the authority signed, with whatever subject and critical extension."""
    begins = certificates.utc(now)
    builder = (
        x509.CertificateBuilder(authority.certificate.subject, subject, KEY.public_key(), 7)
        .not_valid_before(begins)
        .not_valid_after(begins + timedelta(hours=1))
    )
    if critical is not None:
        builder = builder.add_extension(critical, critical=True)
    return builder.sign(authority.key, hashes.SHA256()).public_bytes(Encoding.DER)


def damaged(der: bytes, before: bytes, after: bytes) -> bytes:
    """The same bytes with one text in them replaced by another of the same length."""
    assert len(before) == len(after)
    assert before in der
    return der.replace(before, after)
