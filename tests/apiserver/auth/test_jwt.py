"""A token is good by the algorithm of the key only, whatever its header says."""

from base64 import urlsafe_b64decode, urlsafe_b64encode

import msgspec
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from tests.apiserver.auth.world import token_key

from flexlet.apiserver.auth import jwt


@pytest.mark.parametrize(("algorithm", "good"), [("ES256", True), ("RS256", False), ("none", False), ("", False)])
def test_a_right_signature_under_another_algorithm_is_none(algorithm: str, good: bool) -> None:
    """The header is signed too: only its word for the algorithm differs."""
    header = _text({"alg": algorithm, "kid": jwt.key_id(token_key().public_key())})
    signed = header + b"." + _text({"sub": "me"})
    r, s = decode_dss_signature(token_key().sign(signed, ec.ECDSA(hashes.SHA256())))
    token = signed + b"." + _encoded(r.to_bytes(32, "big") + s.to_bytes(32, "big"))
    parts = jwt.split(token.decode())
    assert parts is not None
    assert urlsafe_b64decode(header + b"==") == msgspec.json.encode({"alg": algorithm, "kid": parts.header.kid})
    assert jwt.verifies(token_key().public_key(), parts) is good


@pytest.mark.parametrize("sign", ["!", "\n", " ", "=", "+", "/", "."])
def test_signs_that_are_not_of_base64_are_not_skipped(sign: str) -> None:
    """A token has one spelling."""
    token = jwt.Signer(token_key()).sign({"sub": "me"})
    assert jwt.split(token) is not None
    assert jwt.split(f"{token[:-8]}{sign}{token[-8:]}") is None
    assert jwt.split(token[:9] + sign + token[9:]) is None


def _text(value: object) -> bytes:
    return _encoded(msgspec.json.encode(value))


def _encoded(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")


def test_what_is_signed_and_published() -> None:
    """The header names the key; the key set and the discovery document name the same."""
    public = token_key().public_key()
    kid, point = jwt.key_id(public), public.public_numbers()
    x, y = (_encoded(value.to_bytes(32, "big")).decode() for value in (point.x, point.y))
    header = jwt.Signer(token_key()).sign({"sub": "me"}).partition(".")[0]
    assert msgspec.json.decode(urlsafe_b64decode(header + "==")) == {"alg": "ES256", "kid": kid}
    ring = jwt.KeyRing([public])
    assert ring.jwks() == {
        "keys": [{"use": "sig", "kid": kid, "alg": "ES256", "kty": "EC", "crv": "P-256", "x": x, "y": y}]
    }
    assert ring.algorithms() == ["ES256"]
