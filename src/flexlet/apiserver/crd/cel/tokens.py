"""The words of CEL: names, numbers, texts, signs."""

import re
import sys
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from flexlet.apiserver.crd.cel.syntax import WrongExpression

_TOKEN: Final = re.compile(
    r"""
      (?P<space>\s+|//[^\n]*)
    | (?P<text>(?P<prefix>[rRbB]{0,2})(?P<quote>\"\"\"|\'\'\'|"|')(?P<rest>))
    | (?P<number>0[xX][0-9a-fA-F]+[uU]?|\d+\.\d+(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+|\d+[uU]?)
    | (?P<name>[A-Za-z_]\w*|`[\w./ -]+`)
    | (?P<sign>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])
    """,
    re.VERBOSE | re.ASCII,
)
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[xX][0-9a-fA-F]{2}|[0-3][0-7]{2}|.)", re.DOTALL)
_LETTERS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_PLAIN: Final = "\\?\"'`"
WORDS: Final = {"true": True, "false": False, "null": None}


class Token(msgspec.Struct, frozen=True):
    """One word: its kind (``name``, ``literal``, ``sign``, ``end``), its text, and a literal's value."""

    kind: str
    text: str
    value: Any = None


def tokens(text: str) -> Iterator[Token]:
    """The words of an expression, and an end."""
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise WrongExpression(f"Syntax error: token recognition error at: '{text[at]}'")
        if found.lastgroup == "text" or found["quote"] is not None:
            value, at = _text(text, found)
            yield Token("literal", "", value)
            continue
        at = found.end()
        if found["number"] is not None:
            yield Token("literal", found["number"], _number(found["number"]))
        elif found["name"] is not None:
            yield _name(found["name"])
        elif found["sign"] is not None:
            yield Token("sign", found["sign"])
    yield Token("end", "<EOF>")


def _name(text: str) -> Token:
    return Token("literal", text, WORDS[text]) if text in WORDS else Token("name", text.strip("`"))


_MAX_DIGITS: Final = 20


def _number(text: str) -> float:
    plain = text.rstrip("uU")
    if plain.isdigit() and len(plain.lstrip("0")) > _MAX_DIGITS:
        raise WrongExpression("Syntax error: invalid int literal")
    if plain[:2] in {"0x", "0X"}:
        return int(plain, 16)
    return float(plain) if any(letter in plain for letter in ".eE") else int(plain)


def _text(text: str, found: re.Match[str]) -> tuple[Any, int]:
    prefix, quote = found["prefix"].lower(), found["quote"]
    raw, start = "r" in prefix, found.end()
    end = _end_of_text(text, start, quote, raw=raw)
    inner = text[start:end]
    if len(quote) == 1 and "\n" in inner:
        raise WrongExpression("Syntax error: a text may not go over several lines")
    value = inner if raw else _ESCAPE.sub(_unescaped, inner)
    return (value.encode() if "b" in prefix else value), end + len(quote)


def _end_of_text(text: str, at: int, quote: str, *, raw: bool) -> int:
    while at < len(text):
        if text.startswith(quote, at):
            return at
        at += 2 if text[at] == "\\" and not raw else 1
    raise WrongExpression("Syntax error: a text does not end")


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "uUxX" and len(code) > 1:
        point = int(code[1:], 16)
        if point > sys.maxunicode or 0xD800 <= point < 0xE000:
            raise WrongExpression(f"Syntax error: invalid unicode code point \\{code}")
        return chr(point)
    if code[0].isdigit() and len(code) == 3:
        return chr(int(code, 8))
    if code in _LETTERS:
        return _LETTERS[code]
    if code in _PLAIN:
        return code
    raise WrongExpression(f"Syntax error: invalid escape \\{code}")
