"""Protobuf bodies made up from the schema: the right numbers and mostly the right wire types, any values."""

import random

from flexlet.api.schema.types import ListOf, MapOf, Scalar, Shape, Type

MAX_DEPTH = 8
_NUMBERS = frozenset({"int32", "int64", "boolean"})


def body(rng: random.Random, of: Type, api_version: str, kind: str, name: str) -> bytes:
    """A message of a kind in its envelope, with a name."""
    metadata = field(1, name.encode())
    message = field(1, metadata) + _message(rng, of, 0)
    return envelope(api_version, kind, message)


def envelope(api_version: str, kind: str, message: bytes) -> bytes:
    """The four magic bytes and an ``Unknown`` around a message."""
    meta = field(1, api_version.encode()) + field(2, kind.encode())
    return b"k8s\x00" + field(1, meta) + field(2, message)


def field(number: int, payload: bytes | int) -> bytes:
    """One field of a message."""
    if isinstance(payload, int):
        return varint(number << 3) + varint(payload)
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def varint(value: int) -> bytes:
    """Seven bits a byte."""
    found = bytearray()
    value &= 2**64 - 1
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*found, value))


def _message(rng: random.Random, of: Type, depth: int) -> bytes:
    fields = [one for one in of.numbers.values() if one.number and not (depth == 0 and one.number == 1)]
    chosen = rng.sample(fields, min(len(fields), rng.randrange(4)))
    return b"".join(_field(rng, one.number, one.shape, depth) for one in chosen)


def _field(rng: random.Random, number: int, shape: Shape, depth: int) -> bytes:
    if rng.random() < 0.03:
        return field(number, rng.choice((b"\xff\xfe", -1, b"\x0a" * 50, 2**40)))
    if isinstance(shape, ListOf):
        times = rng.choice((1, 1, 2, 50))
        return b"".join(_field(rng, number, shape.item, depth) for _ in range(times))
    if isinstance(shape, MapOf):
        entries = (
            field(1, b"k%d" % at) + _field(rng, 2, shape.value, depth) for at in range(rng.choice((1, 2, 30)))
        )
        return b"".join(field(number, entry) for entry in entries)
    if isinstance(shape, Type):
        return field(number, _message(rng, shape, depth + 1) if depth < MAX_DEPTH else b"")
    if isinstance(shape, Scalar) and shape.name in _NUMBERS:
        return field(number, rng.choice((0, 1, -1, 2**31, 2**63, 8080)))
    return field(number, rng.choice((b"", b"a", b"web", b"\xff", b"1Gi", b"x" * 300, b"\x0a\x011")))
