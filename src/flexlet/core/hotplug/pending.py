"""When a size that counts is done with: pods without room are evicted only for a shortage that lasts.

Parts of a machine go offline one by one, and may all come back: an unplug that the kernel refuses in the middle,
a CPU that somebody switches off and on. So nobody is evicted before nothing is going offline any more and the
machine has been quiet for a while. What follows soon, and goes the same way, belongs to the same generation.

Times are of one clock that never goes back. It begins anew with every agent, so that no restart makes the time
shorter.
"""

from typing import Final, Literal

import msgspec

from flexlet.core.hotplug.generation import Generation
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.machine.difference import Change, difference
from flexlet.core.machine.machine import Machine

_LOOK_S: Final = 1.0
"""How soon to look again while parts are going offline."""


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """A size that counts and may not be the last word."""

    since: float
    """When the machine last changed, or a part was last seen going offline."""
    published_at: float = 0.0
    """When this size began to count."""
    short: bool = False
    """Whether pods have no room on it."""


class Signs(msgspec.Struct, frozen=True, kw_only=True):
    """What the kernel shows of the machine now."""

    told_at: float = 0.0
    """When it last told of a part that came or went."""
    is_leaving: bool = False
    """Whether parts are going offline."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What to do now, or when to ask again."""

    state: Pending
    act: Literal["wait", "evict", "finish"] = "wait"
    wake_at: float = 0.0


def decide(state: Pending, signs: Signs, now: float, settings: ResizeSettings) -> Decision:
    """Evict for a shortage that has lasted; finish a size to which nothing was added for a moment."""
    # What a part that never gets offline can hold up is an eviction; that a size counts is told all the same.
    stuck = not state.short and now >= state.published_at + settings.evict_quiet_s
    if signs.is_leaving and not stuck:
        return Decision(state=msgspec.structs.replace(state, since=now), wake_at=now + _LOOK_S)
    if state.short:
        state = msgspec.structs.replace(state, since=max(state.since, signs.told_at))
    if stuck:
        return Decision(state=state, act="finish", wake_at=now)
    due = state.since + (settings.evict_quiet_s if state.short else settings.settle_s)
    if now < due:
        return Decision(state=state, wake_at=due)
    return Decision(state=state, act="evict" if state.short else "finish", wake_at=now)


def continues(generation: Generation, machine: Machine, *, short: bool) -> bool:
    """Whether the machine as it is now is more of the same generation: it goes on in the same direction.

    While pods have no room it is in any case: whatever comes back then is what is waited for.
    """
    if short or not generation.changes:
        return True
    before, now = _directions(generation.changes), _directions(difference(generation.machine, machine))
    return len(before) == 1 and now <= before


def _directions(changes: tuple[Change, ...]) -> frozenset[str]:
    return frozenset(each.direction for each in changes if each.direction != "moved")
