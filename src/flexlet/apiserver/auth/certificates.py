"""X.509 as this server needs it: one authority, leaf certificates below it, identities read from them.

Pure apart from randomness: time is an argument, files are the business of `pki`. Keys are ECDSA P-256, because
making an RSA key takes longer than the rest of the start. What must stay true: every leaf names its authority's
key (strict verifiers, Python 3.13 among them, ask for it), none outlives its authority, none is an authority.
"""

import hashlib
import ipaddress
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from flexlet.apiserver.auth.subject import UNREADABLE, read_subject
from flexlet.apiserver.contract.request import ANONYMOUS, User
from flexlet.errors import InputError

BACKDATE_S: Final = 300  # clocks of other machines may be a little behind
SHORT_S: Final = 8 * 3600
DAY_S: Final = 86400
CREDENTIAL_ID: Final = "authentication.kubernetes.io/credential-id"

_CLIENT: Final = (ExtendedKeyUsageOID.CLIENT_AUTH,)
_SERVER: Final = (ExtendedKeyUsageOID.SERVER_AUTH,)
_NO_USAGE: Final = dict.fromkeys(
    (
        "digital_signature",
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "key_cert_sign",
        "crl_sign",
        "encipher_only",
        "decipher_only",
    ),
    False,
)


class Credential(NamedTuple):
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def certificate_pem(self) -> bytes:
        """The certificate as PEM."""
        return self.certificate.public_bytes(Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        """The key as unencrypted PEM."""
        return key_pem(self.key)


class Identity(NamedTuple):
    """Whom a client certificate names, and when it is valid, in seconds since the epoch."""

    user: User
    begins: float
    ends: float


NEVER: Final = Identity(ANONYMOUS, 0, -1)
"""Of a certificate that is not ours or not for clients: valid at no time."""


class Leaf(NamedTuple):
    """What goes into a certificate below the authority."""

    subject: x509.Name
    public_key: CertificatePublicKeyTypes
    usages: frozenset[str]
    extended: Sequence[x509.ObjectIdentifier]
    names: Sequence[x509.GeneralName]


def utc(now: float) -> datetime:
    """Whole seconds since the epoch as X.509 wants them."""
    return datetime.fromtimestamp(int(now), UTC)


def new_key() -> ec.EllipticCurvePrivateKey:
    """A fresh key."""
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """A key as unencrypted PEM."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def new_authority(name: str, now: float, days: int = 3650) -> Credential:
    """A self-signed authority."""
    key = new_key()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    usage = x509.KeyUsage(**{**_NO_USAGE, "digital_signature": True, "key_cert_sign": True, "crl_sign": True})
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(utc(now - BACKDATE_S))
        .not_valid_after(utc(now + days * DAY_S))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Credential(certificate, key)


def issue_client(authority: Credential, name: str, groups: Sequence[str], now: float, days: int) -> Credential:
    """A certificate that authenticates a user: CN is the name, each O a group."""
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    subject = x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, name)])
    return _issue(authority, subject, _CLIENT, (), now, days)


def issue_serving(authority: Credential, hosts: Sequence[str], now: float, days: int) -> Credential:
    """A certificate for a TLS server reachable under `hosts`: names or addresses."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")])
    return _issue(authority, subject, _SERVER, [_general_name(host) for host in hosts], now, days)


def _issue(
    authority: Credential,
    subject: x509.Name,
    extended: Sequence[x509.ObjectIdentifier],
    names: Sequence[x509.GeneralName],
    now: float,
    days: int,
) -> Credential:
    key = new_key()
    leaf = Leaf(subject, key.public_key(), frozenset({"digital_signature"}), extended, names)
    return Credential(sign_leaf(authority, leaf, now, days * DAY_S), key)


def sign_leaf(authority: Credential, leaf: Leaf, now: float, lifetime_s: float) -> x509.Certificate:
    """Sign a certificate; a long-lived one ends as much earlier as it begins earlier."""
    issuer = authority.certificate
    ends = utc(now + lifetime_s - (BACKDATE_S if lifetime_s >= SHORT_S else 0))
    authority_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    builder = (
        x509.CertificateBuilder(issuer.subject, leaf.subject, leaf.public_key, x509.random_serial_number())
        .not_valid_before(utc(now - BACKDATE_S))
        .not_valid_after(min(ends, issuer.not_valid_after_utc))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(authority_key, critical=False)
    )
    if leaf.usages:
        usage = x509.KeyUsage(**{**_NO_USAGE, **dict.fromkeys(leaf.usages, True)})
        builder = builder.add_extension(usage, critical=True)
    if leaf.extended:
        builder = builder.add_extension(x509.ExtendedKeyUsage(leaf.extended), critical=False)
    if leaf.names:
        builder = builder.add_extension(x509.SubjectAlternativeName(leaf.names), critical=False)
    return builder.sign(authority.key, hashes.SHA256())


def identity(authority: x509.Certificate, der: bytes) -> Identity | None:
    """Whom a client certificate names; None for one without a common name, nobody at no time for a bad one."""
    try:
        certificate = x509.load_der_x509_certificate(der)
    except UNREADABLE:
        return NEVER
    if not issued_by(authority, certificate) or not _for_clients(certificate):
        return NEVER
    try:
        subject = read_subject(certificate)
    except InputError:
        return NEVER
    if not subject.name:
        return None
    user = User(
        name=subject.name,
        uid=subject.uid,
        groups=with_authenticated(subject.groups),
        extra={CREDENTIAL_ID: (f"X509SHA256={hashlib.sha256(der).hexdigest()}",)},
    )
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return Identity(user, begins.timestamp(), ends.timestamp())


def issued_by(authority: x509.Certificate, certificate: x509.Certificate) -> bool:
    """Whether the authority signed this certificate itself; nobody else may sign for it."""
    try:
        certificate.verify_directly_issued_by(authority)
    except Exception:  # noqa: BLE001  the library raises several unrelated classes; each means: not ours
        return False
    return True


def _for_clients(certificate: x509.Certificate) -> bool:
    """Whether its extended usages, if it names any, let it identify a client."""
    try:
        usages = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return True
    except UNREADABLE:
        return False
    return ExtendedKeyUsageOID.CLIENT_AUTH in usages or ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE in usages


def with_authenticated(groups: tuple[str, ...]) -> tuple[str, ...]:
    """The groups of somebody whose credentials were good."""
    if "system:authenticated" in groups or "system:unauthenticated" in groups:
        return groups
    return (*groups, "system:authenticated")


def serves(certificate: x509.Certificate, hosts: Sequence[str]) -> bool:
    """Whether a serving certificate names exactly these hosts."""
    return hosts_of(certificate) == {str(_general_name(host).value) for host in hosts}


def hosts_of(certificate: x509.Certificate) -> frozenset[str]:
    """The names and addresses in a serving certificate."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return frozenset()
    return frozenset(str(name.value) for name in found)


def lasts(certificate: x509.Certificate, now: float, days: float) -> bool:
    """Whether a certificate is valid now and for some days more."""
    ends = certificate.not_valid_after_utc
    return certificate.not_valid_before_utc <= utc(now) and ends - utc(now) > timedelta(days=days)


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
