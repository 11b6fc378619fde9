"""Typed decoding with errors that name the path: ``$.spec.containers[0].resources.limits.cpu``.

`msgspec` does the work; this module turns its exceptions into InputError, with the path as a field. A null stands
for an absent value, as everywhere in Kubernetes. Unknown fields are ignored here (Structs are subsets); strict
checks are the business of `flexlet.api.schema`.

The first attempt is the fast one. Only if it fails is the document looked at again, see `flexlet.api.mending`.
"""

from typing import Any, Final, TypeVar, cast

import msgspec

from flexlet.api import mending
from flexlet.api.quantity import ZERO, Quantity, parse
from flexlet.errors import InputError

T = TypeVar("T")


def from_json(data: bytes | str, kind: type[T]) -> T:
    """Decode JSON text into `kind` or raise InputError."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.json.Decoder(kind, dec_hook=_decode_scalar)
    try:
        return cast("T", decoder.decode(data))
    except msgspec.ValidationError:
        return from_value(_plain(data), kind)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise InputError(str(error)) from None


def from_value(value: Any, kind: type[T]) -> T:
    """Turn a JSON-like value (dicts, lists, scalars) into `kind` or raise InputError."""
    try:
        return _convert(value, kind)
    except msgspec.ValidationError as error:
        return mending.retry(value, str(error), lambda mended: _convert(mended, kind))


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
        return parse(value.strip() if isinstance(value, str) else repr(value))
    except InputError as error:
        raise ValueError(f"{value!r} is not a quantity: {error.message}") from None


def _plain(data: bytes | str) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise InputError(str(error)) from None


def _convert(value: Any, kind: type[T]) -> T:
    return msgspec.convert(value, kind, dec_hook=_decode_scalar)


def _decode_scalar(kind: type, value: Any) -> Any:
    if kind is not Quantity:
        raise NotImplementedError(kind)
    if type(value) is str:
        try:
            return parse(value)
        except InputError:
            pass  # `quantity` knows about white space and says what is wrong
    return quantity(value)


def _encode_scalar(value: Any) -> Any:
    if isinstance(value, Quantity):
        return str(value)
    raise NotImplementedError(type(value))


_encoder: Final = msgspec.json.Encoder(enc_hook=_encode_scalar)


# Building a decoder costs far more than using it, and the kinds are few.
_decoders: Final[dict[type, msgspec.json.Decoder[Any]]] = {}
