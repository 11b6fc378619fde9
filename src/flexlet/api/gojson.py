"""JSON as Go reads it: the same documents accepted, the same words for those that are not.

`decode` is the one way request bodies become values. It runs at msgspec's speed; only a refused document is
scanned again, byte by byte, to find the words ``encoding/json`` has for it. `parse_pairs` keeps what a dict
loses: repeated keys and the digits of numbers; it is for documents that already passed `decode`.

Two positions of Go are kept: text that is no UTF-8 and lone surrogates become U+FFFD instead of an error. Two are
our own: a document may be nested 200 deep (Go: 10,000), so that no walker over it can exhaust the stack; and what
is wrong with a long document is only said roughly, because finding Go's words takes a second a megabyte.
"""

import json
import math
import re
import sys
from typing import Any, Final

import msgspec

from flexlet.api import gotext
from flexlet.errors import InputError

_SPACE: Final = b" \t\r\n"
_DIGITS: Final = b"0123456789"
_HEX: Final = b"0123456789abcdefABCDEF"
_ESCAPABLE: Final = b'bfnrt\\/"'
_LITERALS: Final = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}
_TRUNCATED: Final = "unexpected end of JSON input"
_TOO_DEEP: Final = "invalid character '[' exceeded max depth"

MAX_DEPTH: Final = 200
MAX_SCANNED: Final = 64 * 1024

# A backslash and what it escapes: a pair of surrogates, half a pair, anything else.
_ESCAPE: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


class SyntaxFault(InputError):
    """The text is not JSON; `message` is Go's."""


class Pairs(list[tuple[str, Any]]):
    """A JSON object with repeated keys in their places."""


class Number(str):
    """A JSON number as it was written."""

    __slots__ = ()


def decode(body: bytes) -> Any:
    """The value of a JSON document, or SyntaxFault."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = _decode_again(body)
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH and _is_deep(value):
        raise SyntaxFault(_TOO_DEEP)
    return value


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        containers = [
            item.values() if isinstance(item, dict) else item for item in level if item and _contains(item)
        ]
        level = [item for container in containers for item in container]
        if not level:
            return False
    return True


def _contains(value: Any) -> bool:
    return isinstance(value, dict | list)


def _decode_again(body: bytes) -> Any:
    """The value of a document that Go accepts nevertheless, or the fault in Go's words."""
    if len(body) <= MAX_SCANNED and (fault := _Scanner(body).fault()) is not None:
        raise SyntaxFault(fault)
    try:
        return json.loads(_text(body), parse_int=_integer, parse_float=_finite, parse_constant=_refuse)
    except RecursionError:
        raise SyntaxFault(_TOO_DEEP) from None
    except json.JSONDecodeError as error:
        raise _roughly(error.doc[error.pos :]) from None


def _refuse(constant: str) -> None:
    """NaN and the infinities are no JSON."""
    raise _roughly(constant)


def _roughly(rest: str) -> SyntaxFault:
    if not rest:
        return SyntaxFault(_TRUNCATED)
    return SyntaxFault(f"invalid character {gotext.quote_character(ord(rest[0]))} looking for beginning of value")


def _integer(text: str) -> int | float:
    """An integer; one too long for a float64 is refused before Python, which limits its digits, looks at it."""
    return int(text) if len(text) <= sys.float_info.max_10_exp else _finite(text)


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise SyntaxFault(f"json: cannot unmarshal number {text} into Go value of type float64")
    return number


def parse_pairs(body: bytes) -> Any:
    """The document with objects as Pairs and numbers as Number."""
    return _PAIRS.decode(_text(body))


_PAIRS: Final = json.JSONDecoder(object_pairs_hook=Pairs, parse_int=Number, parse_float=Number)


def has_repeated_keys(body: bytes, value: Any) -> bool:
    """Whether an object of the document has a key twice; `value` is what `decode` made of it."""
    # Most clients send exactly what msgspec would write, and a dict cannot be written with a key twice.
    if msgspec.json.encode(value) == body.strip(_SPACE):
        return False
    try:
        _UNIQUE.decode(_text(body))
    except _RepeatedKeyError:
        return True
    return False


class _RepeatedKeyError(Exception):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) != len(pairs):
        raise _RepeatedKeyError


_UNIQUE: Final = json.JSONDecoder(object_pairs_hook=_unique)


def _text(body: bytes) -> str:
    return _ESCAPE.sub(_whole, body.decode("utf-8", "replace"))


def _whole(match: re.Match[str]) -> str:
    return match[0] if match["half"] is None else r"\ufffd"


class _Scanner:
    """One pass over a document in search of the first byte Go would stumble over."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.at = 0

    def fault(self) -> str | None:
        try:
            self._document()
        except SyntaxFault as fault:
            return fault.message
        return None

    def _document(self) -> None:
        """Objects and arrays are kept on a stack of their own, so depth costs no Python frames."""
        stack: list[int] = []
        self._value(stack)
        while stack:
            self._after_value(stack)
        self._skip_space()
        if self.at < len(self.body):
            raise self._unexpected("after top-level value")

    def _after_value(self, stack: list[int]) -> None:
        byte = self._next_token()
        if stack[-1] == ord("{"):
            if byte == ord(","):
                self._key()
                self._value(stack)
            else:
                self._close(stack, byte, ord("}"), "after object key:value pair")
        elif byte == ord(","):
            self._value(stack)
        else:
            self._close(stack, byte, ord("]"), "after array element")

    def _close(self, stack: list[int], byte: int, expected: int, context: str) -> None:
        if byte != expected:
            raise self._unexpected(context, back=1)
        stack.pop()

    def _value(self, stack: list[int]) -> None:
        """Read one scalar or empty container, or open a container and read its first value."""
        while True:
            byte = self._next_token()
            if byte == ord("{"):
                if self._peek() == ord("}"):
                    self.at += 1
                    return
                self._key()
            elif byte == ord("["):
                if self._peek() == ord("]"):
                    self.at += 1
                    return
            else:
                self._scalar(byte)
                return
            stack.append(byte)

    def _key(self) -> None:
        if self._next_token() != ord('"'):
            raise self._unexpected("looking for beginning of object key string", back=1)
        self._string()
        if self._next_token() != ord(":"):
            raise self._unexpected("after object key", back=1)

    def _scalar(self, byte: int) -> None:
        if byte == ord('"'):
            self._string()
        elif byte in _LITERALS:
            self._literal(_LITERALS[byte])
        elif byte == ord("-") or byte in _DIGITS:
            self._number(byte)
        else:
            raise self._unexpected("looking for beginning of value", back=1)

    def _literal(self, word: bytes) -> None:
        for expected in word[1:]:
            if self._next() != expected:
                context = f"in literal {word.decode()} (expecting '{chr(expected)}')"
                raise self._unexpected(context, back=1)

    def _number(self, byte: int) -> None:
        if byte == ord("-"):
            byte = self._next()
            if byte not in _DIGITS:
                raise self._unexpected("in numeric literal", back=1)
        if byte != ord("0"):
            self._digits()
        if self._here() == ord("."):
            self.at += 1
            self._some_digits("after decimal point in numeric literal")
        if self._here() in (ord("e"), ord("E")):
            self.at += 1
            if self._here() in (ord("+"), ord("-")):
                self.at += 1
            self._some_digits("in exponent of numeric literal")

    def _some_digits(self, context: str) -> None:
        if self._next() not in _DIGITS:
            raise self._unexpected(context, back=1)
        self._digits()

    def _digits(self) -> None:
        while self._here() in _DIGITS:
            self.at += 1

    def _string(self) -> None:
        while (byte := self._next()) != ord('"'):
            if byte == ord("\\"):
                self._escape()
            elif byte < 0x20:
                raise self._unexpected("in string literal", back=1)

    def _escape(self) -> None:
        byte = self._next()
        if byte == ord("u"):
            for _ in range(4):
                if self._next() not in _HEX:
                    raise self._unexpected("in \\u hexadecimal character escape", back=1)
        elif byte not in _ESCAPABLE:
            raise self._unexpected("in string escape code", back=1)

    def _next_token(self) -> int:
        self._skip_space()
        return self._next()

    def _next(self) -> int:
        if self.at >= len(self.body):
            raise SyntaxFault(_TRUNCATED)
        self.at += 1
        return self.body[self.at - 1]

    def _peek(self) -> int:
        self._skip_space()
        return self._here()

    def _here(self) -> int:
        # A space stands for the end, as it does in Go's scanner.
        return self.body[self.at] if self.at < len(self.body) else ord(" ")

    def _skip_space(self) -> None:
        while self.at < len(self.body) and self.body[self.at] in _SPACE:
            self.at += 1

    def _unexpected(self, context: str, back: int = 0) -> SyntaxFault:
        byte = self.body[self.at - back]
        return SyntaxFault(f"invalid character {gotext.quote_character(byte)} {context}")
