"""Eviction thresholds: from the file's texts to values that a measurement can be held against.

Follows ``eviction.ParseThresholdConfig`` of the kubelet 1.36.3: percentages are single-precision numbers, and
``0%`` and ``100%`` switch a threshold off. With pods enforced, the hard memory threshold also holds for what all
pods together use of allocatable memory.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from flexlet.api import duration
from flexlet.api.quantity import ZERO, Quantity
from flexlet.core.kubeletconfig.config import KubeletConfiguration
from flexlet.core.kubeletconfig.problems import Problem
from flexlet.core.kubeletconfig.reservations import PODS
from flexlet.core.machine.allocatable import percentage
from flexlet.errors import InputError

MEMORY: Final = "memory.available"
ALLOCATABLE_MEMORY: Final = "allocatableMemory.available"
SIGNALS: Final = frozenset(
    {
        MEMORY,
        ALLOCATABLE_MEMORY,
        "nodefs.available",
        "nodefs.inodesFree",
        "imagefs.available",
        "imagefs.inodesFree",
        "containerfs.available",
        "containerfs.inodesFree",
        "pid.available",
    }
)
_OFF: Final = ("0%", "100%")
"""What switches a threshold off; it needs no grace period then."""


class Amount(msgspec.Struct, frozen=True):
    """So much, or that part of the capacity."""

    quantity: Quantity | None = None
    fraction: float = 0.0

    def of(self, capacity: int) -> int:
        """In the capacity's unit."""
        return int(capacity * self.fraction) if self.quantity is None else self.quantity.value


class Threshold(msgspec.Struct, frozen=True, kw_only=True):
    """Evict when less than `below` is left of `signal` for longer than the grace period (hard: at once)."""

    signal: str
    below: Amount
    grace_s: float = 0.0
    minimum_reclaim: Amount | None = None


def thresholds(config: KubeletConfiguration) -> tuple[Threshold, ...]:
    """All of them, hard ones first; the configuration obeys the rules."""
    hard = [Threshold(signal=signal, below=amount) for signal, amount in _amounts(config.eviction_hard)]
    soft = [
        Threshold(signal=signal, below=amount, grace_s=duration.parse(config.eviction_soft_grace_period[signal]))
        for signal, amount in _amounts(config.eviction_soft)
    ]
    reclaim = {signal: read_reclaim(text) for signal, text in config.eviction_minimum_reclaim.items()}
    found = [msgspec.structs.replace(each, minimum_reclaim=reclaim.get(each.signal)) for each in (*hard, *soft)]
    if PODS in config.enforce_node_allocatable:
        found += [
            msgspec.structs.replace(each, signal=ALLOCATABLE_MEMORY)
            for each in found
            if each.signal == MEMORY and not each.grace_s
        ]
    return tuple(found)


def _amounts(statements: Mapping[str, str]) -> Iterator[tuple[str, Amount]]:
    for signal, text in statements.items():
        amount = read_threshold(text)
        if amount is not None:
            yield signal, amount


def read_threshold(text: str) -> Amount | None:
    """``100Mi`` or ``10%``; None for one that is switched off. InputError for anything else."""
    if text in _OFF:
        return None
    if text.endswith("%"):
        fraction = _fraction(text)
        if not 0 <= fraction <= 1:
            raise InputError("it must be between 0% and 100%")
        return Amount(fraction=fraction)
    quantity = Quantity.parse(text)
    if quantity <= ZERO:
        raise InputError("it must be positive; to switch the threshold off, set 0%")
    return Amount(quantity)


def read_reclaim(text: str) -> Amount:
    """How much to win back at least; InputError for what is no amount."""
    if text.endswith("%"):
        fraction = _fraction(text)
        if fraction <= 0:
            raise InputError("it must be positive")
        return Amount(fraction=fraction)
    quantity = Quantity.parse(text)
    if quantity < ZERO:
        raise InputError("it must not be negative")
    return Amount(quantity)


def _read_grace(text: str) -> float:
    found = duration.parse(text)
    if found < 0:
        raise InputError("it must not be negative")
    return found


def _fraction(text: str) -> float:
    try:
        return percentage(text)
    except (ValueError, OverflowError):
        raise InputError("this is no percentage") from None


_READERS: Final[dict[str, Callable[[str], object]]] = {
    "evictionHard": read_threshold,
    "evictionSoft": read_threshold,
    "evictionSoftGracePeriod": _read_grace,
    "evictionMinimumReclaim": read_reclaim,
}


def problems(config: KubeletConfiguration) -> Iterator[Problem]:
    """Signals that do not exist, amounts that are none, soft thresholds without a grace period."""
    given = {
        "evictionHard": config.eviction_hard,
        "evictionSoft": config.eviction_soft,
        "evictionSoftGracePeriod": config.eviction_soft_grace_period,
        "evictionMinimumReclaim": config.eviction_minimum_reclaim,
    }
    for path, statements in given.items():
        for signal, text in statements.items():
            yield from _problem(path, signal, text)
    for signal, text in config.eviction_soft.items():
        if text not in _OFF and signal not in config.eviction_soft_grace_period:
            yield Problem(f"evictionSoftGracePeriod.{signal}", "a soft threshold needs a grace period; set it")


def _problem(path: str, signal: str, text: str) -> Iterator[Problem]:
    if signal not in SIGNALS:
        yield Problem(f"{path}.{signal}", f"there is no such signal; there are {', '.join(sorted(SIGNALS))}")
        return
    try:
        _READERS[path](text)
    except InputError as error:
        yield Problem(f"{path}.{signal}", f"{text!r}: {error.message}")
