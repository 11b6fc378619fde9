"""Which CPUs stay reserved when the machine changes: those that were, as long as they are there.

Choosing them anew would move the reservation under running pods. What is lost is made up from the shared CPUs,
unless the operator named the CPUs: then what is left of them is all there is.
"""

from typing import Final

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.cpu.ground import Ground
from flexlet.core.managers.cpu.packing import packed
from flexlet.core.managers.cpu.static import union
from flexlet.core.managers.cpu.taking import take
from flexlet.core.managers.state import CpuState, Refusal

MISSING: Final = "ReservedCPUsMissing"


def kept(state: CpuState, ground: Ground) -> CpuSet:
    """The reserved CPUs of this machine."""
    if ground.settings.reserved_cpus:
        return ground.settings.reserved_cpus & ground.online
    staying = state.reserved & ground.online
    return staying | _topped_up(ground, ground.online - held(state) - staying, staying)


def is_short(reserved: CpuSet, ground: Ground) -> bool:
    """Whether fewer CPUs are reserved than the operator wants."""
    named = ground.settings.reserved_cpus
    return len(reserved) < (len(named) if named else ground.reserved_count)


def guessed(state: CpuState, ground: Ground) -> CpuSet:
    """The reserved CPUs of a book that was read from a file, where they are not written down.

    They are those that a fresh start would choose, in so far as nobody holds them; with strict reservation they
    are among the CPUs that the book does not know.
    """
    if ground.settings.reserved_cpus:
        return ground.settings.reserved_cpus & ground.online
    chosen = take(ground, ground.online, ground.reserved_count)
    likely = CpuSet() if isinstance(chosen, Refusal) else chosen - held(state)
    if not ground.strict:
        return likely | _topped_up(ground, ground.online - held(state) - likely, likely)
    unknown = ground.online - held(state) - state.shared
    likely = likely & unknown
    likely = likely | _topped_up(ground, unknown - likely, likely)
    return likely | _topped_up(ground, (state.shared & ground.online) - likely, likely)


def held(state: CpuState) -> CpuSet:
    """The CPUs that pods have for themselves."""
    sets = [*map(union, state.entries.values()), *state.pod_entries.values()]
    return CpuSet.of(cpu for cpus in sets for cpu in cpus)


def _topped_up(ground: Ground, free: CpuSet, staying: CpuSet) -> CpuSet:
    short = max(0, ground.reserved_count - len(staying))
    more = packed(ground.topology, free, min(short, len(free)))
    return CpuSet() if isinstance(more, Refusal) else more
