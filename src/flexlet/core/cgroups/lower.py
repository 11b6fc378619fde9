"""The lower of two limits, file by file, as texts of a cgroup."""

from collections.abc import Iterable, Mapping
from typing import Final

_NONE: Final = "max"


def lower(one: Mapping[str, str], other: Mapping[str, str]) -> dict[str, str]:
    """Both together; what only one of them names is taken from it."""
    return {**one, **other} | {
        name: min(one[name], other[name], key=_amount) for name in one.keys() & other.keys()
    }


def unlimited(names: Iterable[str]) -> dict[str, str]:
    """What these files say when nothing is limited."""
    return {name: f"{_NONE} 100000" if name == "cpu.max" else _NONE for name in names}


def _amount(text: str) -> float:
    """What a limit allows: bytes, processes, or for a quota with its period, CPUs."""
    first, _, period = text.partition(" ")
    if first == _NONE:
        return float("inf")
    return int(first) / int(period or 1)
