"""What is wrong with a data file, in words: which objects, which revisions.

Pure: it is told of the records one by one, oldest first, and of what should be there.
"""

from collections.abc import Iterator
from typing import Any

SHOWN = 5  # of each sort; a list of ten thousand objects helps nobody


class Survey:
    """Everything noticed while reading a file from its oldest record to its newest."""

    def __init__(self, compacted: int, kept: int, reached: int) -> None:
        self.faults: list[str] = []
        """What SQLite or the file system said."""
        self.records = 0
        self.newest = compacted
        self._compacted = compacted
        self._kept = kept
        self._reached = reached
        self._found_kept = 0
        self._damaged: list[str] = []
        self._missing: list[tuple[int, int]] = []
        self._contradictions: list[str] = []
        self._heads: dict[tuple[str, str], int] = {}

    def intact(self, revision: int, previous: int, bucket: str, key: str, *, deleted: bool) -> None:
        """A record whose checksum is right."""
        head = self._heads.get((bucket, key), 0)
        if revision <= self._compacted:
            right = head == 0 and not deleted
        else:
            right = previous == head and not (deleted and not head)
        if not right:
            self._contradictions.append(f"{bucket} {key} at revision {revision}")
        self._count(revision)
        if deleted:
            self._heads.pop((bucket, key), None)
        else:
            self._heads[bucket, key] = revision

    def damaged(self, record: tuple[Any, ...]) -> None:
        """A record whose checksum is wrong; its columns may be anything."""
        revision, _, _, bucket, key, *_ = record
        self._damaged.append(f"{_shown(bucket)} {_shown(key)} at revision {_shown(revision)}")
        if isinstance(revision, int):
            self._count(revision)

    def _count(self, revision: int) -> None:
        self.records += 1
        if revision <= self._compacted:
            self._found_kept += 1
            return
        if revision > self.newest + 1:
            self._missing.append((self.newest + 1, revision - 1))
        self.newest = max(self.newest, revision)

    def words(self) -> list[str]:
        """What is wrong, one thing each; empty if nothing is."""
        return [*self.faults, *self._words()]

    def damaged_words(self) -> list[str]:
        """Which records have a wrong checksum."""
        if not self._damaged:
            return []
        return [f"{_number(self._damaged, 'record')} with a wrong checksum: {_some(self._damaged)}"]

    def _words(self) -> Iterator[str]:
        yield from self.damaged_words()
        if self._contradictions:
            yield (
                f"{_number(self._contradictions, 'record')} that the records before "
                f"cannot lead to: {_some(self._contradictions)}"
            )
        if self._missing:
            spans = [f"{first} to {last}" if first < last else str(first) for first, last in self._missing]
            yield f"missing revisions: {_some(spans)}"
        if self._found_kept != self._kept:
            yield (f"{self._found_kept} objects up to revision {self._compacted} where {self._kept} were written")
        if self.newest < self._reached:
            yield (
                f"writes up to revision {self._reached} were acknowledged and the file ends at {self.newest}: "
                f"{self._reached - self.newest} are lost, with the end of its write-ahead log"
            )


def _number(things: list[str], noun: str) -> str:
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"


def _some(things: list[str]) -> str:
    more = f" and {len(things) - SHOWN} more" if len(things) > SHOWN else ""
    return ", ".join(things[:SHOWN]) + more


def _shown(column: Any) -> str:
    """A column that may be anything, short and on one line."""
    text = str(column) if isinstance(column, int | str) else repr(column)
    return text.encode("ascii", "backslashreplace").decode()[:80].replace("\n", " ")
