"""Durations as ``metav1.Duration`` writes and reads them: ``1h30m``, ``100ms``.

A Duration is a float of seconds, so that whoever waits that long need not convert; only its text is Go's. Reading
follows ``time.ParseDuration``: fractions of a nanosecond are cut off, more than int64 nanoseconds are refused.
"""

import re
from typing import Final

from flexlet.errors import InputError

_NANO: Final = 1_000_000_000
_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # the micro sign
    "μs": 1_000,  # the Greek letter
    "ms": 1_000_000,
    "s": _NANO,
    "m": 60 * _NANO,
    "h": 3600 * _NANO,
}
_PART: Final = re.compile(r"(\d+)?(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_MAX: Final = 2**63 - 1
_MAX_DIGITS: Final = 19
"""Of int64; reading as many digits as somebody likes takes time by their square, and Python refuses to."""


class Duration(float):
    """Seconds; prints as Go prints them."""

    __slots__ = ()

    @property
    def nanoseconds(self) -> int:
        """The whole number of nanoseconds, as Go holds it."""
        return round(self * _NANO)

    def __str__(self) -> str:
        return text(self.nanoseconds)

    def __repr__(self) -> str:
        return f"Duration({text(self.nanoseconds)})"


def parse(value: str) -> Duration:
    """Read ``1h30m``; InputError in Go's words if it is none."""
    sign, rest = (value[0], value[1:]) if value[:1] in ("+", "-") else ("", value)
    nanoseconds = 0 if rest == "0" else _sum(rest, value)
    return Duration((-nanoseconds if sign == "-" else nanoseconds) / _NANO)


def _sum(rest: str, whole: str) -> int:
    if not rest:
        raise InputError(f'time: invalid duration "{whole}"')
    total = position = 0
    while position < len(rest):
        part = _PART.match(rest, position)
        if part is None or not (part[1] or part[2]):
            raise InputError(_complaint(rest[position:], whole))
        total += _amount(part[1] or "", part[2] or "", _UNITS[part[3]])
        position = part.end()
        if total > _MAX:
            raise InputError(f'time: invalid duration "{whole}"')
    return total


def _amount(digits: str, fraction: str, unit: int) -> int:
    if len(digits.lstrip("0")) > _MAX_DIGITS:
        return _MAX + 1
    digits, fraction = digits.lstrip("0"), fraction[:_MAX_DIGITS]  # what is below a nanosecond does not count
    return int(digits or "0") * unit + (int(fraction) * unit // 10 ** len(fraction) if fraction else 0)


def _complaint(rest: str, whole: str) -> str:
    number = re.match(r"\d+\.?\d*|\.\d+", rest, re.ASCII)
    if number is None:
        return f'time: invalid duration "{whole}"'
    unit = re.match(r"[^.\d]*", rest[number.end() :], re.ASCII)
    if unit is None or not unit[0]:
        return f'time: missing unit in duration "{whole}"'
    return f'time: unknown unit "{unit[0]}" in duration "{whole}"'


def text(nanoseconds: int) -> str:
    """``time.Duration.String``: ``0s``, ``1.5ms``, ``2m0s``, ``1h0m0.5s``."""
    sign, amount = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if amount < _NANO:
        return sign + _below_a_second(amount)
    seconds, rest = divmod(amount, 60 * _NANO)
    hours, minutes = divmod(seconds, 60)
    leading = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{leading}{_decimal(rest, _NANO)}s"


def _below_a_second(nanoseconds: int) -> str:
    if nanoseconds == 0:
        return "0s"
    unit = "ns" if nanoseconds < 1_000 else "µs" if nanoseconds < 1_000_000 else "ms"
    return f"{_decimal(nanoseconds, _UNITS[unit])}{unit}"


def _decimal(amount: int, unit: int) -> str:
    whole, rest = divmod(amount, unit)
    if not rest:
        return str(whole)
    return f"{whole}.{str(rest).rjust(len(str(unit)) - 1, '0').rstrip('0')}"
