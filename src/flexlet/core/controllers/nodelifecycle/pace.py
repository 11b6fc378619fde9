"""How fast nodes may be emptied.

One after the other, ten seconds apart. When most are not ready, the fault is more likely ours or the network's:
then large clusters slow down tenfold and small ones stop. When none is ready, nothing is evicted at all.
"""

from typing import Final

_NORMAL_S: Final = 10.0
_SLOW_S: Final = 100.0
_MOST: Final = 0.55
_LARGE: Final = 50


class Pace:
    """Hands out permission to drive pods from a node."""

    def __init__(self) -> None:
        self._ready = 0
        self._total = 0
        self._free_at = 0.0

    def count(self, ready: int, total: int) -> bool:
        """How the nodes are; True if that begins or ends a total outage."""
        was_out, self._ready, self._total = self.is_outage, ready, total
        return was_out != self.is_outage

    @property
    def is_outage(self) -> bool:
        """Whether nodes exist and none is ready."""
        return self._total > 0 and self._ready == 0

    def may_expel(self, now: float) -> bool:
        """Whether one more node may be emptied now; a yes is spent."""
        if self._interval() is None or now < self._free_at:
            return False
        self._free_at = now + (self._interval() or 0.0)
        return True

    def next_chance(self, now: float) -> float:
        """When to ask again."""
        return max(self._free_at, now + 1.0)

    def _interval(self) -> float | None:
        unready = self._total - self._ready
        if self.is_outage:
            return None
        if unready > 2 and unready / self._total >= _MOST:
            return _SLOW_S if self._total > _LARGE else None
        return _NORMAL_S
