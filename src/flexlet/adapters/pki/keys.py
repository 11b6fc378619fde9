"""Keys, signing requests and certificates as PEM, in the terms of `core.certificates`.

Keys are ECDSA P-256 in the form ``EC PRIVATE KEY``, as kubelets write them. The library's errors become
ConfigError with the name of what could not be read: files in the pki directory are the operator's to mend.
"""

import ipaddress
import re
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from flexlet.core.certificates.wanted import Held, Wanted
from flexlet.errors import ConfigError

BACKDATE: Final = timedelta(hours=1)
_REMEDY: Final = "remove it, and a new pair is asked for"


def new_key() -> bytes:
    """A fresh key."""
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())


def request(key: bytes, wanted: Wanted) -> bytes:
    """A signing request for what is wanted."""
    organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in wanted.organizations]
    subject = x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, wanted.common_name)])
    builder = x509.CertificateSigningRequestBuilder(subject)
    names = general_names(wanted.dns_names, wanted.ips)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(private_key(key, "the new key"), hashes.SHA256()).public_bytes(Encoding.PEM)


def general_names(dns_names: tuple[str, ...], ips: tuple[str, ...]) -> list[x509.GeneralName]:
    """Names and addresses as X.509 has them."""
    addresses = [x509.IPAddress(ipaddress.ip_address(text)) for text in ips]
    return [*(x509.DNSName(text) for text in dns_names), *addresses]


def public_der(key: bytes, source: str) -> bytes:
    """The public half, in the form that names are digested from."""
    return private_key(key, source).public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def private_key(pem: bytes, source: str) -> ec.EllipticCurvePrivateKey:
    """The key in a file that may hold certificates too."""
    try:
        found = load_pem_private_key(_from(b"PRIVATE KEY", pem), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise _unreadable(source, "key", error) from error
    return found  # type: ignore[return-value]  # RSA keys of others sign requests just as well


def facts(certificate: bytes, key: bytes, source: str) -> Held:
    """What a certificate says; ConfigError unless the key is its own."""
    try:
        found = x509.load_pem_x509_certificate(_from(b"CERTIFICATE", certificate))
    except ValueError as error:
        raise _unreadable(source, "certificate", error) from error
    der = found.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if der != public_der(key, source):
        raise ConfigError(f"{source}: the key is not the certificate's; {_REMEDY}")
    names = _names(found)
    return Held(
        begins=found.not_valid_before_utc.timestamp(),
        ends=found.not_valid_after_utc.timestamp(),
        common_name=next(iter(_values(found, NameOID.COMMON_NAME)), ""),
        organizations=_values(found, NameOID.ORGANIZATION_NAME),
        dns_names=tuple(names.get_values_for_type(x509.DNSName)) if names else (),
        ips=tuple(map(str, names.get_values_for_type(x509.IPAddress))) if names else (),
    )


def self_signed(key: bytes, host: str, ips: tuple[str, ...], now: float, life_s: float) -> bytes:
    """A serving certificate that vouches for itself."""
    private = private_key(key, "the new key")
    begins = datetime.fromtimestamp(int(now), UTC) - BACKDATE
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{host}@{int(now)}")])
    certificate = (
        x509.CertificateBuilder(name, name, private.public_key(), x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(begins + timedelta(seconds=life_s))
        .add_extension(x509.SubjectAlternativeName(general_names((host,), ips)), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(private, hashes.SHA256())
    )
    return certificate.public_bytes(Encoding.PEM)


def _values(certificate: x509.Certificate, oid: x509.ObjectIdentifier) -> tuple[str, ...]:
    return tuple(str(attribute.value) for attribute in certificate.subject.get_attributes_for_oid(oid))


def _names(certificate: x509.Certificate) -> x509.SubjectAlternativeName | None:
    try:
        return certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return None


def _from(label: bytes, pem: bytes) -> bytes:
    """The text from the first block whose label ends like this: the readers stop at blocks of another kind."""
    found = re.search(rb"-----BEGIN [A-Z ]*" + label + rb"-----", pem)
    return pem[found.start() :] if found else pem


def _unreadable(source: str, what: str, error: Exception) -> ConfigError:
    return ConfigError(f"{source}: cannot read the {what}: {error}; {_REMEDY}")
