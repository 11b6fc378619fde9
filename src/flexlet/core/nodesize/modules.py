"""Memory goes out of a machine in whole modules, and what it was started with stays."""

from collections.abc import Iterable


def removable(modules: Iterable[int], wish: int) -> int:
    """How much of a wish can be made of whole modules."""
    sums = {0}
    for size in modules:
        sums |= {total + size for total in sums if total + size <= wish}
    return max(sums)


def stays(amount: int) -> str:
    """Why the rest of a wish cannot be met."""
    return f"{amount} bytes of memory are not in modules that can be taken out"
