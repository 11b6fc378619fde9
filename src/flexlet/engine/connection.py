"""Whether somebody answers, in the log: one line when the connection is lost, one when it is regained."""

import logging
from typing import Final

from flexlet.ports.clock import Clock

log: Final = logging.getLogger("flexlet.agent")


class Connection:
    """To one peer; tell it how every attempt ended."""

    def __init__(self, peer: str, clock: Clock) -> None:
        self._peer = peer
        self._clock = clock
        self._lost_at: float | None = None

    def failed(self, error: str) -> None:
        """An attempt failed; only the first of a row is told."""
        if self._lost_at is None:
            self._lost_at = self._clock.now()
            log.warning('connection lost to="%s" error="%s"', self._peer, error.replace('"', "'"))

    def answered(self) -> None:
        """An attempt succeeded."""
        if self._lost_at is not None:
            lasted, self._lost_at = self._clock.now() - self._lost_at, None
            log.info('connection regained to="%s" after_s=%.0f', self._peer, lasted)
