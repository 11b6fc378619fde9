"""JSON as Go reads it: the same documents accepted, the same words for those that are not.

`decode` is the one way request bodies become values. It runs at msgspec's speed; only a refused document is
scanned again, byte by byte, to find the words ``encoding/json`` has for it. `parse_pairs` keeps what a dict
loses: repeated keys and the digits of numbers; it is for documents that already passed `decode`.

Two positions of Go are kept: text that is no UTF-8 and lone surrogates become U+FFFD instead of an error. Three
are our own: a document may be nested 200 deep (Go: 10,000), so that no walker over it can exhaust the stack; it
may have 50,000 values (Go: any number), so that no walker over it takes seconds, and the largest definitions have
a third of that; and what is wrong with a long document is only said roughly, because finding Go's words takes a
second a megabyte.
"""

import json
import math
import re
import sys
from typing import Any, Final

import msgspec

from flexlet.api import gotext
from flexlet.api.goscanner import TRUNCATED, Scanner, SyntaxFault

__all__ = [
    "MAX_SCANNED",
    "Number",
    "Pairs",
    "SyntaxFault",
    "decode",
    "has_repeated_keys",
    "parse_pairs",
    "require_bounds",
]

_TOO_DEEP: Final = "invalid character '[' exceeded max depth"

MAX_DEPTH: Final = 200
MAX_VALUES: Final = 50_000
TOO_MANY: Final = f"document contains more than {MAX_VALUES} values"
MAX_SCANNED: Final = 64 * 1024

# A backslash and what it escapes: a pair of surrogates, half a pair, anything else.
_ESCAPE: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


class Pairs(list[tuple[str, Any]]):
    """A JSON object with repeated keys in their places."""


class Number(str):
    """A JSON number as it was written."""

    __slots__ = ()


def decode(body: bytes) -> Any:
    """The value of a JSON document, or SyntaxFault."""
    containers = body.count(b"[") + body.count(b"{")
    commas = body.count(b",")
    if commas > MAX_VALUES and _STRING.sub(b"", body).count(b",") > MAX_VALUES:
        raise SyntaxFault(TOO_MANY)  # before a million small objects are made
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = _decode_again(body)
    if containers > MAX_DEPTH or containers + commas > MAX_VALUES:
        require_bounds(value)
    return value


def require_bounds(value: Any) -> None:
    """SyntaxFault if a value is nested too deep or has too many values inside."""
    level, seen = [value], 1
    for _ in range(MAX_DEPTH + 1):
        containers = [
            item.values() if isinstance(item, dict) else item
            for item in level
            if item and isinstance(item, dict | list)
        ]
        seen += sum(map(len, containers))
        if seen > MAX_VALUES:
            raise SyntaxFault(TOO_MANY)
        if not containers:
            return
        level = [item for container in containers for item in container]
    raise SyntaxFault(_TOO_DEEP)


def _decode_again(body: bytes) -> Any:
    """The value of a document that Go accepts nevertheless, or the fault in Go's words."""
    if len(body) <= MAX_SCANNED and (fault := Scanner(body).fault()) is not None:
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
        return SyntaxFault(TRUNCATED)
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
    # Without escapes every text has two quotes, however it is spaced; a key that a dict lost took its two along.
    if b"\\" not in body and msgspec.json.encode(value).count(b'"') == body.count(b'"'):
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
