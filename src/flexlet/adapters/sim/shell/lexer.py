"""A script's text as words and operators."""

import re
from typing import Final

from flexlet.adapters.sim.shell.syntax import Operator, Output, Sum, Text, Token, Variable, Word

_OPERATOR: Final = re.compile(r"\d?>&|\d?>>|\d?>|\d?<|&&|\|\||;;|[;&|()\n]")
_PLAIN: Final = re.compile(r"""[^\s'"\\$;&|()<>]+""")
_NAME: Final = re.compile(r"[A-Za-z_]\w*|[?#@*!$0-9]")
_BRACED: Final = re.compile(r"\{(\w+|[?#@*!$])(?::?-([^}]*))?\}")


class SyntaxFault(Exception):
    """A script that this shell cannot read."""


class Lexer:
    """Reads one script."""

    def __init__(self, script: str) -> None:
        self._text = script
        self._at = 0

    def tokens(self) -> list[Token]:
        """Everything up to the end."""
        found: list[Token] = []
        while self._skip_blanks():
            operator = _OPERATOR.match(self._text, self._at)
            if operator is not None:
                self._at = operator.end()
                found.append(Operator(operator[0]))
            else:
                found.append(self._word())
        return found

    def _skip_blanks(self) -> bool:
        """Move to the next token; whether there is one."""
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            elif char.isspace() and char != "\n":
                self._at += 1
            elif self._text.startswith("\\\n", self._at):
                self._at += 2
            else:
                return True
        return False

    def _word(self) -> Word:
        parts: list[Text | Variable | Output | Sum] = []
        while self._at < len(self._text):
            char = self._text[self._at]
            if plain := _PLAIN.match(self._text, self._at):
                parts.append(Text(plain[0]))
                self._at = plain.end()
            elif char == "'":
                parts.append(Text(self._until("'")))
            elif char == '"':
                parts += self._double_quoted()
            elif char == "\\":
                parts.append(Text(self._text[self._at + 1 : self._at + 2]))
                self._at += 2
            elif char == "$":
                parts.append(self._dollar(quoted=False))
            else:
                break
        return Word(tuple(parts))

    def _until(self, end: str) -> str:
        close = self._text.find(end, self._at + 1)
        if close < 0:
            raise SyntaxFault(f"no {end} to close the one at {self._text[self._at :]}")
        text = self._text[self._at + 1 : close]
        self._at = close + 1
        return text

    def _double_quoted(self) -> list[Text | Variable | Output | Sum]:
        parts: list[Text | Variable | Output | Sum] = [Text("")]
        self._at += 1
        while self._text[self._at : self._at + 1] != '"':
            char = self._text[self._at : self._at + 1]
            if not char:
                raise SyntaxFault("a quoted text does not end")
            if char == "$":
                parts.append(self._dollar(quoted=True))
                continue
            if char == "\\" and self._text[self._at + 1 : self._at + 2] in {'"', "\\", "$", "`"}:
                self._at += 1
            parts.append(Text(self._text[self._at]))
            self._at += 1
        self._at += 1
        return parts

    def _dollar(self, *, quoted: bool) -> Text | Variable | Output | Sum:
        self._at += 1
        if self._text.startswith("((", self._at):
            return Sum(self._balanced()[1:-1])
        if self._text.startswith("(", self._at):
            return Output(self._balanced(), quoted)
        for pattern in (_BRACED, _NAME):
            if match := pattern.match(self._text, self._at):
                self._at = match.end()
                groups = match.groups()
                return Variable(groups[0] if groups else match[0], (groups[1] or "") if groups else "", quoted)
        return Text("$")

    def _balanced(self) -> str:
        """The text between this bracket and the one that closes it."""
        depth = 0
        for end in range(self._at, len(self._text)):
            depth += {"(": 1, ")": -1}.get(self._text[end], 0)
            if depth == 0:
                text = self._text[self._at + 1 : end]
                self._at = end + 1
                return text
        raise SyntaxFault("a bracket does not close")
