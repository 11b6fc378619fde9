"""How long work tells a person where it is: one plain line per step, through a callable of the caller's choice."""

from collections.abc import Callable

Progress = Callable[[str], None]
