"""When each node was last heard of.

Nodes are kept in the order in which they spoke, so only those that may be overdue are looked at. What counts is
the time at which news arrived here, not the times written in them: clocks differ.
"""

from collections import OrderedDict
from typing import Final

GRACE_S: Final = 50.0
STARTUP_GRACE_S: Final = 60.0
PERIOD_S: Final = 5.0
_OWN_SLEEP_S: Final = 4 * PERIOD_S


class Pulse:
    """The silence of nodes."""

    def __init__(self, grace_s: float = GRACE_S) -> None:
        self._grace_s = grace_s
        self._heard: OrderedDict[str, float] = OrderedDict()
        self._news: set[str] = set()
        self._silent: set[str] = set()
        self._looked = float("inf")

    def hear(self, name: str) -> None:
        """A node gave a sign of life."""
        self._news.add(name)

    def forget(self, name: str) -> None:
        """A node is gone."""
        self._heard.pop(name, None)
        self._news.discard(name)
        self._silent.discard(name)

    def is_silent(self, name: str) -> bool:
        """Whether the node was overdue, and has not spoken since."""
        return name in self._silent

    def has(self, name: str) -> bool:
        """Whether the node is watched."""
        return name in self._heard or name in self._news or name in self._silent

    def excuse_all(self, now: float) -> None:
        """Nobody could be heard for a while: start over for all."""
        self._heard = OrderedDict.fromkeys((*self._heard, *self._silent), now)
        self._silent.clear()

    def newly_silent(self, now: float) -> list[str]:
        """The nodes whose grace has run out since the last call."""
        if now - self._looked > _OWN_SLEEP_S:
            # Not they were silent: this process did not run, as on a laptop that slept.
            self.excuse_all(now)
        self._looked = now
        for name in self._news:
            self._silent.discard(name)
            self._heard[name] = now
            self._heard.move_to_end(name)
        self._news.clear()
        overdue = []
        while self._heard and next(iter(self._heard.values())) + self._grace_s <= now:
            overdue.append(self._heard.popitem(last=False)[0])
        self._silent.update(overdue)
        return overdue
