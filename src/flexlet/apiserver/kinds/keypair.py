"""Whether a certificate and a private key belong together, in the words of Go's ``tls.X509KeyPair``.

Only warnings depend on it: the server stores a TLS secret whatever is in it.
"""

import re
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

_BOUNDARY: Final = re.compile(rb"-----(BEGIN|END) ([A-Z0-9 ]{1,100}+)-----")


def complaint(certificate: bytes, key: bytes) -> str:
    """What is wrong with the pair; empty if nothing is."""
    return _certificate_complaint(certificate) or _key_complaint(key) or _mismatch(certificate, key)


def _certificate_complaint(data: bytes) -> str:
    kinds = _block_kinds(data)
    if "CERTIFICATE" in kinds:
        return ""
    if not kinds:
        return "tls: failed to find any PEM data in certificate input"
    if len(kinds) == 1 and kinds[0].endswith("PRIVATE KEY"):
        return (
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM "
            "inputs may have been switched"
        )
    skipped = " ".join(kinds)
    return (
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the '
        f"following types: [{skipped}]"
    )


def _key_complaint(data: bytes) -> str:
    kinds = _block_kinds(data)
    if any(kind == "PRIVATE KEY" or kind.endswith(" PRIVATE KEY") for kind in kinds):
        return ""
    if not kinds:
        return "tls: failed to find any PEM data in key input"
    if kinds == ["CERTIFICATE"]:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    skipped = " ".join(kinds)
    return (
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks '
        f"of the following types: [{skipped}]"
    )


def _mismatch(certificate: bytes, key: bytes) -> str:
    try:
        public = x509.load_pem_x509_certificate(certificate).public_key()
        private = serialization.load_pem_private_key(key, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return "tls: failed to parse private key"
    if type(public) is not type(private.public_key()):
        return "tls: private key type does not match public key type"
    return "" if public == private.public_key() else "tls: private key does not match public key"


def _block_kinds(data: bytes) -> list[str]:
    """The kinds of the blocks that begin and end, in one pass over the data."""
    kinds: list[str] = []
    opened: dict[bytes, int] = {}
    end_of_last = 0
    for match in _BOUNDARY.finditer(data):
        if match[1] == b"BEGIN":
            opened.setdefault(match[2], match.start())
        elif opened.get(match[2], -1) >= end_of_last:
            kinds.append(match[2].decode())
            end_of_last = match.end()
            opened.clear()
    return kinds
