"""Files of /proc as values: network interfaces, the machine's memory and its tasks."""

from collections.abc import Mapping
from typing import Final

import msgspec

IGNORED_INTERFACES: Final = ("lo", "veth", "docker")
"""How the names of interfaces begin that say nothing: the loopback, and ends that belong to others."""


class InterfaceUse(msgspec.Struct, frozen=True):
    """The counters of one network interface."""

    name: str
    rx_bytes: int = 0
    rx_packets: int = 0
    rx_errors: int = 0
    rx_dropped: int = 0
    tx_bytes: int = 0
    tx_packets: int = 0
    tx_errors: int = 0
    tx_dropped: int = 0


def interfaces(text: str) -> tuple[InterfaceUse, ...]:
    """``/proc/net/dev`` without what is ignored."""
    found = []
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        counts = rest.split()
        name = name.strip()
        if not colon or len(counts) < 12 or name.startswith(IGNORED_INTERFACES):
            continue
        numbers = [int(count) for count in counts]
        found.append(InterfaceUse(name, *numbers[0:4], *numbers[8:12]))
    return tuple(found)


def meminfo(text: str) -> dict[str, int]:
    """``/proc/meminfo`` in bytes."""
    found = {}
    for line in text.splitlines():
        key, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdecimal():
            found[key] = int(words[0]) * (1024 if len(words) > 1 else 1)
    return found


def tasks(loadavg: str) -> int | None:
    """How many tasks there are, from ``1.36 3.49 4.53 2/3518 3715089``."""
    words = loadavg.split()
    if len(words) < 5:
        return None
    count = words[3].partition("/")[2]
    return int(count) if count.isdecimal() else None


def max_tasks(texts: Mapping[str, str]) -> int | None:
    """The smaller of the kernel's two limits, ``pid_max`` and ``threads-max``."""
    limits = [int(text) for text in texts.values() if text.strip().isdecimal()]
    return min(limits) if limits else None


def boot_time(stat: str) -> int | None:
    """When the machine started, in seconds since the epoch, from ``/proc/stat``."""
    for line in stat.splitlines():
        key, _, value = line.partition(" ")
        if key == "btime" and value.strip().isdecimal():
            return int(value)
    return None
