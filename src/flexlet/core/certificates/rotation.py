"""When to ask for a certificate, how long to wait for it, and when to ask again.

A certificate is renewed at a random point between 70 and 90 % of its life, so that nodes that joined together do
not renew together for ever. One that lacks something wanted (the node got another address) is renewed at once. A
request waits for approval for a quarter of an hour, the first one of a node for an hour; then, and after every
failure, another is made, at growing distances.
"""

from typing import Final

import msgspec

from flexlet.core.certificates.wanted import Held, Wanted, satisfies

PATIENCE_S: Final = 15 * 60.0
FIRST_PATIENCE_S: Final = 3600.0
_FIRST_PAUSE_S: Final = 2.0
_LONGEST_PAUSE_S: Final = 32.0


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request under way."""

    name: str
    uid: str
    wanted: Wanted
    until: float


class State(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the next step depends on; `fraction` is the luck of this certificate, from 0 to 1."""

    wanted: Wanted | None
    held: Held | None = None
    asked: Asked | None = None
    fraction: float = 0.0
    failures: int = 0
    failed_at: float = 0.0


class Rest(msgspec.Struct, frozen=True):
    """Nothing to do until then; None: until something changes."""

    until: float | None


class Ask(msgspec.Struct, frozen=True):
    """Make a new key and a request for it."""

    wanted: Wanted


class Await(msgspec.Struct, frozen=True):
    """See what becomes of the request, until then at most."""

    asked: Asked


class Abandon(msgspec.Struct, frozen=True):
    """Stop waiting: nobody approved it in time, or it is no longer what is wanted."""

    asked: Asked
    late: bool


Step = Rest | Ask | Await | Abandon


def decide(state: State, now: float) -> Step:
    """The next step."""
    asked = state.asked
    if asked is not None:
        late = now >= asked.until
        return Abandon(asked, late) if late or asked.wanted != state.wanted else Await(asked)
    if state.wanted is None:
        return Rest(None)
    due = _due(state, state.wanted, now)
    if state.failures:
        due = max(due, state.failed_at + pause(state.failures))
    return Ask(state.wanted) if now >= due else Rest(due)


def _due(state: State, wanted: Wanted, now: float) -> float:
    if state.held is None or not satisfies(state.held, wanted):
        return now
    return renewal(state.held, state.fraction)


def renewal(held: Held, fraction: float) -> float:
    """When to renew: 70 % of the certificate's life, and up to 20 % more."""
    return held.begins + (held.ends - held.begins) * (0.7 + 0.2 * fraction)


def is_valid(held: Held | None, now: float) -> bool:
    """Whether there is a certificate that has not ended."""
    return held is not None and now <= held.ends


def pause(failures: int) -> float:
    """How long to wait after so many failures in a row."""
    return min(_FIRST_PAUSE_S * 2.0 ** min(failures - 1, 10), _LONGEST_PAUSE_S)
