"""One bucket (one resource type) in memory: its committed rows in key order and its recent history.

Pure and synchronous; the store's event loop is its only user. What must stay true:

- `rows` is the result of every event applied so far, `keys` are its keys in order;
- `history` holds, oldest first, every event after `floor`, so that any state from `floor` on can be
  rebuilt by undoing events from the newest back. Old pages and resumed watches need nothing else.

The floor moves only to the revision of an event this bucket really forgot: an idle bucket keeps serving
watches from long ago, as kube-apiserver's per-resource watch cache does.
"""

from bisect import bisect_left, bisect_right, insort
from collections import deque

from flexlet.apiserver.store.errors import Compacted
from flexlet.apiserver.store.rows import Event, Page, Row

EVENT_BYTES = 256  # an event, its row and their places in the history, besides the object's bytes
LAST = "\U0010ffff"  # sorts after every character a key can hold: prefix + LAST ends the prefix's range


def kept_alive(event: Event) -> int:
    """The bytes that only history holds because of an event: the state it replaced, and a deletion's own."""
    replaced = 0 if event.previous is None else len(event.previous.value)
    return EVENT_BYTES + replaced + (len(event.row.value) if event.type == "DELETED" else 0)


class Bucket:
    """The committed rows and the history of one resource type."""

    def __init__(self, floor: int) -> None:
        self.rows: dict[str, Row] = {}
        self.keys: list[str] = []
        self.history: deque[Event] = deque()
        self.floor = floor
        self.history_bytes = 0

    def apply(self, event: Event) -> None:
        """Make a committed event part of the state and of the history."""
        key = event.row.key
        if event.type == "ADDED":
            insort(self.keys, key)
        elif event.type == "DELETED":
            del self.keys[bisect_left(self.keys, key)]
        self.place(event)
        self.history.append(event)
        self.history_bytes += kept_alive(event)

    def weigh(self) -> None:
        """Count the bytes of a history that was put in place at once, as after a replay of a file."""
        self.history_bytes = sum(map(kept_alive, self.history))

    def place(self, event: Event) -> None:
        """Change the rows only; a replay of a whole file sorts the keys once, at its end."""
        if event.type == "DELETED":
            del self.rows[event.row.key]
        else:
            self.rows[event.row.key] = event.row

    def below(self, prefix: str) -> list[Row]:
        """All rows whose key starts with `prefix`, in key order."""
        return [self.rows[key] for key in self._range(prefix, "")]

    def page(self, prefix: str, after_key: str, limit: int | None, revision: int) -> Page:
        """Up to `limit` rows behind `after_key` as they were at `revision`."""
        past = self._undone(revision)
        keys = self._range(prefix, after_key)
        if past:
            keys = self._past_keys(keys, past, prefix, after_key)
        chosen = keys if limit is None else keys[:limit]
        rows = [past.get(key) or self.rows[key] for key in chosen]
        return Page(rows=rows, revision=revision, remaining=len(keys) - len(chosen))

    def since(self, revision: int, prefix: str) -> list[Event]:
        """The events after `revision` below `prefix`, oldest first."""
        self._require(revision)
        newer: list[Event] = []
        for event in reversed(self.history):
            if event.row.revision <= revision:
                break
            if event.row.key.startswith(prefix):
                newer.append(event)
        newer.reverse()
        return newer

    def forget(self, through: int) -> None:
        """Drop the history up to and including revision `through`."""
        while self.history and self.history[0].row.revision <= through:
            self._forget_oldest()

    def shrink(self, limit_bytes: int) -> bool:
        """Drop the oldest history until the rest keeps no more than so many bytes alive; whether any was."""
        before = self.floor
        while self.history and self.history_bytes > limit_bytes:
            self._forget_oldest()
        return self.floor != before

    def _forget_oldest(self) -> None:
        event = self.history.popleft()
        self.history_bytes -= kept_alive(event)
        self.floor = event.row.revision

    def _require(self, revision: int) -> None:
        if revision < self.floor:
            raise Compacted(revision, self.floor)

    def _undone(self, revision: int) -> dict[str, Row | None]:
        """For each key changed after `revision`: its row at that time, None where there was none."""
        self._require(revision)
        past: dict[str, Row | None] = {}
        for event in reversed(self.history):
            if event.row.revision <= revision:
                break
            past[event.row.key] = event.previous
        return past

    def _past_keys(self, keys: list[str], past: dict[str, Row | None], prefix: str, after_key: str) -> list[str]:
        kept = [key for key in keys if key not in past or past[key] is not None]
        revived = [
            key
            for key, row in past.items()
            if row is not None and key not in self.rows and key.startswith(prefix) and key > after_key
        ]
        return sorted(kept + revived) if revived else kept

    def _range(self, prefix: str, after_key: str) -> list[str]:
        begin = max(bisect_left(self.keys, prefix), bisect_right(self.keys, after_key))
        end = bisect_left(self.keys, prefix + LAST) if prefix else len(self.keys)
        return self.keys[begin:end]
