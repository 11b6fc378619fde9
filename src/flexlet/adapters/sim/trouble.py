"""Every call to a simulated node, written down; and failures at chosen ones.

One `Trouble` is shared by all simulated parts of a node, so that "the seventh deed" is counted over all of them.
A failure comes before the deed is done, or after: then the deed is done and only the answer is lost. A `Crash`
stands for the death of the agent at that point; it passes every ``except Exception``, as death does.
"""

import functools
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar

import msgspec

DEEDS: Final = frozenset(
    {
        "run_sandbox",
        "stop_sandbox",
        "remove_sandbox",
        "update_sandbox",
        "create_container",
        "start_container",
        "stop_container",
        "remove_container",
        "update_container",
        "pull",
        "remove_image",
        "create",
        "write",
        "remove",
    }
)
"""Calls that change the node."""


class Crash(BaseException):
    """The agent dies here; whoever runs it catches this and starts another."""


class Call(msgspec.Struct, frozen=True):
    """A call: the method of the port and what it was given."""

    method: str
    arguments: tuple[Any, ...] = ()


class _Plan(msgspec.Struct, frozen=True):
    method: str
    nth: int
    error: BaseException
    lost_answer: bool


class Trouble:
    """What was called, and what goes wrong."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._counts: Counter[str] = Counter()
        self._plans: list[_Plan] = []
        self._crash_after: int | None = None

    @property
    def deeds(self) -> list[Call]:
        """The calls that changed something, in order."""
        return [call for call in self.calls if call.method in DEEDS]

    def called(self, method: str) -> list[tuple[Any, ...]]:
        """What a method was given, each time it was called."""
        return [call.arguments for call in self.calls if call.method == method]

    def fail(self, method: str, error: BaseException, *, nth: int = 1, lost_answer: bool = False) -> None:
        """Let the nth call of a method from now on fail; with `lost_answer` after the deed is done."""
        self._plans.append(_Plan(method, self._counts[method] + nth, error, lost_answer))

    def forgive(self) -> None:
        """Let nothing fail any more."""
        self._plans.clear()

    def crash_after(self, deeds: int) -> None:
        """Let the agent die when that many more deeds are done."""
        self._crash_after = len(self.deeds) + deeds

    def before(self, method: str, arguments: tuple[Any, ...]) -> int:
        """Write a call down; its number among those of its method."""
        self.calls.append(Call(method, arguments))
        self._counts[method] += 1
        number = self._counts[method]
        self._raise(method, number, lost_answer=False)
        return number

    def after(self, method: str, number: int) -> None:
        """The deed is done."""
        if method in DEEDS and self._crash_after is not None and len(self.deeds) >= self._crash_after:
            self._crash_after = None
            raise Crash(f"after {method}")
        self._raise(method, number, lost_answer=True)

    def _raise(self, method: str, number: int, *, lost_answer: bool) -> None:
        for plan in self._plans:
            if (plan.method, plan.nth, plan.lost_answer) == (method, number, lost_answer):
                raise plan.error


class _Troubled(Protocol):
    @property
    def trouble(self) -> Trouble: ...

    def begin(self) -> None: ...


Self = TypeVar("Self", bound=_Troubled)
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def noted(
    method: Callable[Concatenate[Self, Parameters], Awaitable[Result]],
) -> Callable[Concatenate[Self, Parameters], Coroutine[Any, Any, Result]]:
    """A port's method that passes through `Trouble`, after `begin` has let due things happen."""

    @functools.wraps(method)
    async def call(self: Self, /, *args: Parameters.args, **named: Parameters.kwargs) -> Result:
        number = self.trouble.before(method.__name__, (*args, *named.values()))
        self.begin()
        result = await method(self, *args, **named)
        self.trouble.after(method.__name__, number)
        return result

    return call
