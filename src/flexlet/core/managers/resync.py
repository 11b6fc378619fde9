"""The books after the machine changed under running pods, in both directions.

Nobody is moved to a better place: a container keeps what still exists and gets a replacement for the rest. Only
who cannot be served any more is a victim, and what a victim leaves is there for the others.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from flexlet.core.machine.machine import Machine
from flexlet.core.managers import placing
from flexlet.core.managers.claims import PodClaim
from flexlet.core.managers.cpu import resync as cpu_resync
from flexlet.core.managers.cpu.ground import Ground
from flexlet.core.managers.cpu.outcome import Move, Outcome, Write
from flexlet.core.managers.cpu.writes import writes
from flexlet.core.managers.hints import Hint
from flexlet.core.managers.memory import reserving, tables
from flexlet.core.managers.memory.refit import Refit, refit
from flexlet.core.managers.settings import ManagerSettings
from flexlet.core.managers.starting import room
from flexlet.core.managers.state import Managers, Refusal
from flexlet.core.managers.topology import nodes

RESERVED_CPUS_MISSING: Final = "ReservedCPUsMissing"
TOO_MANY_NUMA_NODES: Final = "TooManyNUMANodes"
CRITICAL_OVER_CAPACITY: Final = "CriticalOverCapacity"

__all__ = [
    "CRITICAL_OVER_CAPACITY",
    "RESERVED_CPUS_MISSING",
    "TOO_MANY_NUMA_NODES",
    "Move",
    "Resynced",
    "Write",
    "resync",
]


class Resynced(msgspec.Struct, frozen=True, kw_only=True):
    """The new books and what follows from them."""

    managers: Managers
    reassigned: tuple[Move, ...] = ()
    """Exclusive CPUs that were replaced (event ``ExclusiveCPUsReassigned``)."""
    victims: dict[str, Refusal] = {}
    """By pod uid; they are out of the books."""
    unplaced: dict[str, Refusal] = {}
    """Pods with a claim of their own that were not in the books and for which there is no room: they share.

    A pod that has to leave is taken out of the books first; if the agent dies then, this is what is left to see.
    """
    moved_memory: tuple[Move, ...] = ()
    """Memory that must move (``cpuset.mems``)."""
    notes: tuple[str, ...] = ()
    """Reasons for the condition NodeResize."""
    cpusets: tuple[Write, ...] = ()
    """In this order: sets that shrink come first, so that no CPU has two owners in between.

    Victims are in it too: until they are dead they run on the shared CPUs, for theirs may have a new owner.
    """


def resync(
    managers: Managers,
    settings: ManagerSettings,
    before: Machine,
    after: Machine,
    holders: Sequence[PodClaim],
    safe: frozenset[str] = frozenset(),
) -> Resynced:
    """The books for the machine as it is now.

    `holders` are the pods that stay as far as the managers are not concerned, most important first; those that are
    terminating come last. Whoever is in the books and not among them gives everything back. `safe` pods (static,
    critical) are never victims: without replacement they keep what is left.
    """
    numa = nodes.aligned(settings, after, managers.numa)
    known = msgspec.structs.replace(managers, numa=numa)
    victims: dict[str, Refusal] = {}
    while True:
        staying = _without(holders, victims)
        memory = _memory(known, settings, before, after, staying, safe)
        cpu = _cpu(known, settings, before, after, _without(staying, memory.victims), safe)
        if not cpu.victims:
            break
        victims |= cpu.victims  # Their memory is free now: look again who has room.
    victims |= memory.victims
    done = msgspec.structs.replace(
        known, cpu=cpu.state, memory=memory.state, hints=_hints(known, _without(holders, victims))
    )
    done, unplaced = _placed(done, settings, after, _without(holders, victims), safe)
    too_wide = (TOO_MANY_NUMA_NODES,) if nodes.is_too_wide(settings, after) else ()
    critical = (CRITICAL_OVER_CAPACITY,) if memory.unbound else ()
    return Resynced(
        managers=done,
        reassigned=cpu.reassigned,
        victims=_in_order(victims, holders),
        unplaced=unplaced,
        moved_memory=tuple(Move(each.uid, each.container, each.before, each.after) for each in memory.moved),
        notes=(*cpu.notes, *too_wide, *critical),
        cpusets=writes(managers.cpu, done.cpu, after.online, holders) if settings.pins_cpus else (),
    )


def _memory(
    managers: Managers,
    settings: ManagerSettings,
    before: Machine,
    after: Machine,
    staying: Sequence[PodClaim],
    safe: frozenset[str],
) -> Refit:
    if not settings.pins_memory:
        return Refit(state=managers.memory)
    shares = reserving.resized(settings, before, after, managers.memory.nodes)
    where = room(settings, managers.numa, managers.cpu)
    return refit(managers.memory, tables.empty(after, shares), where, staying, safe)


def _cpu(
    managers: Managers,
    settings: ManagerSettings,
    before: Machine,
    after: Machine,
    staying: Sequence[PodClaim],
    safe: frozenset[str],
) -> Outcome:
    if not settings.pins_cpus:
        return Outcome(state=managers.cpu)
    ground = Ground(after, settings, managers.numa)
    return cpu_resync.resync(managers.cpu, ground, staying, before=before, safe=safe)


def _placed(
    managers: Managers,
    settings: ManagerSettings,
    after: Machine,
    staying: Sequence[PodClaim],
    safe: frozenset[str],
) -> tuple[Managers, dict[str, Refusal]]:
    """The books with those, too, who have a claim and are not in them; and whom there is no room for."""
    refused: dict[str, Refusal] = {}
    for claim in staying:
        if _has_claim(claim, settings) and not managers.placed(claim.uid):
            found = placing.place(managers, settings, after, claim)
            if not isinstance(found, Refusal):
                managers = found
            elif claim.uid not in safe:
                refused[claim.uid] = found
    return managers, refused


def _has_claim(claim: PodClaim, settings: ManagerSettings) -> bool:
    own = (each for each in claim.containers if each.kind != "init")
    return any((each.cpus and settings.pins_cpus) or (each.memory and settings.pins_memory) for each in own)


def _hints(managers: Managers, staying: Iterable[PodClaim]) -> dict[str, dict[str, Hint]]:
    """What was agreed on, less what names a node that is gone."""
    kept = {claim.uid: managers.hints[claim.uid] for claim in staying if claim.uid in managers.hints}
    return {
        uid: {
            name: hint for name, hint in hints.items() if all(node in managers.numa for node in hint.nodes or ())
        }
        for uid, hints in kept.items()
    }


def _without(claims: Sequence[PodClaim], victims: dict[str, Refusal]) -> list[PodClaim]:
    return [claim for claim in claims if claim.uid not in victims]


def _in_order(victims: dict[str, Refusal], holders: Sequence[PodClaim]) -> dict[str, Refusal]:
    """The most important first."""
    return {claim.uid: victims[claim.uid] for claim in holders if claim.uid in victims}
