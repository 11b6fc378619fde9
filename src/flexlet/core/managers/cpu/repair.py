"""A node that starts: the book from its state file, mended where it does not match, instead of no start.

Upstream refuses to start when CPUs came or went while it was down, and asks the operator to drain the node and to
delete the file. Here the file is treated like a machine that changed, and every difference is said in words.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.claims import ContainerClaim, PodClaim
from flexlet.core.managers.cpu import reservation
from flexlet.core.managers.cpu.files import policy_mismatch
from flexlet.core.managers.cpu.ground import Ground
from flexlet.core.managers.cpu.options import check_lasting
from flexlet.core.managers.cpu.outcome import Outcome, Write
from flexlet.core.managers.cpu.resync import resync
from flexlet.core.managers.cpu.static import fresh
from flexlet.core.managers.cpu.validation import known, problems
from flexlet.core.managers.settings import CPU_STATIC
from flexlet.core.managers.state import CpuState, Sets

Running = Mapping[str, Mapping[str, CpuSet]]
"""The CPU sets of running containers, by pod uid and container."""


def restore(
    state: CpuState, ground: Ground, pods: Sequence[PodClaim], *, safe: frozenset[str] = frozenset()
) -> Outcome:
    """The book that was read, made to match the hardware and the settings; `repairs` says what was done.

    `pods` and `safe` as in `resync`. ConfigError only for settings that cannot work.
    """
    check_lasting(ground.settings, ground.machine)
    mismatch = policy_mismatch(state, ground.settings.cpu_policy)
    if mismatch is not None:
        return Outcome(state=fresh(ground), repairs=(f"{mismatch}: the state is begun anew",))
    if not ground.settings.pins_cpus or not known(state):
        return Outcome(state=fresh(ground))
    reserved = state.reserved or reservation.guessed(state, ground)
    return _mended(msgspec.structs.replace(state, reserved=reserved), ground, pods, safe)


def rebuild(
    running: Running, ground: Ground, pods: Sequence[PodClaim], *, safe: frozenset[str] = frozenset()
) -> Outcome:
    """The book from the CPU sets of running containers, by pod uid and container: for a file that is spoiled.

    A container whose set cannot be its own (too large, too small, shared with another) is left out; it is placed
    anew like a pod that comes in.
    """
    check_lasting(ground.settings, ground.machine)
    if not ground.settings.pins_cpus:
        return Outcome(state=fresh(ground))
    entries, doubts = _believed(running, pods)
    state = CpuState(policy=CPU_STATIC, entries=entries)
    reserved = reservation.guessed(state, ground)
    done = resync(msgspec.structs.replace(state, reserved=reserved), ground, pods, safe=safe)
    kept = [f"container {name} of pod {uid} keeps CPUs {cpus}" for uid, name, cpus in _rows(done.state.entries)]
    return msgspec.structs.replace(done, repairs=(*kept, *doubts))


def _mended(state: CpuState, ground: Ground, pods: Sequence[PodClaim], safe: frozenset[str]) -> Outcome:
    done = resync(state, ground, pods, safe=safe)
    here = {pod.uid for pod in pods}
    writes: tuple[Write, ...] = tuple(write for write in done.writes if write.uid in here)
    repairs = (*_found(state, ground), *_done(state, done, here))
    return msgspec.structs.replace(done, writes=writes, repairs=repairs)


def _found(state: CpuState, ground: Ground) -> Iterator[str]:
    """What did not match, in the kubelet's words, for which operators search."""
    for problem in problems(state, ground):
        yield f"the state file does not match this machine: {problem}"


def _done(before: CpuState, done: Outcome, here: set[str]) -> Iterator[str]:
    for uid, name, cpus in _rows(before.entries):
        if uid not in here:
            yield f"pod {uid} is not on this node any more: CPUs {cpus} of container {name} are shared again"
    for move in done.reassigned:
        yield f"container {move.container} of pod {move.uid} has CPUs {move.after} now instead of {move.before}"
    for uid in done.victims:
        yield f"pod {uid} cannot have CPUs of its own any more"
    if before.shared != done.state.shared:
        yield f"the shared CPUs are {done.state.shared} now instead of {before.shared}"


def _rows(entries: Sets) -> Iterator[tuple[str, str, CpuSet]]:
    for uid, sets in sorted(entries.items()):
        for name, cpus in sorted(sets.items()):
            yield uid, name, cpus


def _believed(running: Running, pods: Sequence[PodClaim]) -> tuple[Sets, list[str]]:
    """The sets that can be exclusive, and a sentence for each that cannot."""
    entries: Sets = {}
    doubts: list[str] = []
    sharing = _sharing(running, pods)
    claims = [(pod, container) for pod in pods for container in pod.containers if container.cpus]
    for pod, container in claims:
        cpus = running.get(pod.uid, {}).get(container.name, CpuSet())
        why = _doubt(container, cpus, sharing, {uid: sets for uid, sets in entries.items() if uid != pod.uid})
        if why is None:
            entries.setdefault(pod.uid, {})[container.name] = cpus
        elif cpus:
            doubts.append(f"container {container.name} of pod {pod.uid} is placed anew: CPUs {cpus} {why}")
    return entries, doubts


def _sharing(running: Running, pods: Sequence[PodClaim]) -> set[CpuSet]:
    """The sets on which containers run that have no CPUs of their own."""
    return {
        running.get(pod.uid, {}).get(container.name, CpuSet())
        for pod in pods
        for container in pod.containers
        if not container.cpus
    }


def _doubt(container: ContainerClaim, cpus: CpuSet, sharing: set[CpuSet], others: Sets) -> str | None:
    if len(cpus) != container.cpus:
        return f"are not the {container.cpus} that it asked for"
    if cpus in sharing:
        return "are those on which others share"
    if any(cpus & theirs for _, _, theirs in _rows(others)):
        return "are in part those of another pod"
    return None
