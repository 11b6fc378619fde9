"""Certificate requests for lines whose recorded one was left out."""

import functools

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


@functools.cache
def certificate_request(node: str) -> bytes:
    """A node's request for a client certificate, in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    oid = x509.NameOID
    subject = x509.Name(
        [
            x509.NameAttribute(oid.ORGANIZATION_NAME, "system:nodes"),
            x509.NameAttribute(oid.COMMON_NAME, f"system:node:{node}"),
        ]
    )
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM)
