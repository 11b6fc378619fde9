"""What the kernel says when parts of the machine come or go: hints, of which any may be lost.

No size is ever taken from an event; it only says that it is time to look. Both sources raise HostError when they
cannot listen (no such socket in this namespace, no such file); a node then lives by looking now and then.
"""

from collections.abc import AsyncIterator
from typing import Final, Protocol

import msgspec

SUBSYSTEMS: Final = frozenset({"cpu", "memory", "node"})
"""Whose events say something about the size of the machine."""


class Uevent(msgspec.Struct, frozen=True):
    """One transition that has happened."""

    action: str
    """``add``, ``remove``, ``online``, ``offline``, ``change``, ..."""
    devpath: str
    """Such as ``/devices/system/cpu/cpu4``."""
    subsystem: str


class Overrun(msgspec.Struct, frozen=True):
    """Events were lost: anything may have changed."""


class Uevents(Protocol):
    """The kernel's events about CPUs, memory and NUMA nodes."""

    def events(self) -> AsyncIterator[Uevent | Overrun]:
        """From now on, without end; HostError if nobody can listen here."""
        ...


class Swaps(Protocol):
    """Swap devices coming and going, of which there are no events."""

    def changes(self) -> AsyncIterator[None]:
        """One item for each time the list of swap devices has changed; HostError if it cannot be watched."""
        ...
