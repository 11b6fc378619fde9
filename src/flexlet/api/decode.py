"""Typed decoding with errors that name the path: ``$.spec.containers[0].resources.limits.cpu``.

`msgspec` raises with the path already in its message; this module splits it off into an InputError. Unknown
fields are ignored here (Structs are subsets); strict checks are the business of `flexlet.api.schema`.
"""

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import msgspec

from flexlet.api.quantity import ZERO, Quantity
from flexlet.errors import InputError

T = TypeVar("T")

_AT: Final = re.compile(r"^(?P<message>.*?)(?: - at `(?P<path>[^`]*)`)?$", re.DOTALL)


def from_json(data: bytes | str, kind: type[T]) -> T:
    """Decode JSON text into `kind` or raise InputError."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.json.Decoder(kind, dec_hook=_decode_scalar)
    return cast("T", _guarded(lambda: decoder.decode(data)))


def from_value(value: Any, kind: type[T]) -> T:
    """Turn a JSON-like value (dicts, lists, scalars) into `kind` or raise InputError."""
    return _guarded(lambda: msgspec.convert(value, kind, dec_hook=_decode_scalar))


def to_value(value: Any) -> Any:
    """The JSON-like value of a Struct; quantities become their canonical text."""
    return msgspec.to_builtins(value, enc_hook=_encode_scalar)


def to_json(value: Any) -> bytes:
    """JSON bytes of Structs and plain values; quantities become their canonical text."""
    return _encoder.encode(value)


def quantity(value: Any) -> Quantity:
    """The amount that a JSON scalar stands for; ValueError if it stands for none."""
    if value is None:
        return ZERO
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"Expected a quantity such as `500m` or `1Gi`, got `{type(value).__name__}`")  # noqa: TRY004 msgspec adds the path to a ValueError only
    try:
        return Quantity.parse(value.strip() if isinstance(value, str) else repr(value))
    except InputError as error:
        raise ValueError(f"{value!r} is not a quantity: {error.message}") from None


def _decode_scalar(kind: type, value: Any) -> Any:
    if kind is not Quantity:
        raise NotImplementedError(kind)
    return quantity(value)


def _encode_scalar(value: Any) -> Any:
    if isinstance(value, Quantity):
        return str(value)
    raise NotImplementedError(type(value))


_encoder: Final = msgspec.json.Encoder(enc_hook=_encode_scalar)


# Building a decoder costs far more than using it, and the kinds are few.
_decoders: Final[dict[type, msgspec.json.Decoder[Any]]] = {}


def _guarded(decode: Callable[[], T]) -> T:
    try:
        return decode()
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        match = _AT.match(str(error))
        message, path = (match["message"], match["path"]) if match else (str(error), None)
        raise InputError(message or type(error).__name__, path or "$") from error
