"""How fast requests may follow one another: ``kubeAPIQPS`` and ``kubeAPIBurst``.

A bucket that holds `burst` requests and gains `qps` a second. Who finds it empty waits for its turn, in order.
"""

from flexlet.ports.clock import Clock


class Pace:
    """A bucket shared by all requests of a client; a rate of 0 or less does not slow anybody."""

    def __init__(self, qps: float, burst: int, clock: Clock) -> None:
        self._qps = qps
        self._burst = max(burst, 1)
        self._clock = clock
        self._left = float(self._burst)
        self._at = clock.monotonic()

    async def turn(self) -> None:
        """Return when the next request may be sent."""
        if self._qps <= 0:
            return
        now = self._clock.monotonic()
        self._left = min(self._left + (now - self._at) * self._qps, self._burst) - 1
        self._at = now
        # A negative rest is a debt: each of those who wait has taken a place further back.
        if self._left < 0:
            await self._clock.sleep(-self._left / self._qps)
