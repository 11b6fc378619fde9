"""One evaluation: its variables, and what it may still spend.

Upstream counts the cost of every call; here turns of loops count, and the sizes of what functions read and build.
One step takes about a microsecond, so that no rule holds the server up for longer than a fraction of a second.
"""

from collections.abc import Callable, Sized
from typing import Any, Final, TypeAlias

from flexlet.api import regexps
from flexlet.apiserver.crd.cel.values import CelError

STEPS: Final = 200_000
"""Of one rule at one place."""
BUDGET: Final = 600_000
"""Of all rules of an object together."""
RULE_STEPS: Final = 5

_TEXT: Final = 50
"""Bytes of text that cost a step."""
_ITEMS: Final = 10
"""Items of lists and maps that cost a step."""
_PATTERN: Final = 500
"""Steps of RE2 (program size times bytes of text) that cost one of ours."""
_SQUARE: Final = frozenset({"distinct", "sets.contains", "sets.intersects", "sets.equivalent"})
_PATTERNS: Final = frozenset({"matches", "find", "findAll"})


class Budget:
    """What the rules of one object may still spend."""

    __slots__ = ("left",)

    def __init__(self, left: int = BUDGET) -> None:
        self.left = left

    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self.left < 0


class Scope:
    """The variables of one evaluation; an expression that costs too much is cut off."""

    __slots__ = ("budget", "steps", "variables")

    def __init__(self, variables: dict[str, Any], budget: Budget | None = None) -> None:
        self.variables = variables
        self.steps = STEPS
        self.budget = budget or Budget()

    def spend(self, steps: int = 1) -> None:
        """Count turns of a loop, or what costs as much."""
        self.steps -= steps
        self.budget.left -= steps
        if self.steps < 0 or self.budget.left < 0:
            raise CelError("operation cancelled: actual cost limit exceeded")

    def spend_for_call(self, name: str, args: list[Any]) -> None:
        """Count what a function is about to read, before it does."""
        sizes = [_size(arg) for arg in args]
        steps = sum(sizes)
        if name in _SQUARE:
            steps = (steps * _ITEMS) ** 2 // _ITEMS
        elif name in _PATTERNS:
            steps += _pattern_steps(args)
        elif name == "replace":
            steps += _replaced(args) // _TEXT
        elif name == "join":
            steps += sum(map(_size, args[0])) + len(args[0]) * _size(args[-1]) if isinstance(args[0], list) else 0
        elif name == "format":
            steps += sum(map(_size, args[-1])) if isinstance(args[-1], list) else 0
        if steps:
            self.spend(steps)

    def spend_for_size(self, value: Any) -> None:
        """Count what was built."""
        if steps := _size(value):
            self.spend(steps)


def _size(value: Any) -> int:
    if isinstance(value, str | bytes):
        return len(value) // _TEXT
    return len(value) // _ITEMS if isinstance(value, Sized) else 0


def _pattern_steps(args: list[Any]) -> int:
    text, pattern = args[0], args[1] if len(args) > 1 else None
    if not isinstance(text, str) or not isinstance(pattern, str):
        return 0
    try:
        return regexps.compiled(pattern).size * len(text) // _PATTERN
    except regexps.WrongPattern:
        return 0


def _replaced(args: list[Any]) -> int:
    """An upper bound of the length that replacing makes."""
    if len(args) < 3 or not all(isinstance(arg, str) for arg in args[:3]):
        return 0
    text, old, new = args[:3]
    return (len(text) // max(len(old), 1) + 1) * len(new)


Program: TypeAlias = Callable[[Scope], Any]
