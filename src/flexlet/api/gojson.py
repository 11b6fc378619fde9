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
from flexlet.api.goscanner import SPACE, TRUNCATED, Scanner, SyntaxFault

__all__ = ["MAX_SCANNED", "Number", "Pairs", "SyntaxFault", "decode", "has_repeated_keys", "parse_pairs"]

_TOO_DEEP: Final = "invalid character '[' exceeded max depth"

MAX_DEPTH: Final = 200
MAX_SCANNED: Final = 64 * 1024

# A backslash and what it escapes: a pair of surrogates, half a pair, anything else.
_ESCAPE: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


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
    # Most clients send exactly what msgspec would write, and a dict cannot be written with a key twice.
    if msgspec.json.encode(value) == body.strip(SPACE):
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
