"""Pauses that differ from node to node, so that a thousand of them started together do not write together.

A share is derived from the node's name and a count instead of drawn: the same history gives the same plan.
"""

import zlib


def share(name: str, count: int) -> float:
    """Evenly spread over [0, 1)."""
    return zlib.crc32(f"{name}/{count}".encode()) / 2**32


def jittered(seconds: float, name: str, count: int) -> float:
    """Up to 4 % more, as the kubelet's loops have it."""
    return seconds * (1 + 0.04 * share(name, count))
