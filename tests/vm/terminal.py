"""``flexlet`` in a terminal, as a person uses it: keys go in, what is shown comes out."""

import asyncio
import contextlib
import os
import sys
import termios
import time
from typing import Final, Self

PATIENCE_S: Final = 300.0
_LOOK_S: Final = 0.2
_CHUNK: Final = 65536


class Terminal:
    """A command in a terminal of its own."""

    def __init__(self, *words: str) -> None:
        self._words = words
        self.shown = ""

    async def __aenter__(self) -> Self:
        self._ours, self._theirs = os.openpty()
        os.set_blocking(self._ours, False)
        self._before = termios.tcgetattr(self._theirs)
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "flexlet", *self._words),
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
        os.close(self._ours)
        os.close(self._theirs)

    @property
    def is_restored(self) -> bool:
        """Whether the terminal is as it was before the command."""
        return termios.tcgetattr(self._theirs) == self._before

    async def shows(self, text: str) -> None:
        """Wait until it has been shown."""
        end = time.monotonic() + PATIENCE_S
        while text not in self.shown:
            assert time.monotonic() < end, f"it never shows {text!r}: {self.shown}"
            assert self._process.returncode is None, self.shown
            await asyncio.sleep(_LOOK_S)
            self._read()

    async def type(self, keys: str) -> None:
        """Press keys."""
        await asyncio.to_thread(os.write, self._ours, keys.encode())

    async def ended(self) -> int:
        """Wait until the command has ended; its exit code."""
        async with asyncio.timeout(PATIENCE_S):
            return await self._process.wait()

    def _read(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self.shown += os.read(self._ours, _CHUNK).decode(errors="replace")
