"""Keys that need a look, now or later.

A change makes a key due in the next round. A refusal does as well, since there may be something to say about it,
but it also holds the key back: until the hold ends, whoever looks should not repeat what was refused. Holds double
with each refusal in a row and end early when the key is forgiven, because it did what it wanted or was changed.

A look that raises is the key's own fault: it finds nothing, is made again ever later, and keeps no other waiting.
"""

import heapq
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from flexlet.core.faults import FIRST_WAIT_S, LAST_WAIT_S, LookFault

_FIRST_HOLD_S: Final = 0.1
_LONGEST_HOLD_S: Final = 30.0
_MOST_DOUBLINGS: Final = 10  # more are beyond the longest wait, and soon beyond what a float holds
Found = TypeVar("Found")


class WorkQueue:
    """An ordered set of due keys, alarms for others, and holds."""

    def __init__(self) -> None:
        self._due: dict[str, None] = {}
        self._alarms: list[tuple[float, str]] = []
        self._alarm_of: dict[str, float] = {}
        self._refusals: dict[str, int] = {}
        self._just_refused: set[str] = set()
        self._held_until: dict[str, float] = {}
        self._failures: dict[str, tuple[str, int]] = {}
        self._faults: list[LookFault] = []
        self._now = 0.0

    def add(self, key: str) -> None:
        """Look at the key in the next round."""
        self._due[key] = None

    def add_at(self, key: str, when: float) -> None:
        """Look at the key at a time, if nothing is set earlier."""
        if when < self._alarm_of.get(key, float("inf")):
            self._alarm_of[key] = when
            heapq.heappush(self._alarms, (when, key))

    def refused(self, key: str) -> None:
        """Something done for the key was refused."""
        self._just_refused.add(key)
        self.add(key)

    def forgive(self, key: str) -> None:
        """The key is well again."""
        self._refusals.pop(key, None)
        self._held_until.pop(key, None)
        self._just_refused.discard(key)

    def drop(self, key: str) -> None:
        """The key is gone; an alarm still set for it is harmless."""
        self._due.pop(key, None)
        self._alarm_of.pop(key, None)
        self._recover(key)
        self.forgive(key)

    def attempt(self, key: str, look: Callable[[], Iterable[Found]], name: str = "") -> list[Found]:
        """What a look at a key of the last `take` finds; `name` is what people call it."""
        try:
            found = list(look())
        except Exception as error:  # noqa: BLE001  whatever it is, it concerns this key alone
            _, before = self._failures.get(key, ("", 0))
            self._failures[key] = name or key, before + 1
            self._faults.append(LookFault(name or key, error))
            self.add_at(key, self._now + min(FIRST_WAIT_S * 2 ** min(before, _MOST_DOUBLINGS), LAST_WAIT_S))
            return []
        self._recover(key)
        return found

    def _recover(self, key: str) -> None:
        name, _ = self._failures.pop(key, ("", 0))
        if name:
            self._faults.append(LookFault(name, None))

    def take_faults(self) -> tuple[LookFault, ...]:
        """The looks that failed, and the keys that are well again, since last asked."""
        taken, self._faults = tuple(self._faults), []
        return taken

    def held(self, key: str) -> bool:
        """Whether the key must wait before it tries again; as of the last `take`."""
        return self._held_until.get(key, 0.0) > self._now

    def take(self, now: float, at_most: int | None = None) -> list[str]:
        """The keys that are due, those that waited longest first; more than `at_most` are so in the next round."""
        self._now = now
        for key in self._just_refused:
            self._hold(key, now)
        self._just_refused.clear()
        while self._alarms and self._alarms[0][0] <= now:
            when, key = heapq.heappop(self._alarms)
            if self._alarm_of.get(key) == when:
                del self._alarm_of[key]
                self.add(key)
        due = list(self._due)[:at_most]
        for key in due:
            del self._due[key]
        return due

    @property
    def wake_at(self) -> float | None:
        """When the next key is due."""
        if self._due:
            return self._now
        while self._alarms and self._alarm_of.get(self._alarms[0][1]) != self._alarms[0][0]:
            heapq.heappop(self._alarms)
        return self._alarms[0][0] if self._alarms else None

    def _hold(self, key: str, now: float) -> None:
        count = self._refusals[key] = self._refusals.get(key, 0) + 1
        until = now + min(_FIRST_HOLD_S * 2 ** (count - 1), _LONGEST_HOLD_S)
        self._held_until[key] = until
        self.add_at(key, until)
