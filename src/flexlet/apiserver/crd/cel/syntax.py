"""What a CEL expression consists of."""

from typing import Any, TypeAlias

import msgspec

from flexlet.errors import InputError


class WrongExpression(InputError):
    """The text is no CEL."""


class Unsupported(InputError):
    """The expression uses a part of the language that is not evaluated here."""


class Literal(msgspec.Struct, frozen=True):
    """A constant."""

    value: Any


class Name(msgspec.Struct, frozen=True):
    """A variable."""

    name: str


class Select(msgspec.Struct, frozen=True):
    """``a.b``; `optional` for ``a.?b``."""

    operand: "Expression"
    field: str
    optional: bool = False


class Index(msgspec.Struct, frozen=True):
    """``a[b]``; `optional` for ``a[?b]``."""

    operand: "Expression"
    index: "Expression"
    optional: bool = False


class Call(msgspec.Struct, frozen=True):
    """A function, a method of `target`, or an operator (named by its sign)."""

    function: str
    args: tuple["Expression", ...]
    target: "Expression | None" = None


class ListOf(msgspec.Struct, frozen=True):
    """``[a, b]``."""

    items: tuple["Expression", ...]


class MapOf(msgspec.Struct, frozen=True):
    """``{a: b}``."""

    entries: tuple[tuple["Expression", "Expression"], ...]


Expression: TypeAlias = Literal | Name | Select | Index | Call | ListOf | MapOf
