"""What pods may request of a node: capacity less reservations less the hard eviction threshold.

Reservations are for daemons outside Kubernetes' sight; the threshold keeps a margin in which the node evicts
before the kernel kills. Huge pages are carved out of memory when they are configured, so they come off allocatable
memory whether used or not. Follows Kubernetes 1.36.3, including its single-precision percentages. Where several
agents share the host each gets its part of what is left.
"""

import re
import struct
from collections.abc import Mapping
from typing import Final

import msgspec

from flexlet.api.pod import ResourceList
from flexlet.api.quantity import ZERO, Quantity
from flexlet.core.machine.sharing import WHOLE, Share, divided
from flexlet.core.resources.amounts import total, without
from flexlet.core.resources.names import EPHEMERAL_STORAGE, MEMORY, is_extended, is_hugepages
from flexlet.errors import ConfigError, InputError

DEFAULT_EVICTION_HARD: Final[dict[str, str]] = {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
}
_PERCENTAGE: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?%+", re.ASCII | re.IGNORECASE)
"""A number as Go reads it; Python would take spaces and underscores too."""
_RESOURCE_OF_SIGNAL: Final = {"memory.available": MEMORY, "nodefs.available": EPHEMERAL_STORAGE}


class Reservation(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept from pods: ``kubeReserved``, ``systemReserved``, ``evictionHard``, and other agents' parts."""

    kube: ResourceList = {}
    system: ResourceList = {}
    eviction_hard: dict[str, str] = msgspec.field(default_factory=DEFAULT_EVICTION_HARD.copy)
    share: Share = WHOLE
    """Of what the host has left; it is reserved for once, whoever looks."""


def allocatable(
    capacity: ResourceList, reservation: Reservation, published: ResourceList | None = None
) -> ResourceList:
    """The allocatable of a node with this capacity, never negative.

    `published` is the allocatable now on the Node object; extended resources that left the capacity leave it too.
    """
    kept = {n: a for n, a in (published or {}).items() if n not in capacity and not is_extended(n)}
    result = _not_negative(without(capacity, reserved(capacity, reservation)))
    if MEMORY in result:
        pages = total({MEMORY: amount} for name, amount in capacity.items() if is_hugepages(name))
        result |= _not_negative(without({MEMORY: result[MEMORY]}, pages))
    return kept | divided(result, reservation.share)


def capped(amounts: ResourceList, ceiling: ResourceList) -> ResourceList:
    """What is offered if more than the ceiling is about to be unplugged."""
    return {name: min(amount, ceiling.get(name, amount)) for name, amount in amounts.items()}


def for_pods(capacity: ResourceList, reservation: Reservation) -> ResourceList:
    """What the kubepods cgroup gets: reservations come off, the eviction threshold does not."""
    left = _not_negative(without(capacity, total((reservation.system, reservation.kube))))
    return divided(left, reservation.share)


def reserved(capacity: ResourceList, reservation: Reservation) -> ResourceList:
    """Everything that comes off the capacity, by name."""
    margins = eviction_reserved(capacity, reservation.eviction_hard)
    everything = total((reservation.system, reservation.kube, margins))
    return {name: amount for name, amount in everything.items() if name in capacity}


def eviction_reserved(capacity: ResourceList, thresholds: Mapping[str, str]) -> ResourceList:
    """The margins of the hard eviction thresholds; only memory and local storage have one."""
    result: ResourceList = {}
    for signal, threshold in thresholds.items():
        name = _RESOURCE_OF_SIGNAL.get(signal)
        margin = None if name is None else _margin(signal, threshold, capacity.get(name, ZERO))
        if name is not None and margin is not None:
            result[name] = margin
    return result


def check(capacity: ResourceList, reservation: Reservation) -> None:
    """Refuse to start with reservations that the machine cannot hold: ConfigError."""
    problems = [
        f'Resource "{name}" has a reservation of {amount} but capacity of {capacity[name]}. '
        "Expected capacity >= reservation."
        for name, amount in reserved(capacity, reservation).items()
        if amount > capacity[name]
    ]
    if problems:
        raise ConfigError(f"invalid Node Allocatable configuration. {' '.join(problems)}")


def _not_negative(amounts: ResourceList) -> ResourceList:
    return {name: max(amount, ZERO) for name, amount in amounts.items()}


def _margin(signal: str, threshold: str, capacity: Quantity) -> Quantity | None:
    if not threshold.endswith("%"):
        return _absolute(signal, threshold)
    if threshold in ("0%", "100%"):
        return None
    return Quantity.of_bytes(int(capacity.value * _fraction(signal, threshold)))


def _absolute(signal: str, threshold: str) -> Quantity:
    try:
        amount = Quantity.parse(threshold)
    except InputError as error:
        raise ConfigError(f"eviction threshold {signal}: {error.message}: {threshold}") from None
    if amount <= ZERO:
        raise ConfigError(f"eviction threshold {signal} must be positive: {threshold}")
    return amount


def _fraction(signal: str, threshold: str) -> float:
    try:
        fraction = percentage(threshold)
    except (ValueError, OverflowError):
        raise ConfigError(f"eviction threshold {signal}: cannot read percentage {threshold}") from None
    if not 0 <= fraction <= 1:
        raise ConfigError(f"eviction percentage threshold {signal} must be between 0% and 100%: {threshold}")
    return fraction


def percentage(text: str) -> float:
    """The fraction that ``7.5%`` is; ValueError or OverflowError for what upstream cannot read."""
    if not _PERCENTAGE.fullmatch(text):
        raise ValueError(text)
    return single(single(float(text.rstrip("%"))) / 100)


def single(number: float) -> float:
    """The nearest single-precision number: upstream's percentages are float32, and it shows in the bytes."""
    nearest: float = struct.unpack("f", struct.pack("f", number))[0]
    return nearest
