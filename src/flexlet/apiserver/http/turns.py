"""Heavy requests take turns: few at once, few of one user, and users one after the other.

API Priority and Fairness reduced to what helps on one event loop. A request that is light never waits here, so a
node's lease does not stand behind somebody's lists of ten thousand pods. What waits is bounded in number and time;
what is over that is refused with 429 and comes again, as upstream's clients do.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from flexlet.api import status
from flexlet.apiserver.http.wire import DEFAULT, Wire

BUSY = "The server has received too many requests and has asked us to try again later"


class Turns:
    """Who is at work, and who waits."""

    def __init__(self, wire: Wire = DEFAULT) -> None:
        self._wire = wire
        self._at_work: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self.refused = 0

    @property
    def at_work(self) -> int:
        """Heavy requests that have a turn."""
        return self._at_work.total()

    @property
    def waiting(self) -> int:
        """Heavy requests that wait for one."""
        return sum(map(len, self._waiting.values()))

    @asynccontextmanager
    async def turn(self, user: str) -> AsyncIterator[None]:
        """Have a turn for as long as the context is open, but not for longer than a turn lasts.

        Raises:
            ApiError: 429, too many of this user wait, or this one waited too long.
        """
        await self._begin(user)
        over = asyncio.Event()
        loop = asyncio.get_running_loop()

        def end() -> None:
            if not over.is_set():
                over.set()
                self._end(user)

        timer = loop.call_later(self._wire.hold_s, end)
        try:
            yield
        finally:
            timer.cancel()
            end()

    async def _begin(self, user: str) -> None:
        if self._is_free(user) and not self._waiting.get(user):
            self._at_work[user] += 1
            return
        queue = self._waiting.setdefault(user, deque())
        if len(queue) >= self._wire.heavy_waiting:
            raise self._refusal()
        called: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(called)
        try:
            async with asyncio.timeout(self._wire.turn_s):
                await called
        except TimeoutError:
            self._leave(user, called)
            raise self._refusal() from None
        except asyncio.CancelledError:
            self._leave(user, called)
            raise

    def _is_free(self, user: str) -> bool:
        return self.at_work < self._wire.heavy and self._at_work[user] < self._wire.heavy_per_user

    def _leave(self, user: str, called: "asyncio.Future[None]") -> None:
        """Stop waiting; a turn that was given at that very moment goes on to the next."""
        if called.done() and not called.cancelled():
            self._end(user)
            return
        queue = self._waiting.get(user)
        if queue is not None and called in queue:
            queue.remove(called)
            if not queue:
                del self._waiting[user]

    def _end(self, user: str) -> None:
        self._at_work[user] -= 1
        if not self._at_work[user]:
            del self._at_work[user]
        while self._call_next():
            pass

    def _call_next(self) -> bool:
        """Give a turn to the user who has waited longest since their last; whether anybody got one."""
        for user, queue in list(self._waiting.items()):
            while queue and queue[0].done():
                queue.popleft()  # gave up, and has had no time to leave
            if not queue:
                del self._waiting[user]
            if not queue or not self._is_free(user):
                continue
            called = queue.popleft()
            del self._waiting[user]
            if queue:
                self._waiting[user] = queue  # behind everybody else who waits
            self._at_work[user] += 1
            called.set_result(None)
            return True
        return False

    def _refusal(self) -> status.ApiError:
        self.refused += 1
        return status.failure(429, "TooManyRequests", BUSY, status.StatusDetails(retry_after_seconds=1))
