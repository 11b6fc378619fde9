"""Looking at a resize until it is over."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from flexlet.api.status import ApiError
from flexlet.cli.output import say
from flexlet.cli.resize.group import FAILED, REFUSED
from flexlet.core.sizes.wish import PENDING, Outcome
from flexlet.ports.clock import Clock

CODES: Final = {"Done": 0, "Failed": FAILED, "Refused": REFUSED}
_LOOK_S: Final = 0.2
_PATIENT_S: Final = 1.0
"""That nobody has answered yet is worth a word only after this."""
_PASSING: Final = (429, 500, 503, 504)

T = TypeVar("T")


async def follow(
    who: str,
    clock: Clock,
    patience_s: float,
    look: Callable[[], Awaitable[T]],
    judge: Callable[[T], Outcome],
) -> tuple[T, Outcome]:
    """Look again and again, and say what is new on stderr; the last look and what it came to.

    Who runs out of patience gets Failed, with what the resize waited for. A server that is away for a moment is
    asked again.
    """
    began, told = clock.monotonic(), ""
    last: tuple[T] | None = None
    while True:
        waited = clock.monotonic() - began
        try:
            last = (await look(),)
            found = judge(*last)
        except ApiError as error:
            if error.code not in _PASSING or waited >= patience_s:
                raise
            found = Outcome("Waiting", "Unavailable", str(error))
        if last is not None and found.state != "Waiting":
            return last[0], found
        if last is not None and waited >= patience_s:
            text = f"not done within {patience_s:g} s: {words(found)}"
            return last[0], Outcome("Failed", "Timeout", text)
        is_news = found.reason != PENDING or waited >= _PATIENT_S
        if is_news and (text := words(found)) != told:
            say(f"{who}  {waited:5.1f}s  {text}")
            told = text
        await clock.sleep(_LOOK_S)


def words(outcome: Outcome) -> str:
    """``Inflating: balloon to cpu 7``."""
    return ": ".join(filter(None, (outcome.reason, outcome.message)))


def conclude(who: str, outcome: Outcome) -> int:
    """Say how it ended, unless it is done; the exit code."""
    if outcome.state != "Done":
        reason = "" if outcome.reason == outcome.state else f" ({outcome.reason})"
        say(f"{who}: {outcome.state.lower()}{reason}: {outcome.message}")
    return CODES[outcome.state]
