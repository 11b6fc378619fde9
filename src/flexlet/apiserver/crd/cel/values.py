"""CEL's values, and JSON as a schema makes them.

Integers, doubles, texts, bytes, booleans, null, lists and maps are Python's own; times are datetimes, durations
nanoseconds in a class of their own. Lists know whether they are sets or map lists, because those are equal in any
order. Follows ``apiserver/pkg/cel/common/valuesunstructured.go``.
"""

import base64
import binascii
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from flexlet.api.age import parse as parse_time
from flexlet.apiserver.crd.node import Node
from flexlet.errors import InputError

NO_OVERLOAD: Final = "no such overload"
_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_MAX_NANOS: Final = 2.0**63
_DURATION: Final = re.compile(r"([-+]?)((?:(?:\d++(?:\.\d*+)?+|\.\d++)(?:ns|us|µs|μs|ms|s|m|h))+|0)", re.ASCII)
_PART: Final = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)


class CelError(Exception):
    """An expression has no value; the text says why."""


class Duration(msgspec.Struct, frozen=True, order=True):
    """A length of time in nanoseconds."""

    nanos: int

    def __str__(self) -> str:
        return f"{self.nanos / 10**9:g}s"


class Optional(msgspec.Struct, frozen=True):
    """A value that may not be there."""

    value: Any = None
    present: bool = False


class Type(msgspec.Struct, frozen=True):
    """The type of a value, as a value."""

    name: str


class SetList(list[Any]):
    """A list that is a set."""


class MapList(list[Any]):
    """A list of maps, each found by its keys."""

    keys: tuple[str, ...] = ()


def type_of(value: Any) -> Type:
    """The type of a value."""
    kind = next((name for base, name in TYPES if isinstance(value, base)), "dyn")
    return Type(kind)


def of_schema(value: Any, node: Node | None) -> Any:
    """A JSON value as CEL sees it under a schema; without one, as it is."""
    if node is None or value is None:
        return value
    if isinstance(value, dict):
        return {name: of_schema(item, node.below(name)) for name, item in value.items()}
    if isinstance(value, list):
        return _list(value, node)
    if isinstance(value, str) and node.format and node.types == ("string",):
        return _formatted(value, node.format)
    if type(value) is int and node.types == ("number",):
        return float(value)
    return value


def _list(value: list[Any], node: Node) -> list[Any]:
    items = [of_schema(item, node.items) for item in value]
    if node.list_type == "set":
        return SetList(items)
    if node.list_type == "map":
        found = MapList(items)
        found.keys = node.list_keys
        return found
    return items


def _formatted(text: str, form: str) -> Any:
    try:
        if form == "duration":
            return duration(text)
        if form == "date":
            return datetime.fromisoformat(text).replace(tzinfo=UTC)
        if form == "date-time":
            return parse_time(text)
        if form == "byte":
            return base64.b64decode(text, validate=True)
    except (CelError, InputError, ValueError, binascii.Error) as fault:
        raise CelError(f"Invalid {form} formatted string {text}: {fault}") from None
    return text


def duration(text: str) -> Duration:
    """A duration as Go writes it: ``1h30m``."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise CelError(f'time: invalid duration "{text}"')
    amounts = [float(number) * _UNITS[unit] for number, unit in _PART.findall(found[2])]
    if not sum(amounts) < _MAX_NANOS:  # infinity too
        raise CelError(f'time: invalid duration "{text}"')
    nanos = sum(map(round, amounts))
    return Duration(-nanos if found[1] == "-" else nanos)


def equal(left: Any, right: Any) -> bool:
    """CEL's equality: numbers by value, other types never across."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right
    if isinstance(left, list) and isinstance(right, list):
        return _equal_lists(left, right)
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(item, right[key]) for key, item in left.items())
    return type(left) is type(right) and bool(left == right)


def _equal_lists(left: list[Any], right: list[Any]) -> bool:
    if len(left) != len(right):
        return False
    if isinstance(left, MapList):
        among = _by_key(left.keys, right)
        return all(any(equal(item, other) for other in among(item)) for item in left)
    if isinstance(left, SetList):
        try:
            return {_mark(item) for item in left} == {_mark(item) for item in right}
        except TypeError:  # a set of maps or lists
            return all(contains(right, item) for item in left) and all(contains(left, item) for item in right)
    return all(map(equal, left, right))


def _by_key(keys: tuple[str, ...], items: list[Any]) -> Callable[[Any], list[Any]]:
    """Finds those of the items that have the same key as another: in one step, however many there are."""
    found: dict[Any, list[Any]] = {}
    for item in items:
        found.setdefault(tuple(_mark(item.get(key)) for key in keys), []).append(item)
    return lambda other: found.get(tuple(_mark(other.get(key)) for key in keys), [])


def _mark(scalar: Any) -> Any:
    """A scalar as the key of a dict: numbers are equal by value, but true is not 1."""
    return isinstance(scalar, bool), scalar


def contains(members: list[Any], value: Any) -> bool:
    """Whether a list has a value."""
    return any(equal(member, value) for member in members)


def ordered(left: Any, right: Any) -> int:
    """-1, 0 or 1; an error for what has no order."""
    numeric = all(type(value) in {int, float} for value in (left, right))
    if not numeric and (type(left) is not type(right) or type(left) not in _ORDERED):
        raise CelError(NO_OVERLOAD)
    return int(left > right) - int(left < right)


TYPES: Final[tuple[tuple[type, str], ...]] = (
    (bool, "bool"),
    (int, "int"),
    (float, "double"),
    (str, "string"),
    (bytes, "bytes"),
    (list, "list"),
    (dict, "map"),
    (type(None), "null_type"),
    (datetime, "google.protobuf.Timestamp"),
    (Duration, "google.protobuf.Duration"),
)
_ORDERED: Final = {bool, str, bytes, datetime, Duration}
