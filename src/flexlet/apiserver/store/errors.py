"""What the store refuses and how it fails; no sqlite3 exception passes this border.

::

    StoreError
     ├ KeyExists          create lost: the key is taken (409 AlreadyExists)
     ├ RevisionMismatch   compare-and-swap lost: carries the row that won (409 Conflict, or 404 when None)
     ├ Compacted          that old revision is forgotten: list again (410 Gone)
     ├ Overflow           this watcher was too slow and is cut off: end of stream, the client resumes
     └ StoreFault         the write is not durable and not visible; the disk or the process is at fault
        ├ StoreFull       the disk is full (500, as for etcd): only deletions are taken until there is space
        ├ StoreBusy       too many writes wait for the disk (429 TooManyRequests)
        └ StoreClosed     the store is shut or shutting down

A file that cannot be opened at all is a `flexlet.errors.ConfigError`: only the operator can help.
"""

from flexlet.apiserver.store.rows import Row
from flexlet.errors import FlexletError


class StoreError(FlexletError):
    """Base of everything a store call raises once the store is open."""


class KeyExists(StoreError):
    """The key to create is taken."""

    def __init__(self, bucket: str, key: str) -> None:
        super().__init__(f"{bucket} {key} already exists")


class RevisionMismatch(StoreError):
    """The row is not at the expected revision; `current` is what it is now, None when it is gone."""

    def __init__(self, bucket: str, key: str, expected: int, current: Row | None) -> None:
        found = "absent" if current is None else f"at revision {current.revision}"
        super().__init__(f"{bucket} {key} was expected at revision {expected} and is {found}")
        self.expected = expected
        self.current = current


class Compacted(StoreError):
    """The asked revision lies before the kept history; `oldest` is the first one that can be asked for."""

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"revision {asked} is too old, history begins after {oldest}")
        self.asked = asked
        self.oldest = oldest


class Overflow(StoreError):
    """The watcher did not keep up; it has to start again from the last revision it saw, or list."""


class StoreFault(StoreError):
    """A write could not be made durable; nothing of it became visible.

    Should the process die right then, a restart may still find the write, as with any unacknowledged one.
    """


class StoreFull(StoreFault):
    """The disk is full; deletions are taken, out of space that was put aside for them."""


class StoreBusy(StoreFault):
    """Too many writes wait for the disk; try again later."""


class StoreClosed(StoreFault):
    """The store is closed or closing."""
