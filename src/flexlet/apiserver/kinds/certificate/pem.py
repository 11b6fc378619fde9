"""Certificate requests and certificates in PEM, with upstream's complaints about them."""

from cryptography import x509

from flexlet.apiserver.auth.requests import blocks, read_request
from flexlet.apiserver.auth.subject import UNREADABLE
from flexlet.errors import InputError


def request_complaint(data: bytes) -> str:
    """What is wrong with a certificate request; empty if nothing is."""
    try:
        read_request(data)
    except InputError as fault:
        return fault.message
    return ""


def certificate_complaint(data: bytes) -> str:
    """What is wrong with a chain of certificates; none at all is fine."""
    if not data:
        return ""
    found = list(blocks(data))
    for kind, block in found:
        if kind != "CERTIFICATE":
            return f'only CERTIFICATE PEM blocks are allowed, found "{kind}"'
        if b":" in block:
            return "no PEM block headers are permitted"
        try:
            x509.load_pem_x509_certificate(block)
        except UNREADABLE:
            return "x509: malformed certificate"
    return "" if found else "must contain at least one CERTIFICATE PEM block"
