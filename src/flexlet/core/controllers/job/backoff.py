"""How long to wait before a failed pod is replaced: 10 s, doubled per failure in a row, 10 min at most.

Kept in memory only, as upstream does: after a restart the first replacement comes without a wait.
"""

from collections.abc import Iterable
from typing import Final

from flexlet.core.controllers.conditions import seconds
from flexlet.core.views.pod import PodView

_FIRST_S: Final = 10.0
_LONGEST_S: Final = 600.0


class Backoff:
    """Failures in a row of one Job's pods."""

    __slots__ = ("_counted", "_failures", "_last")

    def __init__(self) -> None:
        self._counted: set[str] = set()
        self._failures = 0
        self._last = 0.0

    def note(self, succeeded: Iterable[PodView], failed: Iterable[PodView]) -> None:
        """Pods that have ended; each counts once."""
        wins = [seconds(pod.finished_at) for pod in succeeded if pod.uid not in self._counted]
        losses = {pod.uid: seconds(pod.finished_at) for pod in failed if pod.uid not in self._counted}
        self._counted |= losses.keys() | {pod.uid for pod in succeeded}
        if wins:
            self._failures = 0
        since_win = [when for when in losses.values() if not wins or when > max(wins)]
        if since_win:
            self._failures += len(since_win)
            self._last = max(since_win)

    def until(self) -> float:
        """When the next pod may be created."""
        if not self._failures:
            return 0.0
        return self._last + min(_FIRST_S * 2.0 ** min(self._failures - 1, 16), _LONGEST_S)
