"""The real clock."""

import asyncio
import time


class SystemClock:
    """`flexlet.ports.clock.Clock` on the operating system's clocks."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait that long."""
        await asyncio.sleep(seconds)
