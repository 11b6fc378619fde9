"""CEL's operators on values: arithmetic with 64 bits, comparison, membership."""

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from flexlet.apiserver.crd.cel.values import (
    NO_OVERLOAD,
    CelError,
    Duration,
    MapList,
    SetList,
    contains,
    equal,
    ordered,
)

_MAX: Final = 2**63


def whole(value: int) -> int:
    """An integer that fits 64 bits."""
    if not -_MAX <= value < _MAX:
        raise CelError("integer overflow")
    return value


def add(left: Any, right: Any) -> Any:
    """Sums, joined texts and lists, moved times."""
    if _both(left, right, int):
        return whole(left + right)
    if _both(left, right, float) or _both(left, right, str) or _both(left, right, bytes):
        return left + right
    if isinstance(left, list) and isinstance(right, list):
        return _joined(left, right)
    if isinstance(left, Duration) and isinstance(right, Duration):
        return Duration(whole(left.nanos + right.nanos))
    if isinstance(left, datetime) and isinstance(right, Duration):
        return left + timedelta(microseconds=right.nanos / 1000)
    if isinstance(left, Duration) and isinstance(right, datetime):
        return add(right, left)
    raise CelError(NO_OVERLOAD)


def _joined(left: list[Any], right: list[Any]) -> list[Any]:
    """A set takes no member twice, a map list no key twice: the new one wins, in the old one's place."""
    if isinstance(left, SetList):
        return SetList([*left, *(item for item in right if not contains(left, item))])
    if not isinstance(left, MapList):
        return [*left, *right]
    found = MapList(left)
    found.keys = left.keys
    for item in right:
        place = [
            index for index, old in enumerate(found) if all(equal(old.get(k), item.get(k)) for k in found.keys)
        ]
        if place:
            found[place[0]] = item
        else:
            found.append(item)
    return found


def subtract(left: Any, right: Any) -> Any:
    """Differences of numbers, times and durations."""
    if _both(left, right, int):
        return whole(left - right)
    if _both(left, right, float):
        return left - right
    if isinstance(left, Duration) and isinstance(right, Duration):
        return Duration(whole(left.nanos - right.nanos))
    if isinstance(left, datetime) and isinstance(right, datetime):
        return Duration(round((left - right).total_seconds() * 10**9))
    if isinstance(left, datetime) and isinstance(right, Duration):
        return left - timedelta(microseconds=right.nanos / 1000)
    raise CelError(NO_OVERLOAD)


def multiply(left: Any, right: Any) -> Any:
    """Products."""
    if _both(left, right, int):
        return whole(left * right)
    if _both(left, right, float):
        return left * right
    raise CelError(NO_OVERLOAD)


def divide(left: Any, right: Any) -> Any:
    """Quotients; those of integers are cut off towards zero."""
    if _both(left, right, int):
        if right == 0:
            raise CelError("division by zero")
        quotient = abs(left) // abs(right)
        return whole(quotient if (left < 0) == (right < 0) else -quotient)
    if _both(left, right, float):
        return left / right if right else math.copysign(math.inf, left) if left else math.nan
    raise CelError(NO_OVERLOAD)


def remainder(left: Any, right: Any) -> Any:
    """What a division of integers leaves, with the sign of the dividend."""
    if not _both(left, right, int):
        raise CelError(NO_OVERLOAD)
    if right == 0:
        raise CelError("modulus by zero")
    return math.copysign(1, left).__int__() * (abs(left) % abs(right))


def negate(value: Any) -> Any:
    """The opposite number."""
    if type(value) is int:
        return whole(-value)
    if type(value) is float:
        return -value
    raise CelError(NO_OVERLOAD)


def member(value: Any, members: Any) -> bool:
    """``a in b``."""
    if isinstance(members, list):
        return contains(members, value)
    if isinstance(members, dict):
        return any(equal(key, value) for key in members)
    raise CelError(NO_OVERLOAD)


def _both(left: Any, right: Any, kind: type) -> bool:
    return type(left) is kind and type(right) is kind


BINARY: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": remainder,
    "==": equal,
    "!=": lambda left, right: not equal(left, right),
    "<": lambda left, right: ordered(left, right) < 0,
    "<=": lambda left, right: ordered(left, right) <= 0,
    ">": lambda left, right: ordered(left, right) > 0,
    ">=": lambda left, right: ordered(left, right) >= 0,
    "in": member,
}
