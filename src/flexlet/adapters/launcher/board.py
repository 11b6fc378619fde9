"""The machine's report as it is now, for everybody who waits for the next one.

Who reads slowly skips reports: each is complete in itself, so only the last one counts.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from flexlet.core.vm.guest import Report


class Board:
    """One report and its readers."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self._changed = asyncio.Event()
        self._over = False

    def update(self, **fields: Any) -> None:
        """Change what is said; nobody is told if that is the same."""
        report = msgspec.structs.replace(self.report, **fields)
        if report != self.report:
            self.report = report
            self._tell()

    def close(self) -> None:
        """No report will follow."""
        self._over = True
        self._tell()

    async def reports(self) -> AsyncIterator[Report]:
        """The report as it is, and again whenever it has changed."""
        told = None
        while True:
            if self.report is not told:
                told = self.report
                yield told
            elif self._over:
                return
            else:
                await self._changed.wait()

    async def changes(self, patience_s: float) -> None:
        """Wait until something else is said, but no longer than that."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._changed.wait()

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


class Pulse:
    """Something has happened that is worth a look."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def beat(self) -> None:
        """Wake all who wait."""
        event, self._event = self._event, asyncio.Event()
        event.set()

    async def within(self, seconds: float) -> None:
        """Wait for the next beat, but no longer than that."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._event.wait()
