"""How far back history reaches: at most so many revisions, at most so many seconds.

Separate because it is the only place of the store where time counts, and time is an argument here. Ages are
known to a hundredth of the kept span: one mark per step instead of a timestamp per event.
"""

from collections import deque

from msgspec import Struct


class Mark(Struct, frozen=True, gc=False):
    """At this time the store stood at this revision."""

    time: float
    revision: int


class Retention:
    """Remembers when revisions were reached and says which of them are old enough to forget."""

    def __init__(self, events: int, seconds: float) -> None:
        self._events = events
        self._seconds = seconds
        self._marks: deque[Mark] = deque()
        self._aged = 0

    def reached(self, revision: int, now: float) -> None:
        """Note that everything up to `revision` exists by `now`."""
        if not self._marks or now - self._marks[-1].time >= self._seconds / 100:
            self._marks.append(Mark(now, revision))

    def cutoff(self, revision: int, now: float) -> int:
        """The newest revision that is no longer part of history when the store stands at `revision`."""
        while self._marks and self._marks[0].time <= now - self._seconds:
            self._aged = self._marks.popleft().revision
        return max(self._aged, revision - self._events, 0)
