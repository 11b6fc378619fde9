"""Times and ages as Kubernetes writes them.

``metav1.Time`` has seconds, ``metav1.MicroTime`` exactly six digits of a second, both RFC 3339 and printed in UTC.
Reading follows Go's ``time.Parse`` including its errors, since clients see them. An age is
``apimachinery/pkg/util/duration``: two or three significant figures. No clock here: `now` is an argument.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from flexlet.errors import InputError

UNKNOWN: Final = "<unknown>"
INVALID: Final = "<invalid>"

RFC3339: Final = "2006-01-02T15:04:05Z07:00"
RFC3339_MICRO: Final = "2006-01-02T15:04:05.000000Z07:00"

_MINUTE: Final = 60
_HOUR: Final = 3600
_DAY: Final = 24
_YEAR: Final = 365

# A layout is literals and elements in turn; the name of an element is what Go's errors call it.
_ELEMENT: Final = re.compile(r"2006|01|02|15|04|05|\.000000|Z07:00|[-T:]")
_is_plain: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII).fullmatch
_is_plain_micro: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII).fullmatch
_RANGES: Final = {"01": ("month", 1, 12), "15": ("hour", 0, 23), "04": ("minute", 0, 59), "05": ("second", 0, 59)}


def human(seconds: float) -> str:
    """A duration for people: ``45s``, ``3m20s``, ``5h``, ``2d3h``, ``3y40d``."""
    whole = int(seconds)
    if whole < 0:
        return INVALID if whole < -1 else "0s"
    minutes, hours = whole // _MINUTE, whole // _HOUR
    days = hours // _DAY
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if minutes < 10:
        return _two(minutes, "m", whole % _MINUTE, "s")
    if hours < 3:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 2 * _DAY:
        return f"{hours}h"
    if days < 8:
        return _two(days, "d", hours % _DAY, "h")
    if days < 2 * _YEAR:
        return f"{days}d"
    if days < 8 * _YEAR:
        return _two(days // _YEAR, "y", days % _YEAR, "d")
    return f"{days // _YEAR}y"


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"


def since(timestamp: str | None, now: float) -> str:
    """The age of a timestamp at `now` (seconds since the epoch); ``<unknown>`` without one."""
    return human(now - parse(timestamp).timestamp()) if timestamp else UNKNOWN


def format_seconds(moment: float) -> str:
    """Seconds since the epoch as a Time."""
    return f"{datetime.fromtimestamp(int(moment // 1), UTC):%Y-%m-%dT%H:%M:%SZ}"


def format_micro(moment: float) -> str:
    """Seconds since the epoch as a MicroTime."""
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H:%M:%S.%fZ}"


def canonical(text: str) -> str:
    """A Time as the server stores it: UTC, whole seconds."""
    return text if _fast(text, _is_plain) else _rendered(parse(text), "%H:%M:%SZ")


def canonical_micro(text: str) -> str:
    """A MicroTime as the server stores it: UTC, six digits."""
    return text if _fast(text, _is_plain_micro) else _rendered(parse_micro(text), "%H:%M:%S.%fZ")


def _rendered(moment: datetime, clock: str) -> str:
    # strftime does not pad years below 1000.
    return f"{moment.year:04d}{moment:-%m-%dT}{moment.strftime(clock)}"


def parse(text: str) -> datetime:
    """Read a Time; InputError in Go's words if it is none."""
    return _fast(text, _is_plain) or _Reader(text, RFC3339).read()


def parse_micro(text: str) -> datetime:
    """Read a MicroTime, which must have six digits of a second."""
    return _fast(text, _is_plain_micro) or _Reader(text, RFC3339_MICRO).read()


def _fast(text: str, is_plain: Callable[[str], object]) -> datetime | None:
    """The form the server itself writes, without a walk over the layout."""
    if not is_plain(text):
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


class _Reader:
    """Go's ``time.Parse``: layout and text are walked together, element by element."""

    def __init__(self, text: str, layout: str) -> None:
        self.text = text
        self.layout = layout
        self.rest = text
        self.numbers: dict[str, int] = {}
        self.micros = 0
        self.offset = timedelta()

    def read(self) -> datetime:
        for element in _ELEMENT.findall(self.layout):
            before = self.rest
            if not self._element(element):
                unread = self.rest if len(element) == 1 else before
                raise InputError(
                    f'parsing time "{self.text}" as "{self.layout}": cannot parse "{unread}" as "{element}"'
                )
        if self.rest:
            raise self._fault(f': extra text: "{self.rest}"')
        return self._moment()

    def _element(self, element: str) -> bool:
        if len(element) == 1:
            return self._take(element) is not None
        if element == "2006":
            return self._number(element, r"\d{4}")
        if element == ".000000":
            return self._fraction(r"[.,]\d{6}")
        if element == "Z07:00":
            return self._zone()
        # Hours may have one digit, like nothing else.
        if not self._number(element, r"\d\d?" if element == "15" else r"\d\d"):
            return False
        if element == "05" and self.layout is RFC3339:
            self._fraction(r"[.,]\d+")
        return True

    def _take(self, pattern: str) -> str | None:
        match = re.match(pattern, self.rest, re.ASCII)
        if match is None:
            return None
        self.rest = self.rest[match.end() :]
        return match[0]

    def _number(self, element: str, pattern: str) -> bool:
        digits = self._take(pattern)
        if digits is None:
            return False
        self.numbers[element] = int(digits)
        name, low, high = _RANGES.get(element, ("", 0, 9999))
        if not low <= int(digits) <= high:
            raise self._fault(f": {name} out of range")
        return True

    def _fraction(self, pattern: str) -> bool:
        digits = self._take(pattern)
        if digits is not None:
            self.micros = int(digits[1:7].ljust(6, "0"))
        return digits is not None

    def _zone(self) -> bool:
        zone = self._take(r"Z|[-+]\d\d:\d\d")
        if zone is None:
            return False
        if zone != "Z":
            hours, minutes = int(zone[1:3]), int(zone[4:6])
            if hours > 24 or minutes > 60:
                raise self._fault(f": time zone offset {'hour' if hours > 24 else 'minute'} out of range")
            self.offset = timedelta(hours=hours, minutes=minutes) * (-1 if zone[0] == "-" else 1)
        return True

    def _moment(self) -> datetime:
        year, month, day = (self.numbers[element] for element in ("2006", "01", "02"))
        hour, minute, second = (self.numbers[element] for element in ("15", "04", "05"))
        try:
            local = datetime(year, month, day, hour, minute, second, self.micros, UTC)
            return local - self.offset
        except ValueError:
            raise self._fault(": day out of range") from None
        except OverflowError:
            raise self._fault(": year out of range") from None

    def _fault(self, message: str) -> InputError:
        return InputError(f'parsing time "{self.text}"{message}')
