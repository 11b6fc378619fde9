"""Commands inside a machine, as whoever plugs it needs them."""

from collections.abc import Sequence
from typing import Protocol


class Completed(Protocol):
    """A command that has ended."""

    @property
    def exit_code(self) -> int:
        """What it ended with."""
        ...

    @property
    def stdout(self) -> bytes:
        """What it printed."""
        ...

    @property
    def stderr(self) -> bytes:
        """What it complained about."""
        ...


class Guest(Protocol):
    """Runs commands in the guest."""

    async def run(self, argv: Sequence[str], /) -> Completed:
        """Run a command to its end."""
        ...
