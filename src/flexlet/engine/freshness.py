"""Which of two pictures of an object is the newer one.

A loop hears of an object on two ways: from its feeds, and as the answers to its own writes. Neither waits for the
other, so an answer may come after the feed has already shown a later change, and a feed may still be bringing
changes older than an answer. Either, folded, would turn the decider's picture back. resourceVersions of one
resource grow with every write and may be compared (Kubernetes promises it since 1.35); where they are no numbers,
nothing is held back.
"""

from collections.abc import Container, Iterable
from typing import Final

from flexlet.core.actions import Ref
from flexlet.core.observations import Observation, Seen, Vanished

_Key = tuple[Ref, str]
_GONE: Final = 2**63


class Freshness:
    """Remembers revisions only as long as they can matter: during a flight, and until the feed has caught up."""

    def __init__(self, followed: Container[Ref]) -> None:
        self._followed = followed
        self._ahead: dict[_Key, int] = {}
        self._in_flight: dict[_Key, int] | None = None

    def take_off(self) -> None:
        """Actions start: from now on note what the feeds say."""
        self._in_flight = {}

    def land(self, answers: Iterable[Observation]) -> list[Observation]:
        """The answers that are news; feeds that lag behind them are held back from now on."""
        noted, self._in_flight = self._in_flight or {}, None
        return [answer for answer in answers if self._is_news(answer, noted)]

    def admits(self, observation: Observation) -> bool:
        """Whether something a feed brought is at least as new as what was folded."""
        key = _key(observation)
        if key is None:
            return True
        revision = observation.revision if isinstance(observation, Seen) else _GONE
        if self._in_flight is not None:
            self._in_flight[key] = revision
        if revision < self._ahead.get(key, 0):
            return False
        self._ahead.pop(key, None)
        return True

    def _is_news(self, answer: Observation, noted: dict[_Key, int]) -> bool:
        key = _key(answer)
        if key is None or not isinstance(answer, Seen) or not answer.revision:
            return True
        if noted.get(key, 0) >= answer.revision:
            return False
        if answer.ref in self._followed:
            self._ahead[key] = answer.revision
        return True


def _key(observation: Observation) -> _Key | None:
    match observation:
        case Seen(ref=ref, view=view):
            return None if view is None else (ref, view.uid)
        case Vanished(ref=ref, uid=uid):
            return ref, uid
        case _:
            return None
