"""The four checks with which the kubelet decides whether its state file belongs to this machine."""

from collections.abc import Iterator

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.cpu.ground import Ground
from flexlet.core.managers.cpu.static import union
from flexlet.core.managers.state import CpuState


def problems(state: CpuState, ground: Ground) -> tuple[str, ...]:
    """What does not match, in the kubelet's words and order; it refuses to start with the first."""
    if not state.shared:
        return ("default cpuset cannot be empty",) if state.entries else ()
    return (*_reservation(state, ground), *_overlaps(state), *_unmatched(state, ground))


def known(state: CpuState) -> CpuSet:
    """All CPUs in the book, except those that are reserved and not even shared."""
    sets = [state.shared, *map(union, state.entries.values()), *state.pod_entries.values()]
    return CpuSet.of(cpu for cpus in sets for cpu in cpus)


def _reservation(state: CpuState, ground: Ground) -> Iterator[str]:
    reserved, shared = state.reserved, state.shared
    if ground.strict and reserved & shared:
        yield (f'some of strictly reserved cpus: "{reserved & shared}" are present in defaultCpuSet: "{shared}"')
    elif not ground.strict and not reserved.issubset(shared):
        yield f'not all reserved cpus: "{reserved}" are present in defaultCpuSet: "{shared}"'


def _overlaps(state: CpuState) -> Iterator[str]:
    shared = state.shared
    for uid, containers in sorted(state.entries.items()):
        for name, cpus in sorted(containers.items()):
            if cpus & shared:
                yield f'pod: {uid}, container: {name} cpuset: "{cpus}" overlaps with default cpuset "{shared}"'


def _unmatched(state: CpuState, ground: Ground) -> Iterator[str]:
    there = ground.online - state.reserved if ground.strict else ground.online
    if known(state) != there:
        yield f'current set of available CPUs "{there}" doesn\'t match with CPUs in state "{known(state)}"'
