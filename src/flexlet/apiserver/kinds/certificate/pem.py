"""Certificate requests and certificates in PEM, with upstream's complaints about them."""

import re
from collections.abc import Iterator
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm

_BLOCK: Final = re.compile(
    rb"-----BEGIN (?P<kind>[^\n-]*)-----[ \t\r]*\n(?P<body>.*?)-----END (?P=kind)-----", re.DOTALL
)


def request_complaint(data: bytes) -> str:
    """What is wrong with a certificate request; empty if nothing is."""
    kind, block = next(_blocks(data), ("", b""))
    if kind != "CERTIFICATE REQUEST":
        return "PEM block type must be CERTIFICATE REQUEST"
    try:
        valid = x509.load_pem_x509_csr(block).is_signature_valid
    except (ValueError, UnsupportedAlgorithm):
        return "asn1: structure error: malformed certificate request"
    return "" if valid else "x509: signature does not match"


def certificate_complaint(data: bytes) -> str:
    """What is wrong with a chain of certificates; none at all is fine."""
    if not data:
        return ""
    blocks = list(_blocks(data))
    for kind, block in blocks:
        if kind != "CERTIFICATE":
            return f'only CERTIFICATE PEM blocks are allowed, found "{kind}"'
        if b":" in block:
            return "no PEM block headers are permitted"
        try:
            x509.load_pem_x509_certificate(block)
        except ValueError:
            return "x509: malformed certificate"
    return "" if blocks else "must contain at least one CERTIFICATE PEM block"


def _blocks(data: bytes) -> Iterator[tuple[str, bytes]]:
    for match in _BLOCK.finditer(data):
        yield match["kind"].decode(errors="replace"), match[0]
