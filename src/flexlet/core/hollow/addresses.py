"""Pretended pod addresses: the n-th address of 10.64.0.0/10. Nothing answers there."""

from typing import Final

_FIRST: Final = 10 << 24 | 64 << 16
_SIZE: Final = 1 << 22


def address_of(index: int) -> str:
    """The address of the n-th pod; they start over after four million."""
    number = _FIRST + index % _SIZE
    return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))


def index_of(address: str) -> int:
    """Which pod has the address; 0 if it is none of ours."""
    parts = address.split(".")
    if len(parts) != 4 or not all(part.isdigit() for part in parts):
        return 0
    number = 0
    for part in parts:
        number = number << 8 | int(part)
    index = number - _FIRST
    return index if 0 <= index < _SIZE else 0
