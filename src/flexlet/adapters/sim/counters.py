"""Cgroup files that the kernel computes when they are read."""

from collections.abc import Callable
from typing import Final

from flexlet.adapters.sim import cgroupfiles, memory
from flexlet.adapters.sim.machine import Machine, lineage
from flexlet.adapters.sim.processes import Process
from flexlet.api.cpuset import CpuSet

_EVENTS: Final = ("low", "high", "max", "oom", "oom_kill", "oom_group_kill")


def text(machine: Machine, path: str, name: str, now: float) -> str | None:
    """The text of a computed file; None if the file is none of them."""
    counter = _COUNTERS.get(name)
    controller = cgroupfiles.controller(name)
    if counter is None or (controller != "cgroup" and controller not in machine.controllers):
        return None
    return counter(machine, path, now)


def spent_us(process: Process, now: float) -> int:
    """The time that a process has had on CPUs."""
    return int((now - process.started_at) * 1000) * process.cpu_milli


def _controllers(machine: Machine, _: str, __: float) -> str:
    return " ".join(machine.controllers)


def _procs(machine: Machine, path: str, _: float) -> str:
    return "\n".join(str(each.pid) for each in machine.processes.values() if each.cgroup == path)


def _populated(machine: Machine, path: str, _: float) -> str:
    return f"populated {1 if machine.inside(path) else 0}\nfrozen 0"


def _cpus(machine: Machine, path: str, _: float) -> str:
    return str(_effective(machine, path, "cpuset.cpus", machine.cpus))


def _mems(machine: Machine, path: str, _: float) -> str:
    return str(_effective(machine, path, "cpuset.mems", machine.mems))


def _effective(machine: Machine, path: str, name: str, online: str) -> CpuSet:
    """What is wanted and there; a cgroup of which nothing is there silently gets what the one above it has."""
    found = CpuSet.parse(online)
    for each in reversed(lineage(path)):
        found = CpuSet.parse(machine.cgroups[each].files.get(name, "")) & found or found
    return found


def _cpu_stat(machine: Machine, path: str, now: float) -> str:
    spent = sum(machine.cgroups[each].cpu_spent_us for each in machine.below(path))
    spent += sum(spent_us(each, now) for each in machine.inside(path))
    return f"usage_usec {spent}\nuser_usec {spent}\nsystem_usec 0\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0"


def _memory_current(machine: Machine, path: str, _: float) -> str:
    return str(memory.usage(machine, path))


def _memory_events(machine: Machine, path: str, _: float) -> str:
    events = machine.cgroups[path].events
    return "\n".join(f"{name} {events[name]}" for name in _EVENTS)


def _memory_stat(machine: Machine, path: str, _: float) -> str:
    cache, shmem = memory.reclaimable(machine, path), memory.shmem(machine, path)
    anon = memory.usage(machine, path) - cache - shmem
    return f"anon {anon}\nfile {cache + shmem}\nshmem {shmem}\ninactive_file {cache}\nactive_file 0"


def _pids(machine: Machine, path: str, _: float) -> str:
    return str(len(machine.inside(path)))


_COUNTERS: Final[dict[str, Callable[[Machine, str, float], str]]] = {
    "cgroup.controllers": _controllers,
    "cgroup.procs": _procs,
    "cgroup.events": _populated,
    "cpuset.cpus.effective": _cpus,
    "cpuset.mems.effective": _mems,
    "cpu.stat": _cpu_stat,
    "memory.current": _memory_current,
    "memory.events": _memory_events,
    "memory.stat": _memory_stat,
    "pids.current": _pids,
}
