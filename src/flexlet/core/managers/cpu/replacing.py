"""Other CPUs for those that a pod lost, and nothing else moved.

One lost CPU has one replacement in the whole pod: containers that used the same CPUs one after another (init
containers) still do. Where whole cores are the rule, a core that lost a thread is given up and replaced whole;
containers that go on running are served first, so that they have whole cores in any case.
"""

from collections.abc import Mapping

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.claims import PodClaim
from flexlet.core.managers.cpu.ground import Ground
from flexlet.core.managers.cpu.refusals import not_enough
from flexlet.core.managers.cpu.reservation import held
from flexlet.core.managers.cpu.static import available
from flexlet.core.managers.cpu.taking import take_near, unaligned
from flexlet.core.managers.state import CpuState, Refusal, Sets
from flexlet.core.managers.topology.refusals import NOT_ALIGNED

Replacements = Mapping[int, int | None]
"""By lost CPU; None: it is not replaced."""


def replaced(
    state: CpuState, ground: Ground, pod: PodClaim, allowed: CpuSet, before: Machine | None = None
) -> CpuState | Refusal:
    """The book with replacements for all CPUs of this pod that it may not have any more.

    Taken on the NUMA nodes first where the container was, and nowhere else if the topology manager insists on
    alignment; `before` tells where CPUs were that are gone.
    """
    new: dict[int, int] = {}
    for cpus in _in_turn(state, pod):
        lost = _lost(ground, cpus, allowed) - CpuSet.of(new)
        free = available(state, ground) - CpuSet.of(new.values())
        chosen = _chosen(state, ground, cpus, lost, free, _nodes(ground, cpus, before))
        if isinstance(chosen, Refusal):
            return chosen
        new |= dict(zip(lost, chosen, strict=True))
    gone = dict.fromkeys(_all(state, pod.uid) - allowed)
    return balanced(_moved(state, pod.uid, gone | new), ground)


def reduced(state: CpuState, ground: Ground, uid: str, allowed: CpuSet) -> CpuState:
    """The book in which this pod keeps what it may keep and gets nothing for the rest."""
    gone = dict.fromkeys(_all(state, uid) - allowed)
    return balanced(_moved(state, uid, gone), ground)


def balanced(state: CpuState, ground: Ground) -> CpuState:
    """The book in which everything that no pod holds is shared (except, if that is strict, what is reserved)."""
    shared = ground.online - held(state)
    return msgspec.structs.replace(state, shared=shared - state.reserved if ground.strict else shared)


def _in_turn(state: CpuState, pod: PodClaim) -> list[CpuSet]:
    """The sets of a pod: those of init containers last, small ones first."""
    init = {container.name for container in pod.containers if container.kind == "init"}
    own = state.entries.get(pod.uid, {})
    return [own[name] for name in sorted(own, key=lambda name: (name in init, len(own[name]), name))]


def _lost(ground: Ground, cpus: CpuSet, allowed: CpuSet) -> CpuSet:
    lost = cpus - allowed
    if not lost or not ground.whole_cores:
        return lost
    return cpus - ground.topology.in_whole_cores(cpus & allowed)


def _chosen(
    state: CpuState, ground: Ground, cpus: CpuSet, lost: CpuSet, free: CpuSet, nodes: frozenset[int] | None
) -> CpuSet | Refusal:
    if not lost:
        return CpuSet()
    usable = free | (cpus - lost)
    refusal = unaligned(ground, usable, state.reserved, len(cpus))
    if refusal is not None:
        return refusal
    chosen = take_near(ground, free, len(lost), nodes)
    if isinstance(chosen, Refusal):
        return not_enough(len(cpus), len(usable))
    strays = nodes is not None and not ground.topology.nodes_of(chosen) <= nodes
    return NOT_ALIGNED if strays and ground.keeps_nodes else chosen


def _nodes(ground: Ground, cpus: CpuSet, before: Machine | None) -> frozenset[int] | None:
    """The NUMA nodes on which a container was, None if nobody knows."""
    earlier = () if before is None else before.cpus
    found = ground.topology.nodes_of(cpus) | frozenset(cpu.numa for cpu in earlier if cpu.id in cpus)
    return found or None


def _all(state: CpuState, uid: str) -> CpuSet:
    """All CPUs under this pod's name in the book."""
    sets = [*state.entries.get(uid, {}).values(), *state.baselines.get(uid, {}).values()]
    sets.append(state.pod_entries.get(uid, CpuSet()))
    return CpuSet.of(cpu for cpus in sets for cpu in cpus)


def _moved(state: CpuState, uid: str, new: Replacements) -> CpuState:
    """Each CPU of this pod exchanged for its replacement, wherever the pod is in the book."""
    return msgspec.structs.replace(
        state,
        entries=_moved_sets(state.entries, uid, new),
        baselines=_moved_sets(state.baselines, uid, new),
        pod_entries={
            each: _exchanged(cpus, new) if each == uid else cpus for each, cpus in state.pod_entries.items()
        },
    )


def _moved_sets(sets: Sets, uid: str, new: Replacements) -> Sets:
    """A container of which nothing is left is not in the book any more: it shares."""
    own = {name: _exchanged(cpus, new) for name, cpus in sets.get(uid, {}).items()}
    staying = {name: cpus for name, cpus in own.items() if cpus}
    others = {each: containers for each, containers in sets.items() if each != uid}
    return others | ({uid: staying} if staying else {})


def _exchanged(cpus: CpuSet, new: Replacements) -> CpuSet:
    return CpuSet.of(after for cpu in cpus if (after := new.get(cpu, cpu)) is not None)
