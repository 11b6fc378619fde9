"""The functions of rules: CEL's own, and those of Kubernetes' libraries that definitions commonly use.

By name and number of arguments; a method's target is its first argument. A value of the wrong type is an error of
the rule, in CEL's words.
"""

import ipaddress
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

from flexlet.api import addresses, gotext, regexps
from flexlet.api.age import parse as parse_time
from flexlet.api.quantity import Quantity
from flexlet.api.quantity import parse as parse_quantity
from flexlet.apiserver.crd.cel.operators import add, whole
from flexlet.apiserver.crd.cel.values import (
    NO_OVERLOAD,
    CelError,
    Duration,
    Optional,
    contains,
    duration,
    equal,
    ordered,
    type_of,
)
from flexlet.errors import InputError

_DIRECTIVE: Final = re.compile(r"%(?:\.(\d+))?([sdf%])")
_TRUE: Final = ("1", "t", "true", "TRUE", "True")
_FALSE: Final = ("0", "f", "false", "FALSE", "False")


def _typed(value: Any, *kinds: type) -> Any:
    if type(value) not in kinds and not (list in kinds and isinstance(value, list)):
        raise CelError(NO_OVERLOAD)
    return value


def _size(value: Any) -> int:
    return len(_typed(value, str, bytes, list, dict))


def _text(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose first argument is a text."""
    return lambda text, *rest: function(_typed(text, str), *rest)


def _matches(text: str, pattern: str) -> bool:
    try:
        found = regexps.compiled(_typed(pattern, str))
    except regexps.WrongPattern as fault:
        raise CelError(fault.message) from None
    if found is None:
        raise CelError(f"pattern `{pattern}` cannot be matched here")
    return found.search(text) is not None


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = regexps.compiled(_typed(pattern, str))
    every = [match[0] for match in found.finditer(text)] if found is not None else []
    return every if limit < 0 else every[:limit]


def _find(text: str, pattern: str) -> str:
    return next(iter(_find_all(text, pattern, 1)), "")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise CelError(f"index out of range: {index}")
    return text[index : index + 1]


def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if not 0 <= start <= stop <= len(text):
        raise CelError(f"index out of range: {start}")
    return text[start:stop]


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not separator:
        pieces = list(text)
        return pieces if limit < 0 else [*pieces[: limit - 1], "".join(pieces[limit - 1 :])]
    return text.split(separator, -1 if limit < 0 else limit - 1)


def _index_of(value: Any, wanted: Any, start: int = 0) -> int:
    if isinstance(value, list):
        return next((index for index, item in enumerate(value) if equal(item, wanted)), -1)
    return int(_typed(value, str).find(_typed(wanted, str), start))


def _last_index_of(value: Any, wanted: Any) -> int:
    if isinstance(value, list):
        return next((index for index in reversed(range(len(value))) if equal(value[index], wanted)), -1)
    return int(_typed(value, str).rfind(_typed(wanted, str)))


def _joined(items: Any, separator: str = "") -> str:
    return separator.join(_typed(item, str) for item in _typed(items, list))


def _slice(items: Any, start: int, end: int) -> list[Any]:
    if not 0 <= start <= end <= len(_typed(items, list)):
        raise CelError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return list(items[start:end])


def _distinct(items: Any) -> list[Any]:
    found: list[Any] = []
    for item in _typed(items, list):
        if not contains(found, item):
            found.append(item)
    return found


def _formatted(template: str, args: Any) -> str:
    """``'%s of %d'.format([a, b])``."""
    values = iter(_typed(args, list))

    def fill(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        value = next(values, None)
        if found[2] == "f":
            return f"{_double(value):.{found[1] or 6}f}"
        return str(_int(value)) if found[2] == "d" else _string(value)

    return _DIRECTIVE.sub(fill, template)


def _is_sorted(items: Any) -> bool:
    return all(ordered(left, right) <= 0 for left, right in zip(_typed(items, list), items[1:], strict=False))


def _sum(items: Any) -> Any:
    total = _typed(items, list)[0] if items else 0
    for item in items[1:]:
        total = add(total, item)
    return total


def _extreme(items: Any, sign: int, name: str) -> Any:
    if not _typed(items, list):
        raise CelError(f"{name} called on empty list")
    best = items[0]
    for item in items[1:]:
        best = item if sign * ordered(item, best) > 0 else best
    return best


def _int(value: Any) -> int:
    if type(value) is int:
        return value
    if type(value) is float:
        return whole(int(value))
    if isinstance(value, str) and re.fullmatch(r"[-+]?\d+", value, re.ASCII):
        return whole(int(value))
    if isinstance(value, datetime):
        return int(value.timestamp())
    raise _unconverted(value, "int")


def _double(value: Any) -> float:
    try:
        return float(_typed(value, int, float, str))
    except ValueError:
        raise _unconverted(value, "double") from None


def _bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value not in _TRUE and value not in _FALSE:
        raise _unconverted(value, "bool")
    return value in _TRUE


def _unconverted(value: Any, wanted: str) -> CelError:
    return CelError(f"type conversion error from '{type_of(value).name}' to '{wanted}'")


def _string(value: Any) -> str:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M:%SZ}"
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return gotext.sprint(value) if isinstance(value, str | int | float | bool) else str(value)


def _timestamp(value: Any) -> datetime:
    try:
        return value if isinstance(value, datetime) else parse_time(_typed(value, str))
    except InputError as fault:
        raise CelError(fault.message) from None


def _duration(value: Any) -> Duration:
    return value if isinstance(value, Duration) else duration(_typed(value, str))


def _quantity(text: Any) -> Quantity:
    try:
        return parse_quantity(_typed(text, str))
    except InputError as fault:
        raise CelError(fault.message) from None


def _is(convert: Callable[[Any], Any]) -> Callable[[Any], bool]:
    def check(value: Any) -> bool:
        try:
            convert(value)
        except CelError:
            return False
        return True

    return check


def _compared(left: Any, right: Any) -> int:
    if not (isinstance(left, Quantity) and isinstance(right, Quantity)):
        raise CelError(NO_OVERLOAD)
    return int(left > right) - int(left < right)


def _url(text: Any) -> str:
    parts = urlsplit(_typed(text, str))
    if not parts.scheme or not (parts.netloc or parts.path):
        quoted = gotext.quote(text)
        raise CelError(f"URL parse error during conversion from string: parse {quoted}: invalid URI for request")
    return str(text)


def _ip(text: Any) -> str:
    if addresses.legacy_ip(_typed(text, str)):
        raise CelError(f"IP Address {gotext.quote(text)} parse error during conversion from string")
    return str(ipaddress.ip_address(text))


def _cidr(text: Any) -> str:
    if addresses.legacy_cidr(_typed(text, str)) and "bits" not in addresses.legacy_cidr(text)[0]:
        raise CelError(f"CIDR '{text}' parse error during conversion from string")
    return str(text)


def _value(found: Any) -> Any:
    if not _typed(found, Optional).present:
        raise CelError("optional.none() dereference")
    return found.value


def _or_value(found: Any, other: Any) -> Any:
    return found.value if _typed(found, Optional).present else other


def _part(name: str, unit_nanos: int) -> Callable[..., int]:
    """A part of a time, or a duration counted in a unit."""

    def get(value: Any) -> int:
        if isinstance(value, Duration):
            return int(value.nanos / unit_nanos)
        return int(getattr(_typed(value, datetime), name))

    return get


_SECOND: Final = 10**9
METHODS: Final[dict[str, Callable[..., Any]]] = {
    "size": _size,
    "contains": _text(lambda text, part: _typed(part, str) in text),
    "startsWith": _text(lambda text, start: text.startswith(_typed(start, str))),
    "endsWith": _text(lambda text, end: text.endswith(_typed(end, str))),
    "matches": _text(_matches),
    "find": _text(_find),
    "findAll": _text(_find_all),
    "charAt": _text(_char_at),
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "lowerAscii": _text(str.lower),
    "upperAscii": _text(str.upper),
    "replace": _text(lambda text, old, new, count=-1: text.replace(old, new, count)),
    "split": _text(_split),
    "substring": _text(_substring),
    "trim": _text(str.strip),
    "reverse": lambda value: _typed(value, str, list)[::-1],
    "join": _joined,
    "slice": _slice,
    "distinct": _distinct,
    "format": _text(_formatted),
    "isSorted": _is_sorted,
    "sum": _sum,
    "min": lambda items: _extreme(items, -1, "min"),
    "max": lambda items: _extreme(items, 1, "max"),
    "hasValue": lambda found: _typed(found, Optional).present,
    "value": _value,
    "orValue": _or_value,
    "or": lambda found, other: found if _typed(found, Optional).present else other,
    "isGreaterThan": lambda left, right: _compared(left, right) > 0,
    "isLessThan": lambda left, right: _compared(left, right) < 0,
    "compareTo": _compared,
    "getFullYear": lambda time: _typed(time, datetime).year,
    "getMonth": lambda time: _typed(time, datetime).month - 1,
    "getDate": lambda time: _typed(time, datetime).day,
    "getDayOfMonth": lambda time: _typed(time, datetime).day - 1,
    "getDayOfWeek": lambda time: _typed(time, datetime).isoweekday() % 7,
    "getHours": _part("hour", 3600 * _SECOND),
    "getMinutes": _part("minute", 60 * _SECOND),
    "getSeconds": _part("second", _SECOND),
    "getScheme": lambda url: urlsplit(_url(url)).scheme,
    "getHost": lambda url: urlsplit(_url(url)).netloc.rpartition("@")[2],
    "getHostname": lambda url: urlsplit(_url(url)).hostname or "",
    "getPort": lambda url: str(urlsplit(_url(url)).port or ""),
    "getEscapedPath": lambda url: urlsplit(_url(url)).path,
    "family": lambda address: ipaddress.ip_address(_ip(address)).version,
}
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "size": _size,
    "matches": _text(_matches),
    "int": _int,
    "uint": _int,
    "double": _double,
    "string": _string,
    "bytes": lambda value: value.encode() if isinstance(value, str) else _typed(value, bytes),
    "bool": _bool,
    "type": type_of,
    "dyn": lambda value: value,
    "timestamp": _timestamp,
    "duration": _duration,
    "quantity": _quantity,
    "isQuantity": _is(_quantity),
    "url": _url,
    "isURL": _is(_url),
    "ip": _ip,
    "isIP": _is(_ip),
    "cidr": _cidr,
    "isCIDR": _is(_cidr),
    "optional.of": lambda value: Optional(value, True),
    "optional.none": Optional,
    "sets.contains": lambda all_, some: all(contains(_typed(all_, list), item) for item in _typed(some, list)),
    "sets.intersects": lambda left, right: any(contains(_typed(left, list), item) for item in _typed(right, list)),
    "sets.equivalent": (
        lambda left, right: all(contains(left, item) for item in right) and all(contains(right, x) for x in left)
    ),
    "strings.quote": lambda text: gotext.quote(_typed(text, str)),
}
NAMESPACES: Final = frozenset(name.partition(".")[0] for name in FUNCTIONS if "." in name)
