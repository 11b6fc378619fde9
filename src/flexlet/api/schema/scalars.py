"""Types with their own way to be read: quantities, times, int-or-string, bytes, free JSON.

A `Codec` says what a client may write for such a type, what the server stores for it, and what stands for "not
set". `read` gets a JSON value (numbers possibly as `gojson.Number`) and returns the stored form; it raises
InputError with Go's words, or WrongKind where Go names the type it wanted. Plain strings, numbers and booleans are
the walkers' own business.
"""

import base64
import binascii
import math
from collections.abc import Callable
from typing import Any, Final

import msgspec

from flexlet.api import age, gojson, quantity
from flexlet.errors import InputError

INT32: Final = (-(2**31), 2**31 - 1)
INT64: Final = (-(2**63), 2**63 - 1)
INTEGERS: Final = {"int32": INT32, "int64": INT64}

# What any JSON value but text and numbers looks like to the parser of quantities.
_NO_QUANTITY: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_ZERO_TIME: Final = "0001-01-01T00:00:00Z"
_ZERO_MICRO: Final = "0001-01-01T00:00:00.000000Z"


class WrongKind(InputError):
    """A JSON value of the wrong kind inside a scalar: ``cannot unmarshal VALUE into ... of type WANTED``."""

    def __init__(self, value: str, wanted: str) -> None:
        super().__init__(f"json: cannot unmarshal {value} into Go value of type {wanted}")
        self.value = value
        self.wanted = wanted


class Codec(msgspec.Struct, frozen=True):
    """How one scalar type is read; `zero` is what is written when it is not set but always shown."""

    read: Callable[[Any], Any]
    zero: Any = None


def described(value: Any) -> str:
    """Go's word for the kind of a JSON value other than null."""
    if isinstance(value, gojson.Number) or type(value) in (int, float):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "bool"
    return "object" if isinstance(value, dict | gojson.Pairs) else "array"


def number_text(value: Any) -> str | None:
    """The digits of a JSON number, None if it is something else."""
    if isinstance(value, gojson.Number):
        return str(value)
    return repr(value) if type(value) in (int, float) else None


def integer(value: Any, bounds: tuple[int, int], wanted: str) -> int:
    """A whole number without fraction or exponent, within bounds."""
    text = number_text(value)
    if text is None:
        raise WrongKind(described(value), wanted)
    digits = text.removeprefix("-")
    if not digits.isdigit() or not bounds[0] <= int(text) <= bounds[1]:
        raise WrongKind(f"number {text}", wanted)
    return int(text)


def number(value: Any, wanted: str) -> float:
    """Any number that fits into 64 bits of floating point."""
    text = number_text(value)
    if text is None:
        raise WrongKind(described(value), wanted)
    if math.isinf(float(text)):
        raise WrongKind(f"number {text}", wanted)
    return int(text) if text.removeprefix("-").isdigit() else float(text)


def _quantity(value: Any) -> str:
    if type(value) is str:
        return quantity.canonical(value.strip())
    text = number_text(value)
    if text is None:
        raise InputError(_NO_QUANTITY)
    return quantity.canonical(text)


def _int_or_string(value: Any) -> int | str:
    if isinstance(value, str) and not isinstance(value, gojson.Number):
        return value
    return integer(value, INT32, "int32")


def _time(value: Any) -> str | None:
    text = age.canonical(_string(value))
    return None if text == _ZERO_TIME else text


def _micro_time(value: Any) -> str | None:
    text = age.canonical_micro(_string(value))
    return None if text == _ZERO_MICRO else text


def _string(value: Any) -> str:
    if isinstance(value, str) and not isinstance(value, gojson.Number):
        return value
    raise WrongKind(described(value), "string")


def _bytes(value: Any) -> str:
    text = value if isinstance(value, str) and not isinstance(value, gojson.Number) else None
    if text is None:
        raise WrongKind(described(value), "[]uint8")
    try:
        decoded = base64.b64decode(text.replace("\r", "").replace("\n", ""), validate=True)
    except (binascii.Error, ValueError):
        raise InputError(f"illegal base64 data at input byte {_illegal_byte(text)}") from None
    return base64.b64encode(decoded).decode()


def _illegal_byte(text: str) -> int:
    """Where Go's decoder stumbles: the first foreign character, or where the last group of four breaks off."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    in_group = 0
    for at, character in enumerate(text.encode()):
        if chr(character) in "\r\n":
            continue
        if chr(character) == "=":
            return _after_padding(text, at, in_group)
        if chr(character) not in alphabet:
            return at
        in_group = (in_group + 1) % 4
    return len(text.encode()) - in_group


def _after_padding(text: str, at: int, in_group: int) -> int:
    """Padding may stand only at the end of a group of at least two, and nothing may follow it."""
    if in_group < 2:
        return at
    rest = text[at + 1 :].replace("\r", "").replace("\n", "")
    if in_group == 2 and not rest.startswith("="):
        return at if rest else len(text)
    return len(text) - len(rest) + (1 if in_group == 2 else 0)


def _free(value: Any) -> Any:
    return plain(value)


def plain(value: Any) -> Any:
    """A tree of Pairs and Numbers as ordinary values; the last of repeated keys wins."""
    if isinstance(value, gojson.Pairs):
        return {key: plain(item) for key, item in value}
    if isinstance(value, gojson.Number):
        return int(value) if value.removeprefix("-").isdigit() else float(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


CODECS: Final = {
    "Quantity": Codec(_quantity, "0"),
    "IntOrString": Codec(_int_or_string, 0),
    "meta.Time": Codec(_time),
    "meta.MicroTime": Codec(_micro_time),
    "byte": Codec(_bytes),
    "bytes": Codec(_bytes),
    "meta.FieldsV1": Codec(_free),
    "apiextensions.v1.JSON": Codec(_free),
}


_PLAIN_ZEROS: Final = {"string": "", "int32": 0, "int64": 0, "boolean": False, "double": 0}


def zero(name: str) -> Any:
    """What Go writes for a scalar that is not set."""
    return CODECS[name].zero if name in CODECS else _PLAIN_ZEROS[name]
