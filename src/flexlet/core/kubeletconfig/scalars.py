"""Quantities and durations in configuration files, with complaints that say what to write."""

from typing import Any

from flexlet.api import decode, duration
from flexlet.api.duration import Duration
from flexlet.api.quantity import Quantity
from flexlet.errors import InputError


def scalar(kind: type, value: Any) -> Any:
    """A quantity or a duration of what the document has there; msgspec's ``dec_hook``."""
    if kind is Quantity:
        return decode.quantity(value)
    if kind is not Duration:
        raise NotImplementedError(kind)
    if not isinstance(value, str):
        raise ValueError(f"Expected a duration such as `10s` or `1h30m`, got `{type(value).__name__}`")  # noqa: TRY004 msgspec adds the path to a ValueError only
    try:
        return duration.parse(value)
    except InputError as error:
        raise ValueError(f"{error.message}; write one such as `10s` or `1h30m`") from None


def plain(value: Any) -> Any:
    """The text of one; msgspec's ``enc_hook``."""
    if isinstance(value, Duration | Quantity):
        return str(value)
    raise NotImplementedError(type(value))
