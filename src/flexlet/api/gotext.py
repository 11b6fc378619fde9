"""How Go prints JSON values, because upstream's error texts carry values printed by Go.

Separate from `fielderrors`, which quotes values as JSON: a strategic patch that cannot be applied is shown with
Go's ``%v`` (``map[image:x]``), a strict path with ``strconv.Quote``, a patched document as ``json.Marshal`` writes
it. Follows ``fmt``, ``strconv`` and ``encoding/json``. Values are plain JSON: dict, list, str, int, float, bool,
None.
"""

from decimal import Decimal
from typing import Any, Final

import msgspec

_ESCAPES: Final = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
    '"': r"\"",
    "\\": r"\\",
}
_KINDS: Final = {dict: "map", list: "slice", str: "string", bool: "bool", int: "int64", float: "float64"}
_TYPES: Final = {dict: "map[string]interface {}", list: "[]interface {}"} | {
    kind: _KINDS[kind] for kind in (str, bool, int, float)
}
# Go escapes these in JSON so that the text can stand inside HTML and JavaScript.
_HTML: Final = (
    ("<", r"\u003c"),
    (">", r"\u003e"),
    ("&", r"\u0026"),
    ("\u2028", r"\u2028"),
    ("\u2029", r"\u2029"),
)


class _Escapes(dict[int, str]):
    """What `str.translate` asks for each character of a text; each different one is looked at once."""

    def __missing__(self, code: int) -> str:
        self[code] = found = _escaped(chr(code))
        return found


def quote(text: str) -> str:
    """``strconv.Quote``: a double-quoted Go string literal."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{text.translate(_Escapes())}"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def quote_character(byte: int) -> str:
    """A byte as ``encoding/json`` names it in a syntax error; each byte counts as one character."""
    character = chr(byte)
    if character in "'\"":
        return r"'\''" if character == "'" else "'\"'"
    return f"'{_escaped(character)}'"


def sprint(value: Any) -> str:
    """``fmt.Sprintf("%v")`` of a JSON value; map keys are sorted."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{sprint(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(sprint, value))}]"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _shortest(value) if isinstance(value, float) else str(value)


def _shortest(number: float) -> str:
    """Go's ``%g`` with the fewest digits: an exponent below 1e-4 and from 1e6 on."""
    power, mantissa, plain = _digits(number)
    return plain if -4 <= power < 6 else f"{mantissa}e{power:+03d}"


def json_number(number: float) -> str:
    """A number as ``json.Marshal`` writes it: an exponent below 1e-6 and from 1e21 on."""
    if isinstance(number, int):
        return str(number)
    power, mantissa, plain = _digits(number)
    return plain if -6 <= power < 21 else f"{mantissa}e{power:+d}"


def _digits(number: float) -> tuple[int, str, str]:
    """Power of ten, mantissa, and the number without an exponent, in the fewest digits that read back."""
    shortest = Decimal(repr(number)).normalize()
    sign, figures, _ = shortest.as_tuple()
    first, *rest = map(str, figures)
    mantissa = f"{'-' if sign else ''}{first}{'.' if rest else ''}{''.join(rest)}"
    return shortest.adjusted(), mantissa, f"{shortest:f}"


def json_text(value: Any) -> str:
    """``json.Marshal``: compact, dict order kept, with Go's escapes for HTML."""
    text = msgspec.json.encode(value).decode()
    for character, escape in _HTML:
        text = text.replace(character, escape)
    return text


def kind(value: Any) -> str:
    """The ``reflect.Kind`` of a JSON value."""
    return "invalid" if value is None else _KINDS[type(value)]


def type_name(value: Any) -> str:
    """The dynamic type of a decoded JSON value."""
    return "<nil>" if value is None else _TYPES[type(value)]
