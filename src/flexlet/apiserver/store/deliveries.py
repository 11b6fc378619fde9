"""When watchers hear of what was committed: at once while little happens, together while much does.

A write to a client costs about the same for one event as for ten. So the pause between two rounds is as long as
the last round took, up to a bound: with few watchers nobody waits, with a thousand of them events that are
committed meanwhile go out in one write each. A long round lets the event loop do other things in between.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final, TypeAlias

MAX_PAUSE_S: Final = 0.010
SLICE_S: Final = 0.010
TICK_S: Final = 0.001  # the event loops' timers are no finer

Deliver: TypeAlias = Callable[[], None]


class Deliveries:
    """Functions to call soon, each once however often it was asked for, in the order of asking."""

    def __init__(self) -> None:
        self._due: dict[Deliver, None] = {}
        self._scheduled = False
        self._not_before = 0.0
        self._spent = 0.0

    def add(self, deliver: Deliver) -> None:
        """Call a function with the next round."""
        self._due[deliver] = None
        if self._scheduled:
            return
        self._scheduled = True
        loop = asyncio.get_running_loop()
        pause = self._not_before - time.monotonic()
        if pause < TICK_S:
            loop.call_soon(self._round)
        else:
            loop.call_later(pause, self._round)

    def _round(self) -> None:
        loop = asyncio.get_running_loop()
        begin = time.monotonic()  # uvloop's own clock stands still within a round
        while self._due and time.monotonic() - begin < SLICE_S:
            deliver = next(iter(self._due))
            del self._due[deliver]
            _call(deliver, loop)
        self._spent += time.monotonic() - begin
        if self._due:
            loop.call_soon(self._round)
            return
        self._scheduled = False
        self._not_before = time.monotonic() + min(self._spent, MAX_PAUSE_S)
        self._spent = 0.0


def _call(deliver: Deliver, loop: asyncio.AbstractEventLoop) -> None:
    """Keep one broken stream from stopping the others."""
    try:
        deliver()
    except Exception as exc:  # noqa: BLE001  the others must hear of the event
        loop.call_exception_handler({"message": f"delivering events to {deliver!r} failed", "exception": exc})
