"""One size of the machine that was applied; the next one is compared with it.

Numbers never repeat within a boot and survive restarts of the agent: they are saved with the boot id. A machine
that was started again is another machine and begins anew, but does not count backwards.
"""

import msgspec

from flexlet.core.machine.difference import Change
from flexlet.core.machine.machine import Machine


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """A machine with its number."""

    number: int
    machine: Machine
    changes: tuple[Change, ...] = ()
    """Against the generation before."""
    seen_at: float = 0.0
    """When the change was first noticed."""
    applied_at: float = 0.0

    @property
    def boot_id(self) -> str:
        """Which boot of the machine it belongs to."""
        return self.machine.identity.boot_id

    @property
    def grew(self) -> bool:
        """Whether anything became more or moved."""
        return any(change.direction != "decrease" for change in self.changes)

    @property
    def shrank(self) -> bool:
        """Whether anything became less."""
        return any(change.direction == "decrease" for change in self.changes)
