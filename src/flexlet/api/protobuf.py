"""Kubernetes' protobuf bodies, as kubectl sends them, into the JSON form of objects.

A generic reader over the schema's field numbers: no generated code, no protobuf library. A body is four magic
bytes and an ``Unknown`` message that names the kind and carries its message. Go also writes the empty values of
fields that are no pointers; `schema.stored_form` drops them, as JSON's ``omitempty`` would have.

What must stay true: any bytes give an object or a ProtobufFault, in time proportional to their number; and no
object has more values than one of JSON may have, for two bytes may become an object of two hundred.
"""

import base64
import struct
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from flexlet.api import age, gojson, schema
from flexlet.api.schema.types import Field, ListOf, MapOf, Scalar, SchemaOr, Shape, Type
from flexlet.errors import InputError

MAGIC: Final = b"k8s\x00"
MAX_DEPTH: Final = 100

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class ProtobufFault(InputError):
    """The bytes are no message of this kind."""


class Envelope(msgspec.Struct, frozen=True):
    """What a body says it is, and the message itself."""

    api_version: str
    kind: str
    raw: bytes


class _Room:
    """How much deeper a message may go, and how many more fields all of them together may have."""

    __slots__ = ("_depth", "_left")

    def __init__(self, depth: int, left: list[int]) -> None:
        self._depth = depth
        self._left = left

    def inside(self) -> "_Room":
        if not self._depth:
            raise ProtobufFault("message is nested too deeply")
        return _Room(self._depth - 1, self._left)

    def count(self) -> None:
        self._left[0] -= 1
        if self._left[0] < 0:
            raise ProtobufFault(gojson.TOO_MANY)

    def counted(self, fields: Iterator[tuple[int, int | bytes]]) -> Iterator[tuple[int, int | bytes]]:
        for field in fields:
            self.count()
            yield field


def envelope(body: bytes) -> Envelope:
    """Open a body; ProtobufFault if it is none."""
    if not body.startswith(MAGIC):
        raise ProtobufFault(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        )
    parts = dict(_fields(body[len(MAGIC) :]))
    if _expect_bytes(parts.get(3, b"")):
        raise ProtobufFault(f"cannot read content encoding {_text(parts[3])!r}")
    type_meta = dict(_fields(_expect_bytes(parts.get(1, b""))))
    return Envelope(_text(type_meta.get(1, b"")), _text(type_meta.get(2, b"")), _expect_bytes(parts.get(2, b"")))


def decode(into: Type, opened: Envelope) -> dict[str, Any]:
    """The object in its stored form, with the kind and version the body states."""
    value = _message(into, opened.raw, _Room(MAX_DEPTH, [gojson.MAX_VALUES]))
    stated = {"kind": opened.kind, "apiVersion": opened.api_version}
    try:
        return schema.stored_form(into, {**{key: text for key, text in stated.items() if text}, **value})
    except InputError as fault:
        raise ProtobufFault(fault.message) from None


def _message(shape: Type, data: bytes, room: _Room) -> dict[str, Any]:
    inside = room.inside()
    result: dict[str, Any] = {}
    for number, payload in room.counted(_fields(data)):
        field = shape.numbers.get(number)
        if field is not None:
            _store(result, field, payload, inside)
    return result


def _store(result: dict[str, Any], field: Field, payload: int | bytes, room: _Room) -> None:
    shape = field.shape
    if field.inline and isinstance(shape, Type):
        result.update(_message(shape, _expect_bytes(payload), room))
    elif isinstance(shape, ListOf):
        result.setdefault(field.name, []).extend(_items(shape.item, payload, room))
    elif isinstance(shape, MapOf):
        key, value = _entry(shape, _expect_bytes(payload), room)
        result.setdefault(field.name, {})[key] = value
    else:
        result[field.name] = _value(shape, payload, room)


def _items(shape: Shape, payload: int | bytes, room: _Room) -> Iterator[Any]:
    """One item, or all of them where numbers are packed into one run of bytes."""
    if isinstance(payload, bytes) and isinstance(shape, Scalar) and shape.name in {"int32", "int64", "boolean"}:
        at = 0
        while at < len(payload):
            number, at = _varint(payload, at)
            room.count()
            yield _scalar(shape, number)
    else:
        yield _value(shape, payload, room)


def _entry(shape: MapOf, data: bytes, room: _Room) -> tuple[str, Any]:
    parts = dict(_fields(data))
    value = parts.get(2)
    return _text(parts.get(1, b"")), schema.zero(shape.value) if value is None else _value(
        shape.value, value, room
    )


def _value(shape: Shape, payload: int | bytes, room: _Room) -> Any:
    if isinstance(shape, Scalar):
        return _scalar(shape, payload)
    data = _expect_bytes(payload)
    if isinstance(shape, Type):
        return _message(shape, data, room)
    if isinstance(shape, SchemaOr):
        return _schema_or(shape, data, room)
    # A list inside a map is wrapped into a message of its own.
    inner = shape.item if isinstance(shape, ListOf) else shape.value
    return [
        item for number, part in room.counted(_fields(data)) if number == 1 for item in _items(inner, part, room)
    ]


def _schema_or(shape: SchemaOr, data: bytes, room: _Room) -> Any:
    """A JSON schema, or the list or boolean that stands in its place."""
    schema_at = 2 if shape.item is None else 1
    found: list[Any] = []
    allowed = False
    for number, payload in room.counted(_fields(data)):
        if number == schema_at:
            return _message(shape.schema, _expect_bytes(payload), room)
        if shape.item is None:
            allowed = bool(payload)
        else:
            found.append(_value(shape.item, payload, room))
    return allowed if shape.item is None else found


def _scalar(shape: Scalar, payload: int | bytes) -> Any:
    return _READERS[shape.name](payload)


def _int(bits: int) -> Callable[[int | bytes], int]:
    def read(payload: int | bytes) -> int:
        half = 1 << (bits - 1)
        return (_expect_int(payload) + half) % (2 * half) - half

    return read


_int32: Final = _int(32)
_int64: Final = _int(64)


def _double(payload: int | bytes) -> float:
    number: float = struct.unpack("<d", struct.pack("<Q", _expect_int(payload)))[0]
    return number


def _bytes(payload: int | bytes) -> str:
    return base64.b64encode(_expect_bytes(payload)).decode()


def _quantity(payload: int | bytes) -> str:
    return _text(dict(_fields(_expect_bytes(payload))).get(1, b"")) or "0"


def _int_or_string(payload: int | bytes) -> int | str:
    parts = dict(_fields(_expect_bytes(payload)))
    return _text(parts.get(3, b"")) if _int64(parts.get(1, 0)) == 1 else _int32(parts.get(2, 0))


def _timestamp(payload: int | bytes) -> tuple[int, int] | None:
    """Seconds and nanoseconds; None for an empty message, Go's zero time."""
    parts = dict(_fields(_expect_bytes(payload)))
    seconds = _int64(parts.get(1, 0))
    if not parts:
        return None
    if not -62135596800 <= seconds < 253402300800:
        raise ProtobufFault(f"time out of range: {seconds}")
    return seconds, _int32(parts.get(2, 0))


def _time(payload: int | bytes) -> str | None:
    stamp = _timestamp(payload)
    return None if stamp is None else age.format_seconds(stamp[0])


def _micro_time(payload: int | bytes) -> str | None:
    stamp = _timestamp(payload)
    if stamp is None:
        return None
    return f"{age.format_seconds(stamp[0])[:-1]}.{stamp[1] // 1000 % 10**6:06d}Z"


def _json(payload: int | bytes) -> Any:
    raw = _expect_bytes(dict(_fields(_expect_bytes(payload))).get(1, b""))
    try:
        return gojson.decode(raw) if raw else None
    except gojson.SyntaxFault as fault:
        raise ProtobufFault(fault.message) from None


def _text(payload: int | bytes) -> str:
    return _expect_bytes(payload).decode(errors="replace")


_READERS: Final[dict[str, Callable[[int | bytes], Any]]] = {
    "string": _text,
    "int32": _int32,
    "int64": _int64,
    "boolean": lambda payload: _expect_int(payload) != 0,
    "double": _double,
    "byte": _bytes,
    "Quantity": _quantity,
    "IntOrString": _int_or_string,
    "meta.Time": _time,
    "meta.MicroTime": _micro_time,
    "meta.FieldsV1": _json,
    "apiextensions.v1.JSON": _json,
}


def _expect_bytes(payload: int | bytes) -> bytes:
    if isinstance(payload, int):
        raise ProtobufFault("number where bytes were expected")
    return payload


def _expect_int(payload: int | bytes) -> int:
    if isinstance(payload, bytes):
        raise ProtobufFault("bytes where a number was expected")
    return payload


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers and payloads in order: numbers as unsigned integers, everything else as bytes."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            payload, at = _varint(data, at)
            yield number, payload
            continue
        size, at = _varint(data, at) if wire == _BYTES else (_FIXED_SIZES.get(wire, -1), at)
        if size < 0 or at + size > len(data):
            raise ProtobufFault("unexpected end of message" if size >= 0 else f"illegal wire type {wire}")
        part, at = data[at : at + size], at + size
        yield number, part if wire == _BYTES else int.from_bytes(part, "little")


_FIXED_SIZES: Final = {_FIXED64: 8, _FIXED32: 4}


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned number in groups of seven bits, and where it ends."""
    result = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise ProtobufFault("unexpected end of message")
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & 0xFFFFFFFFFFFFFFFF, at
    raise ProtobufFault("number is longer than 64 bits")
