"""What a script is made of."""

from typing import Literal

import msgspec


class Text(msgspec.Struct, frozen=True):
    """Part of a word that stands for itself."""

    text: str


class Variable(msgspec.Struct, frozen=True):
    """``$name``, ``${name}`` or ``${name:-otherwise}``."""

    name: str
    otherwise: str = ""
    quoted: bool = False


class Output(msgspec.Struct, frozen=True):
    """``$(script)``."""

    script: str
    quoted: bool = False


class Sum(msgspec.Struct, frozen=True):
    """``$((expression))``."""

    expression: str


class Word(msgspec.Struct, frozen=True):
    """Parts that belong together."""

    parts: tuple[Text | Variable | Output | Sum, ...]


class Operator(msgspec.Struct, frozen=True):
    """A sign between words: ``;``, ``&&``, ``>`` ..."""

    sign: str


class Redirect(msgspec.Struct, frozen=True):
    """Where a stream goes: ``>``, ``>>``, ``<``, or ``>&`` to another stream."""

    stream: int
    sign: str
    target: Word


class Simple(msgspec.Struct, frozen=True):
    """A command with its words; assignments come before it."""

    words: tuple[Word, ...] = ()
    assignments: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()


class Pipe(msgspec.Struct, frozen=True):
    """The output of one is the input of the next."""

    left: "Node"
    right: "Node"


class Not(msgspec.Struct, frozen=True):
    """Success and failure exchanged."""

    node: "Node"


class Chain(msgspec.Struct, frozen=True):
    """``&&`` or ``||``."""

    left: "Node"
    sign: str
    right: "Node"


class Series(msgspec.Struct, frozen=True):
    """One after the other; those marked go on in the background."""

    items: tuple[tuple["Node", bool], ...]


class Group(msgspec.Struct, frozen=True):
    """``{ ... }``, or ``( ... )`` with variables of its own."""

    node: "Node"
    is_subshell: bool = False
    redirects: tuple[Redirect, ...] = ()


class If(msgspec.Struct, frozen=True):
    """The first branch whose condition holds."""

    branches: tuple[tuple["Node", "Node"], ...]
    otherwise: "Node | None" = None


class Loop(msgspec.Struct, frozen=True):
    """``while`` or ``until``."""

    kind: Literal["while", "until"]
    condition: "Node"
    node: "Node"


class For(msgspec.Struct, frozen=True):
    """Once for each word."""

    name: str
    words: tuple[Word, ...]
    node: "Node"


Node = Simple | Pipe | Not | Chain | Series | Group | If | Loop | For
Token = Word | Operator
