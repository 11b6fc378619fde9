"""An amount as Go holds it in memory, printed field by field: the digest of a static pod is made from that.

Equal amounts that were written differently are held differently: ``0.1`` is 1 times a tenth and ``100m`` is 100
times a thousandth, and the text is kept where it is the one that would be printed anyway. Follows ParseQuantity
and RoundUp of Kubernetes 1.36.3's ``apimachinery/pkg/api/resource``.
"""

import re
from decimal import Decimal
from typing import Any, Final

DECIMAL_SI: Final = "DecimalSI"
DECIMAL_EXPONENT: Final = "DecimalExponent"
BINARY_SI: Final = "BinarySI"

_PARTS: Final = re.compile(r"([+-]?)0*(\d*)(?:\.(\d*))?(.*)", re.ASCII)
_SI: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_FACTORS: Final = 18
_NANO: Final = -9
_MILLI: Final = -3
_LARGEST: Final = (1 << 63) - 1
_WORD: Final = 1 << 64


def text_of(value: Any) -> str:
    """An amount of a manifest as text; numbers read as Go writes them into JSON."""
    if isinstance(value, float):
        return f"{Decimal(repr(value)):f}".removesuffix(".0")
    return str(value).strip()


def dumped(text: str, *, rounded: bool, keeps_text: bool = True) -> str:
    """The fields of an amount; `rounded`: as defaulting rounds amounts up to thousandths.

    A computed amount does not have the text that it was written in (`keeps_text`).
    """
    if text == "0":
        return _quick(0, 0, "0" if keeps_text else "", DECIMAL_SI)
    sign, whole, fraction, suffix = _split(text)
    family, exponent = _family(suffix)
    negative = sign == "-"
    found = _small(whole, fraction, family, exponent)
    if found is None:
        return _large(whole, fraction, family, exponent, negative=negative, rounded=rounded)
    value, scale, canonical = found
    kept = text if canonical and keeps_text else ""
    if rounded and scale < _MILLI:
        value, scale, kept = -(-value // 10 ** (_MILLI - scale)), _MILLI, ""
    return _quick(-value if negative else value, scale, kept, family)


NOTHING: Final = (
    "{i:(resource.int64Amount){value:(int64)0 scale:(resource.Scale)0} "
    "d:(resource.infDecAmount){Dec:(*inf.Dec)<nil>} s:(string) Format:(resource.Format)}"
)
"""An amount that nobody gave."""


def _split(text: str) -> tuple[str, str, str, str]:
    found = _PARTS.fullmatch(text)
    if found is None:
        return "", "0", "", ""
    return found[1], found[2] or "0", found[3] or "", found[4]


def _family(suffix: str) -> tuple[str, int]:
    if suffix in _BINARY:
        return BINARY_SI, _BINARY[suffix]
    if suffix[:1] in {"e", "E"} and suffix not in _SI:
        return DECIMAL_EXPONENT, int(suffix[1:])
    return DECIMAL_SI, _SI.get(suffix, 0)


def _small(whole: str, fraction: str, family: str, exponent: int) -> tuple[int, int, bool] | None:
    """Value, scale and whether the text is kept, of an amount that fits a machine's word; None if it does not."""
    if family == BINARY_SI:
        if fraction or 15 - len(whole) - int(exponent * 3 / 10) - 1 < 0:
            return None
        value = int(whole)
        product = value << exponent
        return (product, 0, exponent % 10 == 0 and value & 7 != 0) if product <= _LARGEST else None
    scale, digits = exponent - len(fraction), whole + fraction
    if len(digits) > _FACTORS or scale < _NANO:
        return None
    # Go's remainder keeps the sign, which makes no difference to whether it is zero.
    return int(digits), scale, scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _large(whole: str, fraction: str, family: str, exponent: int, *, negative: bool, rounded: bool) -> str:
    """An amount of any size, as digits and how many of them are behind the point."""
    digits, places = int(whole + fraction), len(fraction)
    if family == BINARY_SI:
        digits <<= exponent
    else:
        places -= exponent
    if digits:
        digits, places = _at(digits, places, -_NANO)
    one = 10**places if places > 0 else 1
    if family == BINARY_SI and digits > _LARGEST * one:
        digits, places = _LARGEST, 0
    elif family == BINARY_SI and 0 < digits < one:
        family = DECIMAL_SI
    if rounded:
        digits, places = _at(digits, places, -_MILLI)
    words = " ".join(map(str, _words(digits)))
    number = f"(big.Int){{neg:(bool){str(negative and digits > 0).lower()} abs:(big.nat){_nat(words)}}}"
    dec = f"(*inf.Dec){{unscaled:{number} scale:(inf.Scale){places}}}"
    return _whole(0, 0, dec, "", family)


def _at(digits: int, places: int, wanted: int) -> tuple[int, int]:
    """With so many places, rounded away from zero."""
    if places <= wanted:
        return digits * 10 ** (wanted - places), wanted
    return -(-digits // 10 ** (places - wanted)), wanted


def _words(digits: int) -> list[int]:
    found = []
    while digits:
        digits, word = divmod(digits, _WORD)
        found.append(word)
    return found


def _nat(words: str) -> str:
    return f"[{words}]" if words else "<nil>"


def _quick(value: int, scale: int, text: str, family: str) -> str:
    return _whole(value, scale, "(*inf.Dec)<nil>", text, family)


def _whole(value: int, scale: int, dec: str, text: str, family: str) -> str:
    number = f"(resource.int64Amount){{value:(int64){value} scale:(resource.Scale){scale}}}"
    rest = f"s:(string){text} Format:(resource.Format){family}"
    return f"{{i:{number} d:(resource.infDecAmount){{Dec:{dec}}} {rest}}}"
