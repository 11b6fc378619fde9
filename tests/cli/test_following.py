"""Looking at a resize until it is over, with a clock that jumps and a server that comes and goes."""

import pytest

from flexlet.api import status
from flexlet.api.status import ApiError, NotFound
from flexlet.cli.resize.following import follow
from flexlet.core.sizes.wish import Outcome

AWAY = status.failure(503, "ServiceUnavailable", "GET failed: connection refused")
WAITING = Outcome("Waiting", "Inflating", "balloon to cpu 7")
DONE = Outcome("Done", "AsWanted")


class Clock:
    """Time passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


async def followed(*answers: Outcome | ApiError, patience_s: float = 10) -> Outcome:
    """What it comes to if looks are answered like this; the last answer is repeated."""
    left = list(answers)

    async def look() -> Outcome:
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, ApiError):
            raise answer
        return answer

    return (await follow("n1", Clock(), patience_s, look, lambda seen: seen))[1]


async def test_news_are_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert await followed(WAITING, WAITING, AWAY, WAITING, DONE) == DONE
    assert capsys.readouterr().err == (
        "n1    0.0s  Inflating: balloon to cpu 7\n"
        "n1    0.4s  Unavailable: GET failed: connection refused\n"
        "n1    0.6s  Inflating: balloon to cpu 7\n"
    )


async def test_patience_ends() -> None:
    late = Outcome("Failed", "Timeout", "not done within 1 s: Inflating: balloon to cpu 7")
    assert await followed(WAITING, patience_s=1) == late


async def test_a_server_that_stays_away_is_an_error() -> None:
    with pytest.raises(ApiError, match="connection refused"):
        await followed(AWAY, patience_s=1)


async def test_what_will_not_pass_is_an_error_at_once() -> None:
    with pytest.raises(NotFound):
        await followed(WAITING, status.not_found("pods", "", "web"), DONE)
