"""Where the agent remembers what it learned, decided and did, for `flexlet explain` and for bug reports."""

from typing import Any, Protocol


class Journal(Protocol):
    """Entries in the order they happened; old ones are dropped when it grows too large."""

    def note(self, at: float, kind: str, subject: str, what: Any) -> None:
        """Add an entry: `kind` is ``learned``, ``decided``, ``done`` or ``told``; must not block for long."""
        ...

    def flush(self) -> None:
        """See to it that entries are in the file."""
        ...
