"""D-Bus as bytes: its types, and messages made of them.

Values are Python's: bool for ``b``, int for other whole numbers, str for ``s o g``, bytes for ``ay``, a list for
any other array, a tuple for a structure and for an entry of a dictionary, `Variant` for ``v``. We write little
endian and read both. All types are read, since systemd sends signals that nobody asked for.
"""

import struct
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

CALL: Final = 1
REPLY: Final = 2
ERROR: Final = 3
SIGNAL: Final = 4

HEAD: Final = 16
"""So many bytes tell how long a message is."""
LONGEST: Final = 1 << 27
"""Of a message, by the specification."""

PATH: Final = 1
INTERFACE: Final = 2
MEMBER: Final = 3
ERROR_NAME: Final = 4
REPLY_SERIAL: Final = 5
DESTINATION: Final = 6
SENDER: Final = 7
SIGNATURE: Final = 8

_FIXED: Final = dict(zip("ybnqiuhxtd", "BIhHiIIqQd", strict=True))
"""Types of one size, and how `struct` calls them."""
_ALIGNED: Final = {
    **dict.fromkeys("ygv", 1),
    **dict.fromkeys("nq", 2),
    **dict.fromkeys("biuhsoa", 4),
    **dict.fromkeys("xtd({", 8),
}
_FIELD_TYPES: Final = {
    PATH: "o",
    INTERFACE: "s",
    MEMBER: "s",
    ERROR_NAME: "s",
    REPLY_SERIAL: "u",
    DESTINATION: "s",
    SENDER: "s",
    SIGNATURE: "g",
}
_HEADER: Final = "a(yv)"


class Malformed(ValueError):
    """Bytes that are no D-Bus."""


class Variant(msgspec.Struct, frozen=True):
    """A value that carries its type."""

    signature: str
    value: Any


class Message(msgspec.Struct, frozen=True):
    """One message; `fields` by the numbers above, without the signature, which goes with the body."""

    kind: int
    serial: int
    fields: Mapping[int, Any] = {}
    signature: str = ""
    body: tuple[Any, ...] = ()


def types(signature: str) -> Iterator[str]:
    """The complete types in a row."""
    at = 0
    while at < len(signature):
        end = _end(signature, at)
        yield signature[at:end]
        at = end


def encode(message: Message) -> bytes:
    """The message as it goes over the wire."""
    body = _Writer()
    for kind, value in zip(types(message.signature), message.body, strict=True):
        body.put(kind, value)
    fields = dict(message.fields) | ({SIGNATURE: message.signature} if message.signature else {})
    writer = _Writer()
    writer.buffer += struct.pack("<cBBBII", b"l", message.kind, 0, 1, len(body.buffer), message.serial)
    writer.put(_HEADER, [(key, Variant(_FIELD_TYPES[key], value)) for key, value in fields.items()])
    writer.align(8)
    return bytes(writer.buffer + body.buffer)


def length(head: bytes) -> int:
    """How long the message is in all that begins with these `HEAD` bytes."""
    order = _order(head)
    body, _, fields = struct.unpack_from(f"{order}III", head, 4)
    whole = int(HEAD + -(-fields // 8) * 8 + body)
    if whole > LONGEST:
        raise Malformed(f"a message of {whole} bytes")
    return whole


def decode(raw: bytes) -> Message:
    """Read a whole message, or raise Malformed."""
    try:
        reader = _Reader(raw, _order(raw))
        kind = raw[1]
        reader.at = 8
        serial = reader.get("u")
        fields = {key: variant.value for key, variant in reader.get(_HEADER)}
        reader.align(8)
        signature = fields.pop(SIGNATURE, "")
        body = _Reader(raw[reader.at :], reader.order)
        return Message(kind, serial, fields, signature, tuple(body.get(each) for each in types(signature)))
    except (struct.error, IndexError, KeyError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(f"a message that ends early or has unknown types: {error}") from error


def _order(raw: bytes) -> str:
    try:
        return {0x6C: "<", 0x42: ">"}[raw[0]]
    except KeyError as error:
        raise Malformed(f"a message that begins with {raw[:1]!r}") from error


def _end(signature: str, at: int) -> int:
    """Where the complete type that begins at `at` ends."""
    if signature[at] == "a":
        return _end(signature, at + 1)
    if signature[at] not in "({":
        return at + 1
    at += 1
    while signature[at] not in ")}":
        at = _end(signature, at)
    return at + 1


class _Writer:
    def __init__(self) -> None:
        self.buffer = bytearray()

    def align(self, size: int) -> None:
        self.buffer += bytes(-len(self.buffer) % size)

    def put(self, kind: str, value: Any) -> None:
        self.align(_ALIGNED[kind[0]])
        match kind[0]:
            case "s" | "o":
                text = value.encode()
                self.buffer += struct.pack("<I", len(text)) + text + b"\0"
            case "g":
                self.buffer += bytes([len(value)]) + value.encode() + b"\0"
            case "v":
                self.put("g", value.signature)
                self.put(value.signature, value.value)
            case "a":
                self._put_array(kind[1:], value)
            case "(" | "{":
                for each, part in zip(types(kind[1:-1]), value, strict=True):
                    self.put(each, part)
            case _:
                self.buffer += struct.pack(f"<{_FIXED[kind]}", value)

    def _put_array(self, kind: str, values: Any) -> None:
        """Its length does not count what aligns the first element."""
        at = len(self.buffer)
        self.buffer += bytes(4)
        self.align(_ALIGNED[kind[0]])
        begin = len(self.buffer)
        for each in values:
            self.put(kind, each)
        struct.pack_into("<I", self.buffer, at, len(self.buffer) - begin)


class _Reader:
    def __init__(self, raw: bytes, order: str) -> None:
        self.raw = raw
        self.order = order
        self.at = 0

    def align(self, size: int) -> None:
        self.at += -self.at % size

    def get(self, kind: str) -> Any:
        self.align(_ALIGNED[kind[0]])
        match kind[0]:
            case "s" | "o":
                return self._text(self.get("u"))
            case "g":
                return self._text(self.get("y"))
            case "v":
                signature = self.get("g")
                return Variant(signature, self.get(signature))
            case "a":
                return self._array(kind[1:])
            case "(" | "{":
                return tuple(self.get(each) for each in types(kind[1:-1]))
            case _:
                return self._number(kind)

    def _number(self, kind: str) -> int | float | bool:
        form = f"{self.order}{_FIXED[kind]}"
        (value,) = struct.unpack_from(form, self.raw, self.at)
        self.at += struct.calcsize(form)
        return bool(value) if kind == "b" else value

    def _text(self, size: int) -> str:
        begin, self.at = self.at, self.at + size + 1
        if self.at > len(self.raw):
            raise Malformed("a text that is longer than its message")
        return self.raw[begin : begin + size].decode()

    def _array(self, kind: str) -> Any:
        size = self.get("u")
        self.align(_ALIGNED[kind[0]])
        end = self.at + size
        if end > len(self.raw):
            raise Malformed("an array that is longer than its message")
        if kind == "y":
            begin, self.at = self.at, end
            return bytes(self.raw[begin:end])
        found = []
        while self.at < end:
            found.append(self.get(kind))
        return found
