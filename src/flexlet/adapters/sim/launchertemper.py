"""How a simulated virtual machine behaves, and what it has before it."""

from collections.abc import Callable
from typing import Final

import msgspec

from flexlet.api.units import GIB, MIB

Deed = Callable[[float], None]
GIVE_UP: Final = 3
"""So often a launcher tries what the hypervisor fails at ..."""
RETRY_S: Final = 1.0
"""... after a pause of this times the number of failures."""


class Temper(msgspec.Struct):
    """How a machine behaves; may be changed while it runs."""

    start_s: float = 0.5
    cpu_s: float = 0.1
    """What one socket takes to come or go."""
    ram_rate: int = 8 * GIB
    """Bytes a second that elastic memory comes or goes."""
    keeps: int = 0
    """Bytes of elastic memory that the guest cannot let go."""
    pinned: set[int] = set()
    """Sockets that the guest refuses to let go."""
    silent: set[int] = set()
    """Sockets about which the guest says nothing when asked to let them go."""
    cpu_failures: int = 0
    """How many of the next attempts to plug a socket the hypervisor fails at."""
    ram_failures: int = 0
    """How many of the next requests for more memory the hypervisor fails at."""
    has_agent: bool = True
    onlines: bool = True
    """Whether the guest uses vCPUs that come."""
    takes_memory: bool = True
    """Whether the guest has a driver for elastic memory."""
    reset_s: float = 5.0
    """From a reset until the guest asks for its elastic memory again."""
    shutdown_s: float | None = 2.0
    """None: the guest does not mind the power button."""
    bandwidth: int = 1192 * MIB
    dirty_rate: int = 0
    resident: int = 0


class Agenda:
    """What will happen by itself: one moment for each thing."""

    def __init__(self) -> None:
        self._due: dict[str, tuple[float, Deed]] = {}

    def put(self, what: str, moment: float, deed: Deed) -> None:
        """Let it happen then, instead of when it was to happen before."""
        self._due[what] = moment, deed

    def drop(self, *what: str) -> None:
        """Let these not happen."""
        for each in what:
            self._due.pop(each, None)

    def clear(self) -> None:
        """Let nothing more happen."""
        self._due.clear()

    def __contains__(self, what: str) -> bool:
        return what in self._due

    def next_at(self) -> float | None:
        """When the next thing happens."""
        return min((moment for moment, _ in self._due.values()), default=None)

    def advance(self, now: float) -> None:
        """Let happen what was due by then, in order of time."""
        while self._due:
            what = min(self._due, key=lambda key: self._due[key][0])
            moment, deed = self._due[what]
            if moment > now:
                return
            del self._due[what]
            deed(moment)
