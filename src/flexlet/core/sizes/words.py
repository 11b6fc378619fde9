"""Amounts as people read them, and small bars."""

from typing import Final

from flexlet.api.quantity import Quantity
from flexlet.core.resources.names import CPU

USED: Final = "#"
FREE: Final = "."
BALLOON: Final = "o"
_UNITS: Final = (("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))
_WIDTH: Final = 20


def amount(resource: str, quantity: Quantity | None) -> str:
    """``3.5`` CPUs, ``30.9Gi`` of memory; a stroke for what is not known."""
    if quantity is None:
        return "-"
    return _cpus(quantity.milli) if resource == CPU else _bytes(quantity.value)


def _cpus(milli: int) -> str:
    return f"{milli / 1000:.3f}".rstrip("0").rstrip(".")


def _bytes(count: int) -> str:
    unit, size = next(((unit, size) for unit, size in _UNITS if abs(count) >= size), ("", 1))
    return f"{count / size:.4g}{unit}"


def change(resource: str, before: Quantity | None, after: Quantity | None) -> str:
    """``4 -> 6``; the one amount if it stays."""
    old, new = amount(resource, before), amount(resource, after)
    return new if old == new else f"{old} -> {new}"


def bar(used: int, balloon: int, whole: int, width: int = _WIDTH) -> str:
    """``[######......oooo]``: used, free, and what the balloon covers; too much of both leaves nothing free.

    Nothing that is there is too small to be seen.
    """
    if whole <= 0:
        return f"[{'?' * width}]"
    covered = _share(balloon, whole, width)
    taken = min(_share(used, whole, width), width - covered)
    return f"[{USED * taken}{FREE * (width - taken - covered)}{BALLOON * covered}]"


def _share(part: int, whole: int, width: int) -> int:
    cells = round(part * width / whole)
    return min(width, max(cells, 1 if part * 100 >= whole else 0))
