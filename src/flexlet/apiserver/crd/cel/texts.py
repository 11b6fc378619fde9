"""CEL's functions on texts."""

import itertools
import re
from collections.abc import Callable
from typing import Any, Final

from flexlet.api import regexps
from flexlet.apiserver.crd.cel.conversions import to_double, to_int, to_string, typed
from flexlet.apiserver.crd.cel.values import CelError

MAX_PRECISION: Final = 999
_DIRECTIVE: Final = re.compile(r"%(?:\.(\d+))?([sdf%])")


def of_text(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose first argument is a text."""
    return lambda text, *rest: function(typed(text, str), *rest)


def matches(text: str, pattern: str) -> bool:
    """Whether a text matches a pattern somewhere."""
    found = _pattern(pattern)
    try:
        return found.search(text)
    except regexps.PatternTooCostly as fault:
        raise CelError(fault.message) from None


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """All parts of a text that match."""
    found = _pattern(pattern).find(text)
    try:
        return list(found if limit < 0 else itertools.islice(found, limit))
    except regexps.PatternTooCostly as fault:
        raise CelError(fault.message) from None


def _pattern(pattern: str) -> regexps.Pattern:
    try:
        return regexps.compiled(typed(pattern, str))
    except regexps.WrongPattern as fault:
        raise CelError(fault.message) from None


def find_first(text: str, pattern: str) -> str:
    """The first part of a text that matches, or nothing."""
    return next(iter(find_all(text, pattern, 1)), "")


def char_at(text: str, index: int) -> str:
    """One character; nothing at the end."""
    if not 0 <= index <= len(text):
        raise CelError(f"index out of range: {index}")
    return text[index : index + 1]


def substring(text: str, start: int, end: int | None = None) -> str:
    """A part of a text."""
    stop = len(text) if end is None else end
    if not 0 <= start <= stop <= len(text):
        raise CelError(f"index out of range: {start}")
    return text[start:stop]


def split(text: str, separator: str, limit: int = -1) -> list[str]:
    """The pieces of a text."""
    if limit == 0:
        return []
    if not separator:
        pieces = list(text)
        return pieces if limit < 0 else [*pieces[: limit - 1], "".join(pieces[limit - 1 :])]
    return text.split(separator, -1 if limit < 0 else limit - 1)


def formatted(template: str, args: Any) -> str:
    """``'%s of %d'.format([a, b])``."""
    values = iter(typed(args, list))

    def fill(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        value = next(values, None)
        if len(found[1] or "") > 3:
            raise CelError(f"precision must be less than or equal to {MAX_PRECISION}")
        if found[2] == "f":
            return f"{to_double(value):.{found[1] or 6}f}"
        return str(to_int(value)) if found[2] == "d" else to_string(value)

    return _DIRECTIVE.sub(fill, template)
