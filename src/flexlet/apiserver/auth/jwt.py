"""JSON Web Tokens in compact form: signing with our key, checking signatures, publishing the public half.

Knows nothing of claims beyond their being JSON. Signs with ES256; checks ES256 and RS256, and only with the
algorithm that fits the key (a token cannot choose ``none`` or an HMAC over a public key). The key id is
upstream's: the SHA-256 of the public key, so a restart with the same key keeps old tokens good.
"""

import binascii
import hashlib
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Iterable
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

PublicKey: TypeAlias = ec.EllipticCurvePublicKey | rsa.RSAPublicKey

_COORDINATE: Final = 32  # bytes of a P-256 number


class Header(msgspec.Struct, frozen=True):
    """The fields of a token's header that matter."""

    alg: str = ""
    kid: str = ""


class Parts(NamedTuple):
    """A token taken apart; nothing in it is trusted yet."""

    header: Header
    payload: bytes
    signed: bytes
    signature: bytes


def split(token: str) -> Parts | None:
    """Take a token apart; None where it is no JWT."""
    try:
        header, payload, signature = token.encode("ascii").split(b".")
        return Parts(
            header=msgspec.json.decode(_decode(header), type=Header),
            payload=_decode(payload),
            signed=header + b"." + payload,
            signature=_decode(signature),
        )
    except (ValueError, binascii.Error, msgspec.MsgspecError):
        return None


class Signer:
    """Signs claims with one elliptic curve key."""

    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        self._key = key
        header = {"alg": "ES256", "kid": key_id(key.public_key())}
        self._head = _encode(msgspec.json.encode(header))

    def sign(self, claims: Any) -> str:
        """The token that carries `claims`."""
        signed = self._head + b"." + _encode(msgspec.json.encode(claims))
        r, s = decode_dss_signature(self._key.sign(signed, ec.ECDSA(SHA256())))
        raw = r.to_bytes(_COORDINATE, "big") + s.to_bytes(_COORDINATE, "big")
        return (signed + b"." + _encode(raw)).decode()


class KeyRing:
    """The public keys whose tokens are ours, by key id."""

    def __init__(self, keys: Iterable[PublicKey]) -> None:
        self._keys = {key_id(key): key for key in keys}

    def candidates(self, kid: str) -> list[PublicKey]:
        """The keys that may have signed a token of this key id; all of them when it names none."""
        if not kid:
            return list(self._keys.values())
        return [self._keys[kid]] if kid in self._keys else []

    def jwks(self) -> dict[str, Any]:
        """The published key set (``/openid/v1/jwks``)."""
        return {"keys": [_jwk(kid, key) for kid, key in self._keys.items()]}

    def algorithms(self) -> list[str]:
        """The algorithms in use, for the discovery document."""
        return sorted({_algorithm(key) for key in self._keys.values()})


def verifies(key: PublicKey, parts: Parts) -> bool:
    """Whether the key made the token's signature, by the algorithm that fits the key."""
    if parts.header.alg != _algorithm(key):
        return False
    try:
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(parts.signature, parts.signed, padding.PKCS1v15(), SHA256())
            return True
        if len(parts.signature) != 2 * _COORDINATE:
            return False
        r, s = parts.signature[:_COORDINATE], parts.signature[_COORDINATE:]
        der = encode_dss_signature(int.from_bytes(r, "big"), int.from_bytes(s, "big"))
        key.verify(der, parts.signed, ec.ECDSA(SHA256()))
    except InvalidSignature:
        return False
    return True


def key_id(key: PublicKey) -> str:
    """The SHA-256 of the public key's DER form, in URL-safe base64."""
    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return _encode(hashlib.sha256(der).digest()).decode()


def _algorithm(key: PublicKey) -> str:
    return "RS256" if isinstance(key, rsa.RSAPublicKey) else "ES256"


def _jwk(kid: str, key: PublicKey) -> dict[str, str]:
    head = {"use": "sig", "kid": kid, "alg": _algorithm(key)}
    if isinstance(key, rsa.RSAPublicKey):
        public = key.public_numbers()
        return head | {"kty": "RSA", "n": _number(public.n), "e": _number(public.e)}
    point = key.public_numbers()
    x, y = (_encode(value.to_bytes(_COORDINATE, "big")).decode() for value in (point.x, point.y))
    return head | {"kty": "EC", "crv": "P-256", "x": x, "y": y}


def _number(value: int) -> str:
    return _encode(value.to_bytes((value.bit_length() + 7) // 8, "big")).decode()


def _encode(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")


def _decode(data: bytes) -> bytes:
    if b"=" in data or b"+" in data or b"/" in data:
        raise ValueError("not unpadded URL-safe base64")
    return b64decode(
        data + b"=" * (-len(data) % 4), altchars=b"-_", validate=True
    )  # else strange signs are skipped
