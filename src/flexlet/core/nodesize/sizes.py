"""Amounts of CPU and memory as whole numbers: thousandths of a CPU, bytes. Everything is decided in these."""

from collections.abc import Iterable, Mapping
from typing import Final

from flexlet.api.pod import ResourceList
from flexlet.api.quantity import Quantity
from flexlet.api.units import GIB, MIB
from flexlet.core.resources.amounts import as_integer
from flexlet.core.resources.names import CPU, MEMORY

Amounts = dict[str, int]

RESOURCES: Final = (CPU, MEMORY)
NOTHING: Final[Amounts] = {CPU: 0, MEMORY: 0}
FLOOR: Final[Amounts] = {CPU: 1, MEMORY: 16 * MIB}
"""No balloon is smaller: nothing at all would be another QoS class."""
START: Final[Amounts] = {CPU: 200, MEMORY: 64 * MIB}
"""How a balloon begins, if that much is free: a limit at the floor would throttle its own start for minutes."""
GRAIN: Final[Amounts] = {CPU: 100, MEMORY: 64 * MIB}
"""Partial grants below this are not worth a resize."""
CRITICAL_RESERVE: Final[Amounts] = {CPU: 300, MEMORY: 512 * MIB}
"""What balloons that take what they can get leave for critical pods."""
STEP: Final[Amounts] = {CPU: 1000, MEMORY: 4 * GIB}
"""A balloon that goes away gives back at least this much at a time."""


def of(amounts: Mapping[str, Quantity], otherwise: Mapping[str, int] = NOTHING) -> Amounts:
    """CPU and memory of a resource list; names it lacks are taken from `otherwise`."""
    return {r: as_integer(r, amounts[r]) if r in amounts else otherwise[r] for r in RESOURCES}


def quantity(resource: str, amount: int) -> Quantity:
    """One amount as people write it."""
    return Quantity.of_milli(amount) if resource == CPU else Quantity.of_bytes(amount)


def listed(amounts: Mapping[str, int]) -> ResourceList:
    """As a resource list."""
    return {r: quantity(r, amounts[r]) for r in RESOURCES if r in amounts}


def text(resource: str, amount: int) -> str:
    """For messages: ``cpu 1500m``, ``memory 4Gi``."""
    return f"{resource} {quantity(resource, amount)}"


def total(many: Iterable[Mapping[str, int]]) -> Amounts:
    """The sum."""
    result = dict(NOTHING)
    for amounts in many:
        for r in RESOURCES:
            result[r] += amounts[r]
    return result


def less(whole: Mapping[str, int], *parts: Mapping[str, int]) -> Amounts:
    """What is left; may be negative."""
    return {r: whole[r] - sum(part[r] for part in parts) for r in RESOURCES}


def largest(*many: Mapping[str, int]) -> Amounts:
    """The largest of each."""
    return {r: max(amounts[r] for amounts in many) for r in RESOURCES}


def smallest(*many: Mapping[str, int]) -> Amounts:
    """The smallest of each."""
    return {r: min(amounts[r] for amounts in many) for r in RESOURCES}
