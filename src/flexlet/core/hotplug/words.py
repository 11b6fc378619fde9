"""Sizes of a machine as people read them: ``cpu 4→8, memory 8Gi→16Gi``."""

from collections.abc import Iterable, Mapping
from typing import Final

from flexlet.api.quantity import Quantity
from flexlet.core.machine.difference import NUMA, PIDS, SWAP, Change
from flexlet.core.resources.names import CPU, EPHEMERAL_STORAGE, MEMORY

_ORDER: Final = (CPU, MEMORY, SWAP)
_COUNTED: Final = (CPU, NUMA, PIDS)
_NAMES: Final = {NUMA: "NUMA nodes"}
_LAST: Final = (EPHEMERAL_STORAGE, NUMA, PIDS)


def changes(found: Iterable[Change]) -> str:
    """All changes, what people look for first."""
    return ", ".join(change(each) for each in sorted(found, key=lambda each: _rank(each.resource)))


def change(each: Change) -> str:
    """One change; as much as before, elsewhere, is ``moved``."""
    name = _NAMES.get(each.resource, each.resource)
    if each.direction == "moved":
        return f"{name} {_amount(each.resource, each.after)} moved"
    return f"{name} {_amount(each.resource, each.before)}→{_amount(each.resource, each.after)}"


def amounts(before: Mapping[str, Quantity], after: Mapping[str, Quantity]) -> str:
    """What became of a list of resources, as far as it changed."""
    return ", ".join(
        f"{name} {amount}→{after[name]}"
        for name, amount in sorted(before.items())
        if name in after and after[name] != amount
    )


def _amount(resource: str, amount: int) -> str:
    return str(amount) if resource in _COUNTED else str(Quantity.of_bytes(amount))


def _rank(resource: str) -> tuple[int, str]:
    if resource in _ORDER:
        return (_ORDER.index(resource), resource)
    return (len(_ORDER) + (1 + _LAST.index(resource) if resource in _LAST else 0), resource)
