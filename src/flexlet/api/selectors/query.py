"""The query form of label selectors: ``app in (a,b),tier!=db,!gone,size>3``.

Upstream's lexer and grammar, whose errors users see. A token is its own text and the end is empty text; ``in`` and
``notin`` are operators only where an operator can stand.
"""

import re
from collections.abc import Iterable
from typing import Final

from flexlet.api import names
from flexlet.api.selectors.faults import SelectorFault
from flexlet.api.selectors.labels import EVERYTHING, LabelSelector, Requirement, conjunction, requirement

_OPERATORS: Final = ("in", "notin", "=", "==", "!=", "gt", "lt")
_ORDER: Final = {">": "gt", "<": "lt"}
_TOKEN: Final = re.compile(
    r"[ \t\r\n]*(?:(?P<symbol>[=!(),><]+)|(?P<word>[^=!(),>< \t\r\n\x00]+)|(?P<end>\x00|$))"
)
_SYMBOLS: Final = frozenset({")", ",", "!", "==", "=", ">", "<", "!=", "("})
_END: Final = ""


def parse_labels(text: str) -> LabelSelector:
    """Read the query form; SelectorFault in upstream's words if it cannot be read."""
    return conjunction(_Parser(text).requirements()) if text else EVERYTHING


class _Parser:
    """Recursive descent over the tokens."""

    def __init__(self, text: str) -> None:
        self.tokens = list(_tokens(text))
        self.at = 0

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        while True:
            if not (self._is_word() or self._here() in {"!", _END}):
                raise SelectorFault(f"found '{self._here()}', expected: !, identifier, or 'end of string'")
            if self._here() == _END:
                return found
            found.append(self._requirement())
            if (after := self._next()) == _END:
                return found
            if after != ",":
                raise SelectorFault(f"found '{after}', expected: ',' or 'end of string'")
            if not (self._is_word() or self._here() == "!"):
                raise SelectorFault(f"found '{self._here()}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        try:
            return self._read()
        except SelectorFault as fault:
            raise SelectorFault(f"unable to parse requirement: {fault.message}") from None

    def _read(self) -> Requirement:
        negated = self._here() == "!"
        self.at += negated
        if not self._is_word():
            raise SelectorFault(f"found '{self._here()}', expected: identifier")
        key = self._next()
        if bad := names.label_key(key):
            raise SelectorFault(f'<nil>: Invalid value: "{key}": {"; ".join(bad)}')
        if negated or self._here() in {_END, ","}:
            return requirement(key, "!" if negated else "exists")
        operator = self._operator()
        return requirement(key, operator, self._set() if operator in {"in", "notin"} else self._exact())

    def _operator(self) -> str:
        token = self._next()
        operator = _ORDER.get(token, token)
        if token in {"gt", "lt"} or operator not in _OPERATORS:
            raise SelectorFault(f"found '{token}', expected: {', '.join(_OPERATORS)}")
        return operator

    def _exact(self) -> tuple[str, ...]:
        if self._here() in {_END, ","}:
            return ("",)
        if not self._is_word():
            raise SelectorFault(f"found '{self._here()}', expected: identifier")
        return (self._next(),)

    def _set(self) -> tuple[str, ...]:
        if (token := self._next()) != "(":
            raise SelectorFault(f"found '{token}' expected: '('")
        if self._here() == ")":
            self.at += 1
            return ("",)
        if not (self._is_word() or self._here() == ","):
            raise SelectorFault(f"found '{self._here()}', expected: ',', ')' or identifier")
        values = tuple(sorted(self._members()))
        self.at += 1
        return values

    def _members(self) -> set[str]:
        """Comma-separated words up to the closing bracket; nothing between commas is the empty word."""
        members: set[str] = set()
        while True:
            if self._is_word():
                members.add(self._next())
                if self._here() == ")":
                    return members
                if self._here() != ",":
                    raise SelectorFault(f"found '{self._here()}', expected: ',' or ')'")
            elif self._here() == ",":
                self.at += 1
                if not members or self._here() in {",", ")"}:
                    members.add("")
                if self._here() == ")":
                    return members
            else:
                raise SelectorFault(f"found '{self._here()}', expected: ',', or identifier")

    def _is_word(self) -> bool:
        token = self._here()
        return token != _END and token[0] not in "=!(),><"

    def _here(self) -> str:
        return self.tokens[self.at]

    def _next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]


def _tokens(text: str) -> Iterable[str]:
    """Words and symbols; a run of symbols is cut into the longest ones known."""
    at = 0
    while True:
        match = _TOKEN.match(text, at)
        if match is None or match["end"] is not None:
            break
        at = match.end()
        if match["word"] is not None:
            yield match["word"]
        else:
            yield from _symbols(match["symbol"])
    yield _END
    yield _END


def _symbols(run: str) -> Iterable[str]:
    while run:
        size = 2 if run[:2] in _SYMBOLS else 1
        yield run[:size]
        run = run[size:]
