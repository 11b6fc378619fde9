"""Whether a TLS secret's parts belong together: Go's words, as warnings."""

import base64
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.apiserver.kinds import recordings

from flexlet.apiserver.kinds import keypair

Key = ec.EllipticCurvePrivateKey


def pem_key(key: Key) -> bytes:
    """The key, unencrypted."""
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def pem_certificate(key: Key) -> bytes:
    """A certificate of the key, by itself."""
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "x")])
    start = datetime(2026, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(start).not_valid_after(start + timedelta(days=1))
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


ONE, OTHER = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
CERTIFICATE, KEY = pem_certificate(ONE), pem_key(ONE)
BROKEN = b"-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n"
ODD = b"-----BEGIN X-----\nAA==\n-----END X-----\n"


@pytest.mark.parametrize(
    ("certificate", "key", "wanted"),
    [
        (CERTIFICATE, KEY, ""),
        (CERTIFICATE, pem_key(OTHER), "tls: private key does not match public key"),
        (CERTIFICATE, BROKEN, "tls: failed to parse private key"),
        (CERTIFICATE, b"", "tls: failed to find any PEM data in key input"),
        (
            CERTIFICATE,
            CERTIFICATE,
            "tls: found a certificate rather than a key in the PEM for the private key",
        ),
        (b"x", KEY, "tls: failed to find any PEM data in certificate input"),
    ],
)
def test_complaints(certificate: bytes, key: bytes, wanted: str) -> None:
    """The first thing that is wrong."""
    assert keypair.complaint(certificate, key) == wanted


def test_switched_and_foreign_blocks() -> None:
    """The texts name what was found instead."""
    assert keypair.complaint(KEY, KEY).endswith("but did find a private key; PEM inputs may have been switched")
    assert keypair.complaint(ODD, KEY).endswith("after skipping PEM blocks of the following types: [X]")
    assert keypair.complaint(CERTIFICATE, ODD).endswith("after skipping PEM blocks of the following types: [X]")


@pytest.mark.parametrize(("content", "fine"), [(b"{}", True), (b"null", True), (b"[]", False), (b"{", False)])
def test_logins_of_registries_are_json_objects(content: bytes, fine: bool) -> None:
    """Their content is never shown."""
    strategy = recordings.kind_of("secrets").strategy
    obj = {
        "metadata": {"name": "s", "namespace": "ns"},
        "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": base64.b64encode(content).decode()},
    }
    strategy.default(obj)
    errors = strategy.validate(obj)
    assert [error.field for error in errors] == ([] if fine else ["data[.dockerconfigjson]"])
    assert all("<secret contents redacted>" in error.message for error in errors)
