"""CEL expressions read into `syntax`, by precedence: ``?:``, ``||``, ``&&``, relations, sums, products, signs."""

from typing import Final

from flexlet.apiserver.crd.cel.syntax import (
    Call,
    Expression,
    Index,
    ListOf,
    Literal,
    MapOf,
    Name,
    Select,
    Unsupported,
    WrongExpression,
)
from flexlet.apiserver.crd.cel.tokens import Token, tokens

_LEVELS: Final = (("||",), ("&&",), ("==", "!=", "<", "<=", ">", ">=", "in"), ("+", "-"), ("*", "/", "%"))
MAX_DEPTH: Final = 100


def parse(text: str) -> Expression:
    """Read an expression; WrongExpression if it is none."""
    parser = _Parser(text)
    found = parser.expression()
    parser.expect("<EOF>")
    return found


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = list(tokens(text))
        self._at = 0
        self._depth = 0

    @property
    def _here(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _is(self, *texts: str) -> bool:
        return self._here.kind != "literal" and self._here.text in texts

    def _accept(self, text: str) -> bool:
        found = self._is(text)
        self._at += found
        return found

    def expect(self, text: str) -> None:
        if not self._is(text):
            raise WrongExpression(f"Syntax error: mismatched input '{self._here.text}' expecting '{text}'")
        self._at += 1

    def expression(self) -> Expression:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise WrongExpression("expression recursion limit exceeded")
        condition = self._binary(0)
        if self._accept("?"):
            chosen = self._binary(0)
            self.expect(":")
            condition = Call("?:", (condition, chosen, self.expression()))
        self._depth -= 1
        return condition

    def _binary(self, level: int) -> Expression:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self._is(*_LEVELS[level]):
            sign = self._take().text
            left = Call(sign, (left, self._binary(level + 1)))
        return left

    def _unary(self) -> Expression:
        signs = []
        while self._is("!", "-"):
            signs.append(self._take().text)
        found = self._member()
        for sign in reversed(signs):
            if sign == "-" and isinstance(found, Literal) and isinstance(found.value, int | float):
                found = Literal(-found.value)
            else:
                found = Call("!" if sign == "!" else "negate", (found,))
        return found

    def _member(self) -> Expression:
        found = self._primary()
        while True:
            if self._accept("."):
                found = self._selected(found)
            elif self._accept("["):
                optional = self._accept("?")
                found = Index(found, self.expression(), optional)
                self.expect("]")
            else:
                return found

    def _selected(self, operand: Expression) -> Expression:
        optional = self._accept("?")
        name = self._name()
        if not optional and self._accept("("):
            return Call(name, self._arguments(")"), operand)
        return Select(operand, name, optional)

    def _name(self) -> str:
        token = self._take()
        if token.kind != "name":
            raise WrongExpression(f"Syntax error: no viable alternative at input '.{token.text}'")
        return token.text

    def _primary(self) -> Expression:
        token = self._take()
        if token.kind == "literal":
            return Literal(token.value)
        if token.kind == "name":
            if self._accept("("):
                return Call(token.text, self._arguments(")"))
            if self._is("{"):
                raise Unsupported("messages cannot be built")
            return Name(token.text)
        if token.text == "(":
            found = self.expression()
            self.expect(")")
            return found
        if token.text == "[":
            return ListOf(self._arguments("]"))
        if token.text == "{":
            return self._map()
        raise WrongExpression(f"Syntax error: mismatched input '{token.text}'")

    def _arguments(self, end: str) -> tuple[Expression, ...]:
        found: list[Expression] = []
        while not self._accept(end):
            if self._is("?"):
                raise Unsupported("optional list items")
            found.append(self.expression())
            if not self._accept(","):
                self.expect(end)
                break
        return tuple(found)

    def _map(self) -> Expression:
        entries = []
        while not self._accept("}"):
            key = self.expression()
            self.expect(":")
            entries.append((key, self.expression()))
            if not self._accept(","):
                self.expect("}")
                break
        return MapOf(tuple(entries))
