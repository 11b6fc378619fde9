"""FNV-1a, 32 bits, also piece by piece: what a text does to a running hash is learned once.

Kubernetes marks containers and checkpoint files with this hash. A checkpoint of fifty pods changes by one pod at a
time, and going over all of it byte by byte is slow in Python. The hash mixes each byte into the lowest eight bits
of the state and multiplies; so for a state ``high + low`` with the lowest eight bits in `low`

    hash(high + low, text) = hash(low, text) + high * prime ** len(text)      (modulo 2**32)

and a table of the 256 possible values of `low` says everything about a text. The table is made for all of them at
once, in the lanes of one large number.
"""

import struct
from typing import Final

import msgspec

OFFSET: Final = 0x811C9DC5
_PRIME: Final = 0x01000193
_WORD: Final = 0xFFFFFFFF
_LOW: Final = 0xFF
_LANES: Final = 256
_LANE_BYTES: Final = 8
"""Wide enough for a product of the state and the prime."""
_ONES: Final = sum(1 << (64 * lane) for lane in range(_LANES))
_STARTS: Final = sum(lane << (64 * lane) for lane in range(_LANES))
_WORDS: Final = _ONES * _WORD


class Piece(msgspec.Struct, frozen=True):
    """What a text does to a running hash: where each lowest byte leads, and by what the rest is multiplied."""

    table: tuple[int, ...]
    power: int


def fnv1a(data: bytes, state: int = OFFSET) -> int:
    """The hash of the data after what is in the state."""
    for byte in data:
        state = (state ^ byte) * _PRIME & _WORD
    return state


def piece(data: bytes) -> Piece:
    """Learn a text; takes as long as hashing it about a dozen times."""
    everywhere = {byte: byte * _ONES for byte in set(data)}
    states = _STARTS
    for byte in data:
        states = (states ^ everywhere[byte]) * _PRIME & _WORDS
    table = struct.unpack(f"<{_LANES}Q", states.to_bytes(_LANES * _LANE_BYTES, "little"))
    return Piece(table, pow(_PRIME, len(data), _WORD + 1))


def continued(state: int, known: Piece) -> int:
    """The hash after a text that was learned."""
    low = state & _LOW
    return known.table[low] + (state - low) * known.power & _WORD
