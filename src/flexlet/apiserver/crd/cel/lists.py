"""CEL's functions on lists; some take texts as well."""

from typing import Any

from flexlet.apiserver.crd.cel.conversions import typed
from flexlet.apiserver.crd.cel.operators import add
from flexlet.apiserver.crd.cel.values import CelError, contains, equal, ordered


def index_of(value: Any, wanted: Any, start: int = 0) -> int:
    """Where something is first, or -1."""
    if isinstance(value, list):
        return next((index for index, item in enumerate(value) if equal(item, wanted)), -1)
    return int(typed(value, str).find(typed(wanted, str), start))


def last_index_of(value: Any, wanted: Any) -> int:
    """Where something is last, or -1."""
    if isinstance(value, list):
        return next((index for index in reversed(range(len(value))) if equal(value[index], wanted)), -1)
    return int(typed(value, str).rfind(typed(wanted, str)))


def joined(items: Any, separator: str = "") -> str:
    """Texts as one."""
    return separator.join(typed(item, str) for item in typed(items, list))


def sliced(items: Any, start: int, end: int) -> list[Any]:
    """A part of a list."""
    if not 0 <= start <= end <= len(typed(items, list)):
        raise CelError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return list(items[start:end])


def distinct(items: Any) -> list[Any]:
    """Every value once."""
    found: list[Any] = []
    for item in typed(items, list):
        if not contains(found, item):
            found.append(item)
    return found


def is_sorted(items: Any) -> bool:
    """Whether nothing is larger than what follows."""
    return all(ordered(left, right) <= 0 for left, right in zip(typed(items, list), items[1:], strict=False))


def total(items: Any) -> Any:
    """The sum of all values."""
    total = typed(items, list)[0] if items else 0
    for item in items[1:]:
        total = add(total, item)
    return total


def extreme(items: Any, sign: int, name: str) -> Any:
    """The largest (`sign` 1) or smallest (-1) value."""
    if not typed(items, list):
        raise CelError(f"{name} called on empty list")
    best = items[0]
    for item in items[1:]:
        best = item if sign * ordered(item, best) > 0 else best
    return best
