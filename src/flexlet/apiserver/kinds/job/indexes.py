"""Ranges of completion indexes as text (``1,3-5,7``), with upstream's complaints."""

import re
from typing import Final

from flexlet.errors import InputError

_NUMBER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)


def count(text: str, completions: int) -> int:
    """How many indexes the text names; InputError if it is no increasing list of them."""
    total, last = 0, None
    for interval in text.split(",") if text else ():
        first, final = bounds(interval, completions)
        if last is not None and last >= first:
            raise InputError(f"non-increasing order, previous: {last}, current: {first}")
        total += final - first + 1
        last = final
    return total


def bounds(interval: str, completions: int) -> tuple[int, int]:
    """The ends of one interval."""
    parts = interval.split("-")
    if len(parts) > 2:
        raise InputError(
            f'the fragment "{interval}" violates the requirement that an index interval can have at most two '
            "parts separated by '-'"
        )
    first = _index(parts[0], completions)
    if len(parts) == 1:
        return first, first
    final = _index(parts[1], completions)
    if first >= final:
        raise InputError(f"non-increasing order, previous: {first}, current: {final}")
    return first, final


def overlap(completed: str, failed: str, completions: int) -> int | None:
    """The first index named by both texts; what cannot be read names nothing."""
    one, other = (_readable(text, completions) for text in (completed, failed))
    both = (max(a[0], b[0]) for a in one for b in other if a[0] <= b[1] and b[0] <= a[1])
    return min(both, default=None)


def _readable(text: str, completions: int) -> list[tuple[int, int]]:
    found = []
    for interval in text.split(",") if text else ():
        try:
            found.append(bounds(interval, completions))
        except InputError:
            continue
    return found


def _index(text: str, completions: int) -> int:
    if not _NUMBER.fullmatch(text):
        raise InputError(f'cannot convert string to integer for index: "{text}"')
    if int(text) >= completions:
        raise InputError(f'too large index: "{text}"')
    return int(text)
