"""Words and operators as a tree."""

from typing import Final

from flexlet.adapters.sim.shell.lexer import Lexer, SyntaxFault
from flexlet.adapters.sim.shell.syntax import (
    Chain,
    For,
    Group,
    If,
    Loop,
    Node,
    Not,
    Operator,
    Pipe,
    Redirect,
    Series,
    Simple,
    Text,
    Token,
    Word,
)

_ENDS: Final = frozenset({"}", "then", "else", "elif", "fi", "do", "done"})
_SEPARATORS: Final = (";", "\n", "&")


def parse(script: str) -> Node:
    """A whole script."""
    parser = _Parser(Lexer(script).tokens())
    node = parser.series()
    if parser.left():
        raise SyntaxFault(f"unexpected {parser.left()[0]}")
    return node


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def left(self) -> list[Token]:
        return self._tokens[self._at :]

    def series(self) -> Node:
        items: list[tuple[Node, bool]] = []
        self._skip_newlines()
        while self.left() and not self._is_sign(")") and self._keyword() not in _ENDS:
            node = self._chain()
            in_background = self._is_sign("&")
            items.append((node, in_background))
            if not self._is_sign(*_SEPARATORS):
                break
            self._at += 1
            self._skip_newlines()
        return items[0][0] if len(items) == 1 and not items[0][1] else Series(tuple(items))

    def _chain(self) -> Node:
        node = self._pipeline()
        while self._is_sign("&&", "||"):
            sign = self._take_sign()
            self._skip_newlines()
            node = Chain(node, sign, self._pipeline())
        return node

    def _pipeline(self) -> Node:
        if self._keyword() == "!":
            self._at += 1
            return Not(self._pipeline())
        node = self._command()
        while self._is_sign("|"):
            self._at += 1
            node = Pipe(node, self._command())
        return node

    def _command(self) -> Node:
        if self._is_sign("("):
            self._at += 1
            node = self.series()
            self._expect_sign(")")
            return Group(node, is_subshell=True, redirects=self._redirects())
        match self._keyword():
            case "{":
                self._at += 1
                node = self.series()
                self._expect("}")
                return Group(node, redirects=self._redirects())
            case "if":
                return self._if()
            case "while" | "until":
                return self._loop()
            case "for":
                return self._for()
        return self._simple()

    def _if(self) -> Node:
        branches: list[tuple[Node, Node]] = []
        while self._keyword() in {"if", "elif"}:
            self._at += 1
            condition = self.series()
            self._expect("then")
            branches.append((condition, self.series()))
        otherwise = None
        if self._keyword() == "else":
            self._at += 1
            otherwise = self.series()
        self._expect("fi")
        return If(tuple(branches), otherwise)

    def _loop(self) -> Node:
        kind = "while" if self._keyword() == "while" else "until"
        self._at += 1
        condition = self.series()
        return Loop("while" if kind == "while" else "until", condition, self._do())

    def _for(self) -> Node:
        self._at += 1
        name = self._keyword()
        self._at += 1
        self._expect("in")
        words: list[Word] = []
        while (token := self._peek()) is not None and isinstance(token, Word):
            words.append(token)
            self._at += 1
        if self._is_sign(";", "\n"):
            self._at += 1
        return For(name, tuple(words), self._do())

    def _do(self) -> Node:
        self._skip_newlines()
        self._expect("do")
        node = self.series()
        self._expect("done")
        return node

    def _simple(self) -> Node:
        words: list[Word] = []
        assignments: list[tuple[str, Word]] = []
        redirects: list[Redirect] = []
        while (token := self._peek()) is not None:
            if isinstance(token, Operator):
                if not _redirects(token):
                    break
                redirects += self._redirects()
            elif not words and (assigned := _assignment(token)) is not None:
                assignments.append(assigned)
                self._at += 1
            else:
                words.append(token)
                self._at += 1
        if not words and not assignments and not redirects:
            raise SyntaxFault(f"unexpected {self._peek()}")
        return Simple(tuple(words), tuple(assignments), tuple(redirects))

    def _redirects(self) -> tuple[Redirect, ...]:
        found: list[Redirect] = []
        while (token := self._peek()) is not None and isinstance(token, Operator) and _redirects(token):
            self._at += 1
            target = self._peek()
            if not isinstance(target, Word):
                raise SyntaxFault(f"{token.sign} leads nowhere")
            self._at += 1
            sign = token.sign.lstrip("0123456789")
            number = token.sign[: -len(sign)]
            found.append(Redirect(int(number) if number else (0 if sign == "<" else 1), sign, target))
        return tuple(found)

    def _peek(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _is_sign(self, *signs: str) -> bool:
        token = self._peek()
        return isinstance(token, Operator) and token.sign in signs

    def _take_sign(self) -> str:
        token = self._tokens[self._at]
        self._at += 1
        return token.sign if isinstance(token, Operator) else ""

    def _keyword(self) -> str:
        """The next word, if it is written plainly."""
        token = self._peek()
        match token:
            case Word((Text(text),)):
                return text
            case _:
                return ""

    def _expect(self, word: str) -> None:
        if self._keyword() != word:
            raise SyntaxFault(f"expected {word} before {self._peek()}")
        self._at += 1

    def _expect_sign(self, sign: str) -> None:
        if not self._is_sign(sign):
            raise SyntaxFault(f"expected {sign} before {self._peek()}")
        self._at += 1

    def _skip_newlines(self) -> None:
        while self._is_sign("\n", ";"):
            self._at += 1


def _redirects(operator: Operator) -> bool:
    return ">" in operator.sign or "<" in operator.sign


def _assignment(word: Word) -> tuple[str, Word] | None:
    """``name=value``, if the name is written plainly."""
    match word.parts:
        case (Text(text), *rest) if "=" in text and text.partition("=")[0].isidentifier():
            name, _, value = text.partition("=")
            return name, Word((Text(value), *rest))
        case _:
            return None
