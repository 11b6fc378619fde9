"""What comes of following the machine: the new book and what must be done because of it."""

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.state import CpuState, Refusal


class Move(msgspec.Struct, frozen=True):
    """A container that was given other CPUs."""

    uid: str
    container: str
    before: CpuSet
    after: CpuSet

    @property
    def told(self) -> str:
        """As the event says it, whoever notices."""
        return f"Container {self.container}: exclusive CPUs {self.before}→{self.after}"


class Write(msgspec.Struct, frozen=True):
    """A CPU set that a container must be given now."""

    uid: str
    container: str
    cpus: CpuSet


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The book for the machine as it is now."""

    state: CpuState
    reassigned: tuple[Move, ...] = ()
    """Exclusive CPUs that were replaced (event ``ExclusiveCPUsReassigned``)."""
    victims: dict[str, Refusal] = {}
    """By pod uid, in the order in which they lost. They are out of the book already."""
    notes: tuple[str, ...] = ()
    """Reasons for the condition NodeResize."""
    writes: tuple[Write, ...] = ()
    """In this order: sets that shrink before sets that grow, so that no CPU has two owners in between.

    Victims are in it too: until they are dead they run on the shared CPUs, for theirs may have a new owner.
    """
    repairs: tuple[str, ...] = ()
    """Sentences for the log: what in a state file did not match and how it was mended."""
