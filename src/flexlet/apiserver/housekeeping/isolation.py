"""One bad object ends nothing: whatever a loop does with an object is tried here, and a fault stays that object's.

A client can store what no loop foresaw. So every loop of the server hands its work to an `Isolation`, which takes
any exception, counts it, says once per back-off which object it was, and lets the loop go on with the next.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from flexlet.api.status import ApiError
from flexlet.core.faults import Faults
from flexlet.ports.clock import Clock

LOOK_S: Final = 1.0
"""How often back-offs are looked at while there are any."""

log: Final = logging.getLogger(__name__)

Work = Callable[[], Awaitable[None]]


class _Named(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""


class _Any(msgspec.Struct, frozen=True):
    metadata: _Named = _Named()


_identify: Final = msgspec.json.Decoder(_Any).decode


class Isolation:
    """Tries the work of one loop, one object at a time; what failed is tried again after its back-off."""

    def __init__(self, loop: str, clock: Clock, faults: Faults | None = None) -> None:
        self._loop = loop
        self._clock = clock
        self._faults = faults or Faults()
        self._late: dict[str, tuple[float, Work]] = {}
        self._any_late = asyncio.Event()
        self._turn = asyncio.Lock()

    async def attempt(self, key: str, work: Work) -> bool:
        """Do the work now; whether it went well. A fault is only counted and told."""
        try:
            await work()
        except Exception as error:  # noqa: BLE001  whatever it is, it concerns this object alone
            hold, why = self._faults.failed(self._loop, key, self._clock.now()), f"{type(error).__name__}: {error}"
            if hold.tell:
                told = {"loop": self._loop, "object": key, "error": why, "again_in_s": hold.wait_s}
                log.warning("%s: %s left alone for %g s: %s", self._loop, key, hold.wait_s, why, extra=told)
            return False
        self._faults.ended(self._loop, key)
        return True

    async def handle(self, key: str, work: Work) -> None:
        """Do the work now and, if it fails, again later; older work that waits for that is forgotten."""
        async with self._turn:
            await self._try(key, work)

    def forget(self, key: str) -> None:
        """The object is gone."""
        self._late.pop(key, None)
        self._faults.ended(self._loop, key)

    async def retry(self) -> None:
        """Try late work again when its time has come, until cancelled."""
        while True:
            await self._any_late.wait()
            await self._clock.sleep(LOOK_S)
            now = self._clock.now()
            for key in [key for key, (due, _) in self._late.items() if due <= now]:
                async with self._turn:
                    if key in self._late:
                        await self._try(key, self._late[key][1])
            if not self._late:
                self._any_late.clear()

    async def repeat(self, key: str, work: Work, pause_s: float) -> None:
        """Do the work again and again, with a pause in between, until cancelled."""

        async def tolerant() -> None:
            try:
                await work()
            except ApiError as error:  # a watch that ended is no fault
                log.warning("listing again", extra={"resource": key, "error": str(error)})

        while True:
            await self.attempt(key, tolerant)
            await self._clock.sleep(pause_s)

    async def _try(self, key: str, work: Work) -> None:
        self._late.pop(key, None)
        if not await self.attempt(key, work):
            hold = self._faults.until(self._loop, key)
            self._late[key] = (hold, work)
            self._any_late.set()


def key_of(value: bytes) -> str:
    """``namespace/name`` of an object; of bytes that are none, a word for that."""
    try:
        metadata = _identify(value).metadata
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return "<unreadable>"
    return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name
