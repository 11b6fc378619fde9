"""The books after the machine changed under running pods, in both directions.

Nobody is moved to a better place: a container keeps what still exists and gets a replacement for the rest. Only
who cannot be served any more is a victim.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.claims import PodClaim
from flexlet.core.managers.settings import ManagerSettings
from flexlet.core.managers.state import Managers, Refusal

RESERVED_CPUS_MISSING: Final = "ReservedCPUsMissing"
TOO_MANY_NUMA_NODES: Final = "TooManyNUMANodes"


class Move(msgspec.Struct, frozen=True):
    """A container that was given other CPUs, or other NUMA nodes for its memory."""

    uid: str
    container: str
    before: CpuSet
    after: CpuSet


class Write(msgspec.Struct, frozen=True):
    """A CPU set that a container must be given now."""

    uid: str
    container: str
    cpus: CpuSet


class Resynced(msgspec.Struct, frozen=True, kw_only=True):
    """The new books and what follows from them."""

    managers: Managers
    reassigned: tuple[Move, ...] = ()
    """Exclusive CPUs that were replaced (event ``ExclusiveCPUsReassigned``)."""
    victims: dict[str, Refusal] = {}
    """By pod uid, in the order in which they lost."""
    moved_memory: tuple[Move, ...] = ()
    """Memory that must move (``cpuset.mems``)."""
    notes: tuple[str, ...] = ()
    """Reasons for the condition NodeResize."""
    cpusets: tuple[Write, ...] = ()
    """Of survivors, in this order: sets that shrink come first, so that no CPU has two owners in between."""


def resync(
    managers: Managers,
    settings: ManagerSettings,
    before: Machine,
    after: Machine,
    holders: Sequence[PodClaim],
) -> Resynced:
    """The books for the machine as it is now.

    `holders` are the pods that stay as far as the managers are not concerned, most important first. Whoever is in
    the books and not among them gives everything back.
    """
    raise NotImplementedError(managers, settings, before, after, holders)
