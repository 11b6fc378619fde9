"""Kubernetes quantities (``1.5Gi``, ``250m``, ``12e6``) with upstream's exact semantics.

A quantity is a whole number of nano-units plus the family it was written in. The family (DecimalSI, BinarySI,
DecimalExponent) decides how it prints and never how it compares: ``1Gi == 1073741824``. Follows
``apimachinery/pkg/api/resource``, including oddities that clients can see:

- text that already looks canonical is printed as it was written (``+1``, ``93.379``, ``5.``);
- negative fractions round away from zero on the fast parse path; on the arbitrary-precision one they round
  towards zero, after wrapping at 64 bits of nano-units;
- an integer beyond 64 bits wraps, or is 0: that depends on by how much it was scaled (``12E`` is 0,
  ``12000000000000000000`` and ``9223372036854776k`` wrap).

Positions of our own: a decimal exponent beyond ±999 and a text beyond 2048 characters are refused, so that
``1e999999999`` or a megabyte of digits cannot eat the memory of whoever parses it; and amounts of 10^24 and more
(``4000000E``) print in full, where upstream drops the suffix and stores ``4``.
"""

import functools
import re
from typing import Final, Self

from flexlet.errors import InputError

DECIMAL_SI: Final = "DecimalSI"
BINARY_SI: Final = "BinarySI"
DECIMAL_EXPONENT: Final = "DecimalExponent"

NANO: Final = 10**9
MILLI: Final = 10**6
MAX_INT64: Final = 2**63 - 1
MAX_EXPONENT: Final = 999
MAX_LENGTH: Final = 2048

_DECIMAL_SUFFIXES: Final = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_BINARY_SUFFIXES: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_SUFFIX_OF_EXPONENT: Final = {exponent: suffix for suffix, exponent in _DECIMAL_SUFFIXES.items()}
_SUFFIX_OF_POWER: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")

_WRAPPING: Final = frozenset({0, 1, 2, 3, 6, 9})
"""By how many places an amount is scaled in one multiplication, whose overflow nobody checks."""

_SHAPE: Final = re.compile(r"([+-]?)0*+([0-9]*+)(\.([0-9]*+))?+([eEinumkKMGTP]*+[-+]?[0-9]*+)", re.ASCII)
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]+)", re.ASCII)

_WRONG_SHAPE: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_WRONG_NUMBER: Final = "unable to parse numeric part of quantity"
_WRONG_SUFFIX: Final = "unable to parse quantity's suffix"


class Quantity:
    """An immutable amount; compare and add freely, families may differ."""

    __slots__ = ("_arbitrary", "_scale", "_text", "family", "nano")

    nano: int
    family: str

    def __init__(
        self,
        nano: int,
        family: str = DECIMAL_SI,
        text: str | None = None,
        *,
        arbitrary: bool = False,
        scale: int = 0,
    ) -> None:
        self.nano = nano
        self.family = family
        self._text = text
        self._arbitrary = arbitrary
        self._scale = scale

    @classmethod
    def parse(cls, text: str) -> "Quantity":
        """Read `text` or raise InputError."""
        return parse(text)

    @classmethod
    def of_bytes(cls, count: int) -> Self:
        """A byte count, printed in binary units (as read back from a cgroup)."""
        return cls(count * NANO, BINARY_SI)

    @classmethod
    def of_milli(cls, count: int) -> Self:
        """Thousandths of a unit (milli-CPU), printed in decimal units."""
        return cls(count * MILLI, DECIMAL_SI)

    @property
    def value(self) -> int:
        """The amount as int64, fractions rounded up (away from zero)."""
        whole = -(-self.nano // NANO)
        return whole if 0 < whole <= MAX_INT64 else self._scaled(NANO)

    @property
    def milli(self) -> int:
        """The amount in thousandths as int64, fractions rounded up (away from zero)."""
        whole = -(-self.nano // MILLI)
        return whole if 0 < whole <= MAX_INT64 else self._scaled(MILLI)

    def _scaled(self, unit: int) -> int:
        """The amount in whole units; how a negative one rounds depends on how it was parsed."""
        if self.nano >= 0 or not self._arbitrary:
            whole = -(-abs(self.nano) // unit)
            return self._int64(whole if self.nano >= 0 else -whole, unit)
        wrapped = _int64(self.nano)
        whole, rest = divmod(abs(wrapped), unit)
        return (whole if wrapped > 0 else -whole) + (1 if rest else 0)

    def _int64(self, number: int, unit: int) -> int:
        places = self._scale + (3 if unit == MILLI else 0)
        return _int64(number) if places in _WRAPPING or abs(number) <= MAX_INT64 else 0

    def rounded_up_to_milli(self) -> "Quantity":
        """What the API server stores: no finer than a thousandth."""
        if self.nano % MILLI == 0:
            return self
        whole = -(-abs(self.nano) // MILLI) * MILLI
        return Quantity(whole if self.nano > 0 else -whole, self.family)

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nano + other.nano, self.family if self.nano else other.family)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nano - other.nano, self.family if self.nano else other.family)

    def __neg__(self) -> "Quantity":
        return Quantity(-self.nano, self.family)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.nano == other.nano

    def __hash__(self) -> int:
        return hash(self.nano)

    def __lt__(self, other: "Quantity") -> bool:
        return self.nano < other.nano

    def __le__(self, other: "Quantity") -> bool:
        return self.nano <= other.nano

    def __gt__(self, other: "Quantity") -> bool:
        return self.nano > other.nano

    def __ge__(self, other: "Quantity") -> bool:
        return self.nano >= other.nano

    def __bool__(self) -> bool:
        return self.nano != 0

    def __str__(self) -> str:
        if self._text is None:
            self._text = _canonical_text(self.nano, self.family)
        return self._text

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"


ZERO: Final = Quantity(0, DECIMAL_SI, "0")


def canonical(text: str) -> str:
    """The text the API server stores for what a client wrote (not rounded to milli)."""
    return str(parse(text))


@functools.lru_cache(maxsize=16384)
def parse(text: str) -> Quantity:
    """Read `text` or raise InputError; results are shared, so equal texts are cheap."""
    if text == "0":
        return ZERO
    if len(text) > MAX_LENGTH:
        raise InputError(_WRONG_NUMBER)
    match = _SHAPE.fullmatch(text)
    if match is None or not text:
        raise InputError(_WRONG_SHAPE)
    sign, whole, _, fraction, suffix = match.groups(default="")
    base, exponent, family = _interpret(suffix)
    amount = _fast(sign, whole or "0", fraction, exponent, family, text)
    if amount is not None:
        return amount
    if not whole and not fraction and not _has_digit(text, suffix):
        raise InputError(_WRONG_NUMBER)
    return _arbitrary(sign, whole, fraction, base, exponent, family)


def _has_digit(text: str, suffix: str) -> bool:
    number = text[: len(text) - len(suffix)]
    return any(character.isdigit() for character in number)


def _interpret(suffix: str) -> tuple[int, int, str]:
    """Base, exponent and family of a suffix; a bare ``E`` is exa, ``E3`` an exponent."""
    if suffix in _DECIMAL_SUFFIXES:
        return 10, _DECIMAL_SUFFIXES[suffix], DECIMAL_SI
    if suffix in _BINARY_SUFFIXES:
        return 2, _BINARY_SUFFIXES[suffix], BINARY_SI
    match = _EXPONENT.fullmatch(suffix)
    if match is None or abs(exponent := int(match[1])) > MAX_EXPONENT:
        raise InputError(_WRONG_SUFFIX)
    return 10, exponent, DECIMAL_EXPONENT


def _fast(sign: str, whole: str, fraction: str, exponent: int, family: str, text: str) -> Quantity | None:
    """Upstream's int64 path: it keeps canonical-looking text, the arbitrary path never does."""
    if family == BINARY_SI:
        if fraction or 15 - len(whole) - exponent * 3 // 10 - 1 < 0:
            return None
        number = int(whole)
        kept, scale = number & 7 != 0, 0
        nano = (number << exponent) * NANO
    else:
        scale = exponent - len(fraction)
        digits = whole + fraction
        if len(digits) > 18 or scale < -9:
            return None
        kept = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
        nano = int(digits) * 10 ** (scale + 9)
    return Quantity(-nano if sign == "-" else nano, family, text if kept else None, scale=scale)


def _arbitrary(sign: str, whole: str, fraction: str, base: int, exponent: int, family: str) -> Quantity:
    """Upstream's big-decimal path: rounds up to a nano, caps binary amounts at int64."""
    number = int((whole + fraction) or "0")
    scale = 9 - len(fraction)
    if base == 2:
        number <<= exponent
    else:
        scale += exponent
    nano = number * 10**scale if scale >= 0 else -(-number // 10**-scale)
    capped = family == BINARY_SI and nano > MAX_INT64 * NANO
    if capped:
        nano = MAX_INT64 * NANO
    if family == BINARY_SI and 0 < nano < NANO:
        family = DECIMAL_SI
    return Quantity(-nano if sign == "-" else nano, family, arbitrary=not capped)


def _canonical_text(nano: int, family: str) -> str:
    if nano == 0:
        return "0"
    if family == BINARY_SI and nano % NANO == 0 and abs(nano) >= 1024 * NANO:
        return _binary_text(nano // NANO)
    exponent = -9
    while nano % 1000 == 0:
        nano //= 1000
        exponent += 3
    if family == DECIMAL_EXPONENT:
        return f"{nano}e{exponent}" if exponent else str(nano)
    if exponent > 18:
        nano, exponent = nano * 10 ** (exponent - 18), 18
    return f"{nano}{_SUFFIX_OF_EXPONENT[exponent]}"


def _binary_text(count: int) -> str:
    power = 0
    while count % 1024 == 0 and power < len(_SUFFIX_OF_POWER) - 1:
        count //= 1024
        power += 1
    return f"{count}{_SUFFIX_OF_POWER[power]}"


def _int64(number: int) -> int:
    """Two's complement wrap: upstream overflows silently and clients see it."""
    if -MAX_INT64 <= number <= MAX_INT64:
        return number
    return (number + 2**63) % 2**64 - 2**63
