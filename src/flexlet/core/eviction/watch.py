"""Thresholds over time: which are crossed, since when, and what the node says about itself meanwhile.

A condition holds from the moment a threshold is crossed, grace or not, until a while after that was last so; it
does not flap. A threshold that led to evictions counts as crossed until its minimum reclaim is won back too. The
same measurement never leads to two evictions.
"""

from collections.abc import Iterable

import msgspec

from flexlet.core.eviction.signals import ALLOCATABLE_MEMORY, CONDITIONS, MEMORY_AVAILABLE, Levels
from flexlet.core.kubeletconfig.thresholds import Threshold

_NEVER = float("-inf")


class Watch(msgspec.Struct, frozen=True, kw_only=True):
    """What is remembered from one measurement to the next."""

    crossed_at: dict[Threshold, float] = {}
    """Thresholds that are crossed, and since when."""
    acted_on: tuple[Threshold, ...] = ()
    """Those of them whose grace is over."""
    pressed_at: dict[str, float] = {}
    """Conditions, and when they were last observed."""
    measured_at: dict[str, float] = {}
    """Signals, and when they were last measured."""


def advance(
    watch: Watch, thresholds: Iterable[Threshold], levels: Levels, now: float
) -> tuple[Watch, tuple[Threshold, ...]]:
    """The watch after a measurement, and the thresholds to act upon, the most urgent first."""
    crossed = [each for each in thresholds if is_crossed(each, levels)]
    crossed += [each for each in watch.acted_on if each not in crossed and is_crossed(each, levels, reclaim=True)]
    since = {each: watch.crossed_at.get(each, now) for each in crossed}
    due = tuple(each for each in crossed if now - since[each] >= each.grace_s)
    fresh = [each for each in due if levels[each.signal].time > watch.measured_at.get(each.signal, _NEVER)]
    seen = Watch(
        crossed_at=since,
        acted_on=due,
        pressed_at=watch.pressed_at | {CONDITIONS[each.signal]: now for each in crossed},
        measured_at={signal: level.time for signal, level in levels.items()},
    )
    return seen, tuple(sorted(fresh, key=_urgency))


def pressures(watch: Watch, transition_s: float, now: float) -> frozenset[str]:
    """The conditions that hold: observed not longer ago than the transition period."""
    return frozenset(kind for kind, at in watch.pressed_at.items() if now - at < transition_s)


def is_crossed(threshold: Threshold, levels: Levels, *, reclaim: bool = False) -> bool:
    """Whether too little is left; with `reclaim`, whether less than threshold and minimum reclaim together."""
    level = levels.get(threshold.signal)
    if level is None or threshold.signal not in CONDITIONS:
        return False
    wanted = threshold.below.of(level.capacity)
    if reclaim and threshold.minimum_reclaim is not None:
        wanted += threshold.minimum_reclaim.of(level.capacity)
    return level.available < wanted


def _urgency(threshold: Threshold) -> bool:
    """Memory before everything else: the kernel would not wait."""
    return threshold.signal not in (MEMORY_AVAILABLE, ALLOCATABLE_MEMORY)
