"""Notice what happens to pods in the runtime, without being told by it if need be.

The runtime's own events say which pod to look at, at once. They are a hint: streams break, and some runtimes have
none. So every little while there is a quick look over everything, and pods that changed are looked at closely.
While events flow the look is a rare one; without them it comes every second.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from flexlet.core.runtime.shown import Glimpse
from flexlet.engine.connection import Connection
from flexlet.errors import RuntimeFault
from flexlet.ports.clock import Clock
from flexlet.ports.runtime import Observing

_OFTEN_S: Final = 1.0
_RARELY_S: Final = 10.0
_PATIENCE_S: Final = 5.0
"""How long to wait before asking for a broken stream of events again."""

Look = Callable[[str], Awaitable[None]]


class Watching:
    """Keeps an eye on one runtime; `look` is called with the uid of each pod that changed."""

    def __init__(self, runtime: Observing, clock: Clock, look: Look) -> None:
        self._runtime = runtime
        self._clock = clock
        self._look = look
        self._seen: dict[str, frozenset[Glimpse]] | None = None
        self._hinted = False
        self._connection = Connection("container runtime", clock)
        self.last_look_at = clock.now()
        """When the runtime last answered; the node is not well if that is long ago."""

    @property
    def has_looked(self) -> bool:
        """Whether the runtime has answered once."""
        return self._seen is not None

    @property
    def known(self) -> tuple[str, ...]:
        """Uids of all pods that the runtime had at the last look."""
        return tuple(self._seen or ())

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow())
            while True:
                await self.look_over()
                await self._clock.sleep(_RARELY_S if self._hinted else _OFTEN_S)

    async def look_over(self) -> None:
        """One quick look; a runtime that does not answer is asked again at the next one."""
        try:
            found = _by_pod(await self._runtime.overview())
        except RuntimeFault as fault:
            self._connection.failed(fault.detail)
            return
        self._connection.answered()
        before, self._seen = self._seen, found
        self.last_look_at = self._clock.now()
        if before is not None:
            await self._look_at(uid for uid in {*before, *found} if before.get(uid) != found.get(uid))

    async def _follow(self) -> None:
        while True:
            try:
                async for uid in self._runtime.events():
                    self._hinted = True
                    await self._look_at([uid])
            except RuntimeFault:
                pass
            self._hinted = False
            await self._clock.sleep(_PATIENCE_S)

    async def _look_at(self, uids: Iterable[str]) -> None:
        for uid in uids:
            try:
                await self._look(uid)
            except RuntimeFault:
                # Forgotten, so that the next look finds it changed.
                if self._seen is not None:
                    self._seen.pop(uid, None)


def _by_pod(glimpses: Iterable[Glimpse]) -> dict[str, frozenset[Glimpse]]:
    found: dict[str, set[Glimpse]] = {}
    for each in glimpses:
        found.setdefault(each.uid, set()).add(each)
    return {uid: frozenset(several) for uid, several in found.items()}
