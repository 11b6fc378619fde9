"""Waiting while a resize is under way: until something holds, for a time, or until the machine changed again."""

from collections.abc import Awaitable, Callable
from typing import Final

from flexlet.ports.clock import Clock

_LOOK_S: Final = 0.1

Question = Callable[[], Awaitable[bool]]


class Patience:
    """Waits that a newer size of the machine ends."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.interrupted: Callable[[], bool] = lambda: False
        """Whether there is a newer size; set by whoever is told of sizes."""

    async def until(self, holds: Question, seconds: float) -> bool:
        """Whether it came to hold in time; False as well if the wait was cut short."""
        ends = self._clock.monotonic() + seconds
        while not await holds():
            if self.interrupted() or self._clock.monotonic() >= ends:
                return False
            await self._clock.sleep(_LOOK_S)
        return True
