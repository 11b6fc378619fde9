"""The static policy: who gets CPUs of its own, and which.

A container that asks for a whole number of CPUs in a Guaranteed pod gets them for itself; they leave the shared
set. One departure from upstream: a container that has its CPUs already is left alone before anything is checked.
"""

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.claims import ContainerClaim, PodClaim
from flexlet.core.managers.cpu.ground import Ground
from flexlet.core.managers.cpu.options import check
from flexlet.core.managers.cpu.taking import take, take_near, unaligned
from flexlet.core.managers.hints import Hint
from flexlet.core.managers.settings import CPU_NONE, CPU_STATIC
from flexlet.core.managers.state import CpuState, Refusal, Sets
from flexlet.errors import ConfigError


def reserved(ground: Ground) -> CpuSet:
    """The CPUs that are never given out, on a machine that starts afresh; ConfigError if there can be none."""
    check(ground.settings, ground.machine)
    wanted = ground.settings.reserved_cpus
    if wanted:
        return wanted
    chosen = take(ground, ground.online, ground.reserved_count)
    if isinstance(chosen, Refusal):
        # The kubelet names what it got, which is nothing.
        raise ConfigError(
            "[cpumanager] unable to reserve the required amount of CPUs "
            f"(size of  did not equal {ground.reserved_count})"
        )
    return chosen


def fresh(ground: Ground) -> CpuState:
    """The book of a node on which nothing runs; for policy none an empty one. ConfigError as `reserved`."""
    if not ground.settings.pins_cpus:
        return CpuState(policy=CPU_NONE)
    kept = reserved(ground)
    shared = ground.online - kept if ground.strict else ground.online
    return CpuState(policy=CPU_STATIC, shared=shared, reserved=kept)


def place(
    state: CpuState, ground: Ground, pod: PodClaim, container: ContainerClaim, hint: Hint | None = None
) -> CpuState | Refusal:
    """The book with this container in it; the same book if it shares, or if it has its CPUs already.

    Containers of a pod are placed in the order in which they start: what an init container had may be used again.
    """
    known = state.cpus_of(pod.uid, container.name) is not None
    if not ground.settings.pins_cpus or not container.cpus or known:
        return state
    free = available(state, ground)
    # What an init container leaves behind is used again, but does not count where whole cores are the rule.
    refusal = unaligned(ground, free, state.reserved, container.cpus)
    nodes = None if hint is None else hint.nodes
    chosen = refusal or take_near(ground, free | reusable(state, pod, container), container.cpus, nodes)
    return chosen if isinstance(chosen, Refusal) else _given(state, pod.uid, container.name, chosen)


def release(state: CpuState, uid: str, container: str | None = None) -> CpuState:
    """The book without this container (None: without the pod); CPUs that a sibling still holds stay with it."""
    before = state.entries.get(uid, {})
    kept = {name: cpus for name, cpus in before.items() if container not in (None, name)}
    if kept:
        freed = union(before) - union(kept) - state.pod_entries.get(uid, CpuSet())
        entries = state.entries | {uid: kept}
        baselines = _without(state.baselines, uid, container)
        shared = state.shared | freed
        return msgspec.structs.replace(state, shared=shared, entries=entries, baselines=baselines)
    return _without_pod(state, uid)


def pool(state: CpuState) -> CpuSet:
    """Where containers run that have no CPUs of their own.

    With strict reservation all others may be given out; then they run on the reserved CPUs rather than nowhere.
    """
    return state.shared or state.reserved


def available(state: CpuState, ground: Ground) -> CpuSet:
    """The CPUs that could be given out now."""
    return (state.shared & ground.assignable) - state.reserved


def reusable(state: CpuState, pod: PodClaim, container: ContainerClaim | None = None) -> CpuSet:
    """What the containers that start before this one (None: all of the pod) leave behind.

    Init containers do, in so far as nobody took it since; sidecars go on running and leave nothing.
    """
    left = CpuSet()
    for each in pod.containers:
        if container is not None and each.name == container.name:
            break
        cpus = state.cpus_of(pod.uid, each.name) or CpuSet()
        left = left | cpus if each.kind == "init" else left - cpus
    return left


def union(sets: dict[str, CpuSet]) -> CpuSet:
    """All CPUs of a pod's containers."""
    return CpuSet.of(cpu for cpus in sets.values() for cpu in cpus)


def _given(state: CpuState, uid: str, container: str, cpus: CpuSet) -> CpuState:
    entries = state.entries | {uid: state.entries.get(uid, {}) | {container: cpus}}
    return msgspec.structs.replace(state, shared=state.shared - cpus, entries=entries)


def _without_pod(state: CpuState, uid: str) -> CpuState:
    freed = union(state.entries.get(uid, {})) | state.pod_entries.get(uid, CpuSet())
    return msgspec.structs.replace(
        state,
        shared=state.shared | freed,
        entries={each: sets for each, sets in state.entries.items() if each != uid},
        pod_entries={each: cpus for each, cpus in state.pod_entries.items() if each != uid},
        baselines=_without(state.baselines, uid, None),
    )


def _without(sets: Sets, uid: str, container: str | None) -> Sets:
    """Without a container, without a pod that has none left, or (None) without the pod."""
    kept = {name: cpus for name, cpus in sets.get(uid, {}).items() if container not in (None, name)}
    others = {each: own for each, own in sets.items() if each != uid}
    return others | {uid: kept} if kept else others
