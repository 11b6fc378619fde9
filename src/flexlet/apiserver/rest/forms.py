"""Other forms of stored objects, made once for everybody who watches.

A version that is not the stored one, or the state in which an object left a selection, is the same bytes for every
watcher that sees it. What was made last is kept, up to a bound in bytes.
"""

from collections.abc import Callable
from typing import Final

from flexlet.apiserver.contract.kind import Kind

KEPT_BYTES: Final = 8 * 1024 * 1024


class Forms:
    """By the stored bytes, which are one object in memory for all, and the revision shown."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._bytes = 0
        # Each entry holds the stored bytes and the kind, so their identities cannot become somebody else's.
        self._forms: dict[tuple[int, int, int], tuple[Kind, bytes, bytes]] = {}

    def get(self, kind: Kind, value: bytes, revision: int, make: Callable[[], bytes]) -> bytes:
        """The form that was made before, or a new one."""
        place = (id(kind), id(value), revision)
        found = self._forms.get(place)
        if found is None:
            found = self._forms[place] = (kind, value, make())
            self._bytes += len(found[2]) + len(value)
            self._forget()
        return found[2]

    def _forget(self) -> None:
        while self._bytes > self._kept_bytes and len(self._forms) > 1:
            _, value, form = self._forms.pop(next(iter(self._forms)))
            self._bytes -= len(form) + len(value)
