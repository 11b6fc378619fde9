"""A small cache whose entries grow old."""

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

from flexlet.ports.clock import Clock

MAX_ENTRIES: Final = 1024

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Expiring(Generic[Key, Value]):
    """Remembers answers for a while; when full, the oldest go first."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[Key, tuple[float, Value]] = {}

    def get(self, key: Key) -> Value | None:
        """The answer, if it is still good."""
        found = self._entries.get(key)
        if found is None:
            return None
        if self._clock.monotonic() >= found[0]:
            del self._entries[key]
            return None
        return found[1]

    def put(self, key: Key, value: Value, seconds: float) -> None:
        """Remember an answer for so long."""
        if seconds <= 0:
            return
        self._entries.pop(key, None)
        if len(self._entries) >= MAX_ENTRIES:
            del self._entries[next(iter(self._entries))]
        self._entries[key] = (self._clock.monotonic() + seconds, value)
