"""Time that jumps: an event loop whose clock moves only when nothing is left to run.

Whoever sleeps is woken in the order of time, at exactly that time, without anybody waiting for it. Blocking work
that is handed to a thread is done on the spot instead. So a run depends on nothing but the code: it is as fast as
the code is, and the same each time.

What must stay true: only the public seams of asyncio are used, the selector and `time()`. A selector is asked to
wait only when no callback is ready; that is the moment at which time may move.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, TypeVar

from flexlet.errors import InvariantBroken

T = TypeVar("T")

EPOCH: Final = 1_800_000_000.0
"""What the wall clock shows when a simulation begins."""


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop in simulated time."""

    def __init__(self) -> None:
        self.elapsed = 0.0
        self.waiters: list[asyncio.Future[None]] = []
        super().__init__(_IdleSelector(self))
        self.set_default_executor(_OnTheSpot(max_workers=1))

    def time(self) -> float:
        """Simulated seconds since the loop was made."""
        return self.elapsed

    async def shutdown_default_executor(self, *_: Any) -> None:
        """There is no thread to wait for; waiting for one would be waiting for ever."""

    def pass_time(self, seconds: float | None) -> None:
        """Nothing is ready: whoever waits for that goes on, else time does."""
        if self.waiters:
            waiters, self.waiters = self.waiters, []
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)
        elif seconds is None:
            raise InvariantBroken("everybody waits for something that will never happen")
        else:
            self.elapsed += seconds


class _IdleSelector(selectors.BaseSelector):
    """Never waits; says that it would have."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop
        self._real = selectors.DefaultSelector()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._real.select(0)
        if not ready and (timeout is None or timeout > 0):
            self._loop.pass_time(timeout)
        return ready

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()


class _OnTheSpot(ThreadPoolExecutor):
    """Does work where it is asked for it."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        done: Future[T] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  it belongs to whoever waits for the result
            done.set_exception(error)
        return done


class SimClock:
    """`flexlet.ports.clock.Clock` on a simulated loop."""

    def __init__(self, epoch: float = EPOCH) -> None:
        self._epoch = epoch
        self._loop = asyncio.get_running_loop()

    def now(self) -> float:
        """Seconds since the epoch, to the microsecond."""
        return round(self._epoch + self._loop.time(), 6)

    def monotonic(self) -> float:
        """Seconds since the loop was made."""
        return self._loop.time()

    async def sleep(self, seconds: float) -> None:
        """Wait; costs nothing."""
        await asyncio.sleep(seconds)


async def idle() -> None:
    """Wait until nobody else can do anything before time moves on."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SimulatedLoop), "idle is for simulated loops"  # noqa: S101
    waiter = loop.create_future()
    loop.waiters.append(waiter)
    await waiter


def run(story: Coroutine[Any, Any, T]) -> T:
    """Run a story from beginning to end in simulated time."""
    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        return runner.run(story)
