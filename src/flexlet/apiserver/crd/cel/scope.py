"""One evaluation: its variables, and what it may still spend."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from flexlet.apiserver.crd.cel.values import CelError

STEPS: Final = 200_000


class Scope:
    """The variables of one evaluation; an expression that loops too much is cut off."""

    __slots__ = ("steps", "variables")

    def __init__(self, variables: dict[str, Any]) -> None:
        self.variables = variables
        self.steps = STEPS

    def spend(self) -> None:
        """Count one turn of a loop."""
        self.steps -= 1
        if self.steps < 0:
            raise CelError("operation cancelled: actual cost limit exceeded")


Program: TypeAlias = Callable[[Scope], Any]
