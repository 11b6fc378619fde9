"""When the status of the Node is looked at, and when it is sent.

It is computed every ten seconds and sent if anything but the time of the heartbeat changed, or if five minutes
have passed since the last report. After a change the next unchanged report is shifted by up to half the period
either way, so that nodes that changed together do not report together for ever. What cannot wait (the node became
ready, the machine grew, pods are being evicted) is computed at once.
"""

from typing import Final

from flexlet.core.node import spread
from flexlet.core.node.settings import NodeSettings

_TRIES: Final = 5


class Heartbeat:
    """The times of one node's reports."""

    def __init__(self, settings: NodeSettings) -> None:
        self._settings = settings
        self._reported_at: float | None = None
        self._shift_s = 0.0
        self._failures = 0
        self._count = 0
        self.due = 0.0

    def hurry(self) -> None:
        """Compute with the next decision."""
        self.due = 0.0

    def computed(self, now: float) -> None:
        """The status was looked at."""
        self._count += 1
        self.due = now + spread.jittered(self._settings.compute_s, self._settings.name, self._count)

    def must_report(self, now: float) -> bool:
        """Whether it is time for a report even if nothing changed."""
        if self._reported_at is None:
            return True
        return now - self._reported_at >= self._settings.report_s + self._shift_s

    def reported(self, now: float, *, changed: bool) -> None:
        """A report is on its way."""
        if changed or self._reported_at is None:
            self._shift_s = self._settings.report_s * (spread.share(self._settings.name, self._count) - 0.5)
        else:
            self._shift_s = 0.0
        self._reported_at = now

    def failed(self) -> None:
        """It did not arrive: try again at once, a few times."""
        self._failures += 1
        self._reported_at = None
        if self._failures < _TRIES:
            self.hurry()
        else:
            self._failures = 0

    def arrived(self) -> None:
        """The server has it."""
        self._failures = 0
