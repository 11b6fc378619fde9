"""Looking at a resize until it is over."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from flexlet.cli.output import say
from flexlet.cli.resize.group import FAILED, REFUSED
from flexlet.core.sizes.wish import Outcome
from flexlet.ports.clock import Clock

CODES: Final = {"Done": 0, "Failed": FAILED, "Refused": REFUSED}
_LOOK_S: Final = 0.2

T = TypeVar("T")


async def follow(
    who: str,
    clock: Clock,
    patience_s: float,
    look: Callable[[], Awaitable[T]],
    judge: Callable[[T], Outcome],
) -> tuple[T, Outcome]:
    """Look again and again, and say what is new on stderr; the last look and what it came to.

    Who runs out of patience gets Failed, with what the resize waited for.
    """
    began, told = clock.monotonic(), ""
    while True:
        seen = await look()
        found = judge(seen)
        waited = clock.monotonic() - began
        if found.state != "Waiting":
            return seen, found
        if waited >= patience_s:
            text = f"not done within {patience_s:g} s: {words(found)}"
            return seen, Outcome("Failed", "Timeout", text)
        if (text := words(found)) != told:
            say(f"{who}  {waited:5.1f}s  {text}")
            told = text
        await clock.sleep(_LOOK_S)


def words(outcome: Outcome) -> str:
    """``Inflating: balloon to cpu 7``."""
    return ": ".join(filter(None, (outcome.reason, outcome.message)))


def conclude(who: str, outcome: Outcome) -> int:
    """Say how it ended, unless it is done; the exit code."""
    if outcome.state == "Refused":
        say(f"{who}: refused ({outcome.reason}): {outcome.message}")
    elif outcome.state == "Failed":
        say(f"{who}: failed ({outcome.reason}): {outcome.message}")
    return CODES[outcome.state]
