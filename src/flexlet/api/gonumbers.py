"""Numbers as Go's decoder and encoder leave them in objects without a type.

An integer that does not fit 64 bits is a float once it is read; a float that is whole is an integer once it is
written.
"""

from typing import Any, Final

import msgspec

_SMALLEST: Final = -(2**63)
_LIMIT: Final = 2**63
_MAX_PLAIN: Final = 1e21


def tamed(value: Any) -> Any:
    """The value with integers beyond 64 bits as floats; containers are changed in place."""
    return _each(value, _as_read)


def whole(value: Any) -> Any:
    """The value with whole floats as integers; containers are changed in place."""
    return _each(value, _as_written)


def encode_sorted(value: Any) -> bytes:
    """The object as it is stored: keys in order at every level, numbers as they will be read again."""
    text = _encode(value)
    return _encode(whole(value)) if b".0" in text else text


_encode: Final = msgspec.json.Encoder(order="sorted").encode


def _as_read(value: Any) -> Any:
    return float(value) if type(value) is int and not _SMALLEST <= value < _LIMIT else value


def _as_written(value: Any) -> Any:
    return int(value) if type(value) is float and value.is_integer() and abs(value) < _MAX_PLAIN else value


def _each(value: Any, change: Any) -> Any:
    if isinstance(value, dict):
        for name, item in value.items():
            value[name] = _each(item, change)
        return value
    if isinstance(value, list):
        value[:] = [_each(item, change) for item in value]
        return value
    return change(value)
