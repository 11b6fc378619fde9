"""The words that ``encoding/json`` has for a document it refuses: the first byte that Go would stumble over."""

from typing import Final

from flexlet.api import gotext
from flexlet.errors import InputError

SPACE: Final = b" \t\r\n"
TRUNCATED: Final = "unexpected end of JSON input"

_DIGITS: Final = b"0123456789"
_HEX: Final = b"0123456789abcdefABCDEF"
_ESCAPABLE: Final = b'bfnrt\\/"'
_LITERALS: Final = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}


class SyntaxFault(InputError):
    """The text is not JSON; `message` is Go's."""


class Scanner:
    """One pass over a document in search of the first byte Go would stumble over."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.at = 0

    def fault(self) -> str | None:
        """What Go says of the document; None if it accepts it."""
        try:
            self._document()
        except SyntaxFault as fault:
            return fault.message
        return None

    def _document(self) -> None:
        """Objects and arrays are kept on a stack of their own, so depth costs no Python frames."""
        stack: list[int] = []
        self._value(stack)
        while stack:
            self._after_value(stack)
        self._skip_space()
        if self.at < len(self.body):
            raise self._unexpected("after top-level value")

    def _after_value(self, stack: list[int]) -> None:
        byte = self._next_token()
        if stack[-1] == ord("{"):
            if byte == ord(","):
                self._key()
                self._value(stack)
            else:
                self._close(stack, byte, ord("}"), "after object key:value pair")
        elif byte == ord(","):
            self._value(stack)
        else:
            self._close(stack, byte, ord("]"), "after array element")

    def _close(self, stack: list[int], byte: int, expected: int, context: str) -> None:
        if byte != expected:
            raise self._unexpected(context, back=1)
        stack.pop()

    def _value(self, stack: list[int]) -> None:
        """Read one scalar or empty container, or open a container and read its first value."""
        while True:
            byte = self._next_token()
            if byte == ord("{"):
                if self._peek() == ord("}"):
                    self.at += 1
                    return
                self._key()
            elif byte == ord("["):
                if self._peek() == ord("]"):
                    self.at += 1
                    return
            else:
                self._scalar(byte)
                return
            stack.append(byte)

    def _key(self) -> None:
        if self._next_token() != ord('"'):
            raise self._unexpected("looking for beginning of object key string", back=1)
        self._string()
        if self._next_token() != ord(":"):
            raise self._unexpected("after object key", back=1)

    def _scalar(self, byte: int) -> None:
        if byte == ord('"'):
            self._string()
        elif byte in _LITERALS:
            self._literal(_LITERALS[byte])
        elif byte == ord("-") or byte in _DIGITS:
            self._number(byte)
        else:
            raise self._unexpected("looking for beginning of value", back=1)

    def _literal(self, word: bytes) -> None:
        for expected in word[1:]:
            if self._next() != expected:
                context = f"in literal {word.decode()} (expecting '{chr(expected)}')"
                raise self._unexpected(context, back=1)

    def _number(self, byte: int) -> None:
        if byte == ord("-"):
            byte = self._next()
            if byte not in _DIGITS:
                raise self._unexpected("in numeric literal", back=1)
        if byte != ord("0"):
            self._digits()
        if self._here() == ord("."):
            self.at += 1
            self._some_digits("after decimal point in numeric literal")
        if self._here() in (ord("e"), ord("E")):
            self.at += 1
            if self._here() in (ord("+"), ord("-")):
                self.at += 1
            self._some_digits("in exponent of numeric literal")

    def _some_digits(self, context: str) -> None:
        if self._next() not in _DIGITS:
            raise self._unexpected(context, back=1)
        self._digits()

    def _digits(self) -> None:
        while self._here() in _DIGITS:
            self.at += 1

    def _string(self) -> None:
        while (byte := self._next()) != ord('"'):
            if byte == ord("\\"):
                self._escape()
            elif byte < 0x20:
                raise self._unexpected("in string literal", back=1)

    def _escape(self) -> None:
        byte = self._next()
        if byte == ord("u"):
            for _ in range(4):
                if self._next() not in _HEX:
                    raise self._unexpected("in \\u hexadecimal character escape", back=1)
        elif byte not in _ESCAPABLE:
            raise self._unexpected("in string escape code", back=1)

    def _next_token(self) -> int:
        self._skip_space()
        return self._next()

    def _next(self) -> int:
        if self.at >= len(self.body):
            raise SyntaxFault(TRUNCATED)
        self.at += 1
        return self.body[self.at - 1]

    def _peek(self) -> int:
        self._skip_space()
        return self._here()

    def _here(self) -> int:
        # A space stands for the end, as it does in Go's scanner.
        return self.body[self.at] if self.at < len(self.body) else ord(" ")

    def _skip_space(self) -> None:
        while self.at < len(self.body) and self.body[self.at] in SPACE:
            self.at += 1

    def _unexpected(self, context: str, back: int = 0) -> SyntaxFault:
        byte = self.body[self.at - back]
        return SyntaxFault(f"invalid character {gotext.quote_character(byte)} {context}")
