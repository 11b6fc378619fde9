"""What an agent holds its ports by: every call counted, and all of them cut when the agent is killed.

An agent dies between two of its calls or while one is under way: it never learns how that one ended. What it had
set going in the world goes on without it. So a call that reaches its end on a cut line does not return, and no new
one begins.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, TypeVar, cast

T = TypeVar("T")

LOOKS: Final = frozenset(
    {
        *("get", "list", "load", "read", "read_end", "tail", "known", "exists", "children", "processes"),
        *("inspect", "overview", "status", "version", "cgroup_driver", "image", "images", "highest_log"),
    }
)
"""Calls that leave the world as it is: to die after one of them is to die after the call before."""


class Lifeline:
    """Of one agent; `calls` are those that have come to an end, as port and method."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.is_cut = False
        self.is_over = False
        """Whether the agent is being taken away: what it still tries fails at once."""
        self.dies_after: int | None = None
        """So many calls that change something; the agent does not live to learn how the last of them ended."""
        self.died = asyncio.Event()

    def hold(self, name: str, port: T) -> T:
        """The port, seen through the line."""
        return cast("T", _Held(self, name, port))

    def cut(self) -> None:
        """From now on nothing gets through."""
        self.is_cut = True
        self.died.set()

    async def ended(self, name: str, method: str) -> None:
        """A call has ended; does not return if the agent dies here."""
        if not self.is_cut:
            self.calls.append((name, method))
            if self.dies_after is not None and method not in LOOKS:
                self.dies_after -= 1
                if self.dies_after == 0:
                    self.cut()
        await self.pass_through()

    async def pass_through(self) -> None:
        """Returns unless the line is cut."""
        if self.is_over:
            raise asyncio.CancelledError
        if self.is_cut:
            await asyncio.get_running_loop().create_future()


class _Held:
    """Any port: its methods are counted, everything else is as it is."""

    def __init__(self, line: Lifeline, name: str, port: Any) -> None:
        self._line = line
        self._name = name
        self._port = port

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(self._port, attribute)
        if inspect.iscoroutinefunction(found):
            return self._counted(attribute, found)
        if inspect.isasyncgenfunction(found):
            return self._followed(found)
        return found

    def _counted(self, method: str, work: Callable[..., Any]) -> Callable[..., Any]:
        async def call(*args: Any, **named: Any) -> Any:
            await self._line.pass_through()
            try:
                result = await work(*args, **named)
            except Exception:
                await self._line.ended(self._name, method)
                raise
            await self._line.ended(self._name, method)
            return result

        return call

    def _followed(self, work: Callable[..., Any]) -> Callable[..., Any]:
        async def follow(*args: Any, **named: Any) -> AsyncIterator[Any]:
            await self._line.pass_through()
            async for each in work(*args, **named):
                await self._line.pass_through()
                yield each

        return follow
