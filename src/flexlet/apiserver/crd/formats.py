"""Formats of strings that schemas may name: which exist, and whether a text has them.

Follows kube-openapi's ``strfmt`` with its peculiarities (hostnames may have symbols, durations ``2 days``).
A format that does not exist, or not for the type, is ignored; `kinds.crd.formats` warns of it.
"""

import base64
import binascii
import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import date
from typing import Final
from urllib.parse import urlsplit

from flexlet.api import addresses

_NUMBERS: Final = {"integer": ("int32", "int64"), "number": ("float", "double")}
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_SHORT_NAME: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME: Final = re.compile(r"(\d\d):(\d\d):(\d\d)(.[0-9]+)?(z|[+-]\d\d:\d\d)", re.ASCII)
_GO_DURATION: Final = re.compile(r"[-+]?(?:0|(?:(?:\d++(?:\.\d*+)?+|\.\d++)(?:ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)
_PLAIN_DURATION: Final = re.compile(r"(\d+)[\t\n\f\r ]*([A-Za-zµ]+)", re.ASCII)
_UNITS: Final = (
    *(("ns", "nano"), ("us", "µs", "micro"), ("ms", "milli"), ("s", "sec"), ("m", "min"), ("h", "hr", "hour")),
    *(("d", "day"), ("w", "wk", "week")),
)
_CARD: Final = re.compile(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)
_COLOUR: Final = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"


def known_format(name: str, types: tuple[str, ...]) -> str:
    """The format if it exists for the type, else nothing."""
    kind = types[0] if len(types) == 1 else ""
    if kind in _NUMBERS:
        return name if name in _NUMBERS[kind] else ""
    return name if kind in {"", "string"} and _normal(name) in STRINGS else ""


def has_format(name: str, text: str) -> bool:
    """Whether a text has the format; formats of numbers say nothing about texts."""
    check = STRINGS.get(_normal(name))
    return check is None or check(text)


def _normal(name: str) -> str:
    return name.replace("-", "")


def _matches(pattern: str, flags: int = 0) -> Callable[[str], bool]:
    found = re.compile(pattern, flags | re.ASCII)
    return lambda text: found.fullmatch(text) is not None


def _is_uri(text: str) -> bool:
    """An absolute URI, or an absolute path."""
    if any(ord(character) <= 0x20 or character == "\x7f" for character in text):
        return False
    scheme = _SCHEME.match(text)
    rest = text if scheme is None else text[scheme.end() :]
    # What follows a scheme may be anything that does not look like a path.
    return _has_right_parts(text) if rest.startswith("/") else scheme is not None


def _has_right_parts(text: str) -> bool:
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018  reading it is what checks it
    except ValueError:
        return False
    return not re.search(r"%(?![0-9a-fA-F]{2})", parts.path + parts.netloc)


def _is_email(text: str) -> bool:
    """An address as mail has it, with or without a name before it."""
    named = re.fullmatch(r'(?:"[^"]*+"\s*+|[^<>@",()\[\]\\]*+)<([^<>]++)>', text.strip())
    address = (named[1] if named else text).strip()
    local, at, domain = address.rpartition("@")
    atoms = r"[^\s()<>\[\]:;@\\,\".]+(?:\.[^\s()<>\[\]:;@\\,\".]+)*"
    is_local = re.fullmatch(rf'{atoms}|"(?:[^"\\]|\\.)*"', local) is not None
    return bool(at) and is_local and re.fullmatch(rf"{atoms}|\[[^\[\]]*\]", domain) is not None


def _is_hostname(text: str) -> bool:
    """Labels of letters, digits, symbols and inner dashes; the last of several is of letters only."""
    labels = text.split(".")
    if len(text.encode()) > 255 or any(len(label.encode()) > 63 for label in labels):
        return False
    *rest, last = labels
    if not rest:
        return bool(last) and _named(last[0]) and (_named(last[1:].removeprefix("-")) or len(last) == 1)
    inner = all(
        label and _named(label[0]) and _named(label[-1]) and _named(label.replace("-", "a")) for label in rest
    )
    return inner and len(last) >= 2 and last.isalpha()


def _named(text: str) -> bool:
    """Whether it is all digits, letters and symbols."""
    return all("0" <= character <= "9" or unicodedata.category(character)[0] in "LS" for character in text)


def _is_ipv4(text: str) -> bool:
    return "." in text and not _is_no_address(addresses.legacy_ip(text))


def _is_ipv6(text: str) -> bool:
    """Unlike the others, in an unambiguous spelling."""
    complaints = addresses.legacy_ip(text)
    return ":" in text and not _is_no_address(complaints) and "must not have leading 0s" not in complaints


def _is_cidr(text: str) -> bool:
    return not _is_no_address(addresses.legacy_cidr(text))


def _is_no_address(complaints: list[str]) -> bool:
    """Zeros before octets and the like are let through here."""
    return any(complaint.startswith("must be a valid") for complaint in complaints)


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        return text.startswith("0000") or bool(date.fromisoformat(text))
    except ValueError:
        return False


def _is_datetime(text: str) -> bool:
    parts = text.lower().split("t")
    if len(parts) < 2 or not _is_date(parts[0]):
        return False
    found = _TIME.fullmatch(parts[1])
    return found is not None and found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


def _is_duration(text: str) -> bool:
    if _GO_DURATION.fullmatch(text):
        return True
    return any(_is_unit(unit.lower()) for _, unit in _PLAIN_DURATION.findall(text))


def _is_unit(unit: str) -> bool:
    """The last spelling of each unit may go on (``minutes``)."""
    return any(unit in spellings or unit.startswith(spellings[-1]) for spellings in _UNITS)


def _is_mac(text: str) -> bool:
    if re.fullmatch(r"[0-9a-fA-F]+", text):
        return len(text) in {12, 16, 40}
    if re.fullmatch(r"[0-9a-fA-F]{4}(\.[0-9a-fA-F]{4})+", text):
        return text.count(".") in {2, 3, 9}
    for separator in ":-":
        if re.fullmatch(rf"[0-9a-fA-F]{{2}}({separator}[0-9a-fA-F]{{2}})+", text):
            return text.count(separator) in {5, 7, 19}
    return False


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\t\n\f\r -]+", "", text)
    if not re.fullmatch("[0-9]{9}X|[0-9]{10}", digits):
        return False
    last = 10 if digits[9] == "X" else int(digits[9])
    return (sum((index + 1) * int(digits[index]) for index in range(9)) + 10 * last) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\t\n\f\r -]+", "", text)
    if not re.fullmatch("[0-9]{13}", digits):
        return False
    total = sum((1, 3)[index % 2] * int(digits[index]) for index in range(12))
    return int(digits[12]) == (10 - total % 10) % 10


def _is_credit_card(text: str) -> bool:
    digits = re.sub("[^0-9]+", "", text)
    if not _CARD.fullmatch(digits):
        return False
    doubled = [2 * int(digit) for digit in digits[-2::-2]]
    return (sum(int(digit) for digit in digits[::-2]) + sum(n // 10 + n % 10 for n in doubled)) % 10 == 0


def _is_base64(text: str) -> bool:
    try:
        return bool(text) and base64.b64decode(text, validate=True) is not None
    except (binascii.Error, ValueError):
        return False


_UUID: Final = "[0-9a-f]{8}-?[0-9a-f]{4}-?"
STRINGS: Final[Mapping[str, Callable[[str], bool]]] = {
    "bsonobjectid": _matches("[0-9a-fA-F]{24}"),
    "uri": _is_uri,
    "email": _is_email,
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "cidr": _is_cidr,
    "mac": _is_mac,
    "uuid": _matches(_UUID + "[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE),
    "uuid3": _matches(_UUID + "3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE),
    "uuid4": _matches(_UUID + "4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}", re.IGNORECASE),
    "uuid5": _matches(_UUID + "5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}", re.IGNORECASE),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": lambda text: len(text) == 11 and re.fullmatch(r"\d{3}[- ]?\d{2}[- ]?\d{4}", text) is not None,
    "hexcolor": _matches("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _matches(rf"rgb\({_COLOUR},{_COLOUR},{_COLOUR}\)"),
    "byte": _is_base64,
    "password": lambda _: True,
    "date": _is_date,
    "duration": _is_duration,
    "datetime": _is_datetime,
    "k8sshortname": lambda text: len(text) <= 63 and re.fullmatch(_SHORT_NAME, text) is not None,
    "k8slongname": (
        lambda text: len(text) <= 253 and re.fullmatch(rf"{_SHORT_NAME}(\.{_SHORT_NAME})*", text) is not None
    ),
}
