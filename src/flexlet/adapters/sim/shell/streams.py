"""Where a command reads from and prints to."""

from collections.abc import Callable

import msgspec


class Streams(msgspec.Struct, frozen=True):
    """Standard input as a text, and two places to print to."""

    out: Callable[[str], None]
    err: Callable[[str], None]
    input: str = ""


def nowhere(_: str) -> None:
    """Prints into the void."""
