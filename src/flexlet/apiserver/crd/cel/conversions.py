"""CEL's types made of each other, and values that are texts with a meaning: quantities, URLs, addresses."""

import ipaddress
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

from flexlet.api import addresses, gotext
from flexlet.api.age import parse as parse_time
from flexlet.api.quantity import MAX_INT64, NANO, Quantity
from flexlet.api.quantity import parse as parse_quantity
from flexlet.apiserver.crd.cel.operators import whole
from flexlet.apiserver.crd.cel.values import NO_OVERLOAD, CelError, Duration, Optional, duration, type_of
from flexlet.errors import InputError

_TRUE: Final = ("1", "t", "true", "TRUE", "True")
_FALSE: Final = ("0", "f", "false", "FALSE", "False")


def typed(value: Any, *kinds: type) -> Any:
    """The value if it is of one of these types."""
    if type(value) not in kinds and not (list in kinds and isinstance(value, list)):
        raise CelError(NO_OVERLOAD)
    return value


def size_of(value: Any) -> int:
    """How long something is."""
    return len(typed(value, str, bytes, list, dict))


def to_int(value: Any) -> int:
    """``int(x)``."""
    if type(value) is int:
        return value
    if type(value) is float:
        return whole(int(value))
    if isinstance(value, str) and re.fullmatch(r"[-+]?\d+", value, re.ASCII):
        return whole(int(value))
    if isinstance(value, datetime):
        return int(value.timestamp())
    raise unconverted(value, "int")


def to_double(value: Any) -> float:
    """``double(x)``."""
    try:
        return float(typed(value, int, float, str))
    except ValueError:
        raise unconverted(value, "double") from None


def to_bool(value: Any) -> bool:
    """``bool(x)``."""
    if isinstance(value, bool):
        return value
    if value not in _TRUE and value not in _FALSE:
        raise unconverted(value, "bool")
    return value in _TRUE


def unconverted(value: Any, wanted: str) -> CelError:
    """A value that cannot be converted."""
    return CelError(f"type conversion error from '{type_of(value).name}' to '{wanted}'")


def to_string(value: Any) -> str:
    """``string(x)``."""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M:%SZ}"
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return gotext.sprint(value) if isinstance(value, str | int | float | bool) else str(value)


def to_timestamp(value: Any) -> datetime:
    """``timestamp(x)``."""
    try:
        return value if isinstance(value, datetime) else parse_time(typed(value, str))
    except InputError as fault:
        raise CelError(fault.message) from None


def to_duration(value: Any) -> Duration:
    """``duration(x)``."""
    return value if isinstance(value, Duration) else duration(typed(value, str))


def to_quantity(text: Any) -> Quantity:
    """``quantity(x)``."""
    try:
        return parse_quantity(typed(text, str))
    except InputError as fault:
        raise CelError(fault.message) from None


def succeeds(convert: Callable[[Any], Any]) -> Callable[[Any], bool]:
    """Whether a conversion has a result."""

    def check(value: Any) -> bool:
        try:
            convert(value)
        except CelError:
            return False
        return True

    return check


def compared(left: Any, right: Any) -> int:
    """-1, 0 or 1 for two quantities."""
    if not (isinstance(left, Quantity) and isinstance(right, Quantity)):
        raise CelError(NO_OVERLOAD)
    return int(left > right) - int(left < right)


def is_integer(amount: Any) -> bool:
    """Whether a quantity is a whole number that fits into 64 bits."""
    count, rest = divmod(typed(amount, Quantity).nano, NANO)
    return not rest and abs(count) <= MAX_INT64


def as_integer(amount: Any) -> int:
    """A quantity as a whole number, if it is one."""
    if not is_integer(amount):
        raise CelError("cannot convert value to integer")
    return int(amount.value)


def to_url(text: Any) -> str:
    """``url(x)``: the text, if it is one."""
    parts = urlsplit(typed(text, str))
    if not parts.scheme or not (parts.netloc or parts.path):
        quoted = gotext.quote(text)
        raise CelError(f"URL parse error during conversion from string: parse {quoted}: invalid URI for request")
    return str(text)


def ip_address(text: Any) -> str:
    """``ip(x)``: its canonical text."""
    if addresses.legacy_ip(typed(text, str)):
        raise CelError(f"IP Address {gotext.quote(text)} parse error during conversion from string")
    return str(ipaddress.ip_address(text))


def to_cidr(text: Any) -> str:
    """``cidr(x)``: the text, if it is one."""
    if addresses.legacy_cidr(typed(text, str)) and "bits" not in addresses.legacy_cidr(text)[0]:
        raise CelError(f"CIDR '{text}' parse error during conversion from string")
    return str(text)


def value_of(found: Any) -> Any:
    """What an optional holds."""
    if not typed(found, Optional).present:
        raise CelError("optional.none() dereference")
    return found.value


def or_value(found: Any, other: Any) -> Any:
    """What an optional holds, or something else."""
    return found.value if typed(found, Optional).present else other


def part_of(name: str, unit_nanos: int) -> Callable[..., int]:
    """A part of a time, or a duration counted in a unit."""

    def get(value: Any) -> int:
        if isinstance(value, Duration):
            return int(value.nanos / unit_nanos)
        return int(getattr(typed(value, datetime), name))

    return get
