"""Memory of simulated cgroups: who uses how much, and who must go when it is too much.

A charge counts in the process's cgroup and all above. Where a limit is passed, what can be reclaimed goes first;
then the kernel kills, by size and ``oom_score_adj``, one process or, where ``memory.oom.group`` is set, all of the
cgroup together.
"""

from typing import Final

from flexlet.adapters.sim.cgroupfiles import amount
from flexlet.adapters.sim.machine import Machine, lineage
from flexlet.adapters.sim.processes import Charge, Process

UNTOUCHABLE: Final = -1000


def usage(machine: Machine, path: str) -> int:
    """``memory.current``: everything charged to a cgroup and those below."""
    return shmem(machine, path) + sum(process.anon + process.cache for process in machine.inside(path))


def reclaimable(machine: Machine, path: str) -> int:
    """The part of it that the kernel can take back at will."""
    return sum(process.cache for process in machine.inside(path))


def shmem(machine: Machine, path: str) -> int:
    """The part of it that outlives its processes."""
    return sum(machine.cgroups[each].shmem for each in machine.below(path))


def charge(machine: Machine, process: Process, asked: Charge) -> None:
    """Let a process use more; who enforces the limits comes later."""
    match asked.kind:
        case "shmem":
            machine.cgroups[process.cgroup].shmem += asked.size
        case "cache":
            process.cache += asked.size
        case _:
            process.anon += asked.size


def victims(machine: Machine, path: str) -> list[Process]:
    """Whom to kill now to bring a cgroup below its limit; nobody if it is below, or nobody can help."""
    limit = _limit(machine, path)
    if limit is None:
        return []
    _reclaim(machine, path, usage(machine, path) - limit)
    if usage(machine, path) <= limit:
        return []
    candidates = [each for each in machine.inside(path) if _may_die(each)]
    if not candidates:
        return []
    machine.cgroups[path].events["oom"] += 1
    return _together(machine, path, max(candidates, key=lambda each: _badness(machine, each)))


def count_kill(machine: Machine, process: Process) -> None:
    """Count a kill in the victim's cgroup and all above."""
    for path in lineage(process.cgroup):
        machine.cgroups[path].events["oom_kill"] += 1


def _limit(machine: Machine, path: str) -> int | None:
    return amount(machine.cgroups[path].files.get("memory.max", "max")) if path else machine.memory_total


def _reclaim(machine: Machine, path: str, wanted: int) -> None:
    for process in machine.inside(path):
        part = max(0, min(process.cache, wanted))
        process.cache -= part
        wanted -= part


def _badness(machine: Machine, process: Process) -> int:
    return process.anon + process.oom_score_adj * (machine.memory_total or 8 << 30) // 1000


def _may_die(process: Process) -> bool:
    return process.oom_score_adj != UNTOUCHABLE and not process.unkillable


def _together(machine: Machine, domain: str, victim: Process) -> list[Process]:
    """The victim, or everyone in the highest cgroup of the domain that wants to die as one."""
    within = set(machine.below(domain))
    grouped = [
        path
        for path in lineage(victim.cgroup)
        if path in within and machine.cgroups[path].files.get("memory.oom.group") == "1"
    ]
    return [each for each in machine.inside(grouped[-1]) if _may_die(each)] if grouped else [victim]
