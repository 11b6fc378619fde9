"""Arithmetic of resource lists, and the integers that come out of them.

CPU is always consumed in thousandths, everything else in whole units; both round up. Sums and maxima work on the
exact quantities, and only the end result becomes an integer: that order decides the last digit.
"""

from collections.abc import Iterable, Mapping

from flexlet.api.pod import ResourceList
from flexlet.api.quantity import ZERO, Quantity
from flexlet.api.units import Bytes, MilliCpu
from flexlet.core.resources.names import CPU, MEMORY


def add_to(total: ResourceList, amounts: Mapping[str, Quantity]) -> None:
    """Add every amount to `total`, in place; an absent name starts with the amount itself."""
    for name, amount in amounts.items():
        held = total.get(name)
        total[name] = amount if held is None else held + amount


def raise_to(total: ResourceList, amounts: Mapping[str, Quantity]) -> None:
    """Raise every entry of `total` to at least the amount, in place."""
    for name, amount in amounts.items():
        held = total.get(name)
        if held is None or amount.nano > held.nano:
            total[name] = amount


def total(lists: Iterable[Mapping[str, Quantity]]) -> ResourceList:
    """The sum of all lists, per name."""
    result: ResourceList = {}
    for amounts in lists:
        add_to(result, amounts)
    return result


def largest(lists: Iterable[Mapping[str, Quantity]]) -> ResourceList:
    """The largest amount of each name over all lists."""
    result: ResourceList = {}
    for amounts in lists:
        raise_to(result, amounts)
    return result


def without(amounts: Mapping[str, Quantity], taken: Mapping[str, Quantity]) -> ResourceList:
    """`amounts` less `taken`, for the names of `amounts`; the result may be negative."""
    return {name: amount - taken[name] if name in taken else amount for name, amount in amounts.items()}


def cpu_milli(amounts: Mapping[str, Quantity]) -> MilliCpu:
    """The CPU entry in thousandths of a core, 0 if absent."""
    return MilliCpu(amounts.get(CPU, ZERO).milli)


def memory_bytes(amounts: Mapping[str, Quantity]) -> Bytes:
    """The memory entry in bytes, 0 if absent."""
    return Bytes(amounts.get(MEMORY, ZERO).value)


def as_integer(name: str, amount: Quantity) -> int:
    """The unit in which a resource is counted: thousandths for CPU, whole units for the rest."""
    return amount.milli if name == CPU else amount.value


def as_integers(amounts: Mapping[str, Quantity]) -> dict[str, int]:
    """The whole list as integers, sorted by name."""
    return {name: as_integer(name, amounts[name]) for name in sorted(amounts)}
