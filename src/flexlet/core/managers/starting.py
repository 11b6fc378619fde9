"""The books of a node that starts: from its state files, made to match the hardware that is there now."""

from collections.abc import Mapping, Sequence

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.core.machine.machine import Machine
from flexlet.core.managers import placing
from flexlet.core.managers.claims import PodClaim
from flexlet.core.managers.cpu import files as cpu_files
from flexlet.core.managers.cpu import repair, static
from flexlet.core.managers.cpu.ground import Ground
from flexlet.core.managers.files import CPU_FILE, MEMORY_FILE, Files
from flexlet.core.managers.memory import files as memory_files
from flexlet.core.managers.memory import starting as memory_starting
from flexlet.core.managers.memory.refit import Room
from flexlet.core.managers.settings import BEST_EFFORT, TOPOLOGY_NONE, ManagerSettings
from flexlet.core.managers.state import CpuState, Managers, MemoryState, Refusal
from flexlet.core.managers.topology import nodes

Running = Mapping[str, Mapping[str, CpuSet]]
"""CPU sets of running containers, by pod uid and container."""


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """The books, and what had to be done to them."""

    managers: Managers
    repairs: tuple[str, ...] = ()
    """Sentences for the log: what did not match and how it was mended."""
    spoiled: tuple[str, ...] = ()
    """Names of files that cannot be believed; the caller keeps each beside as ``.bad``."""


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one file."""

    cpu: CpuState = CpuState()
    memory: MemoryState = MemoryState()
    version: int
    repairs: tuple[str, ...] = ()
    spoiled: bool = False


def start(
    settings: ManagerSettings,
    machine: Machine,
    files: Files,
    running: Running,
    claims: Sequence[PodClaim],
    safe: frozenset[str] = frozenset(),
) -> Started:
    """The books to begin with; ConfigError for settings that cannot work, never for files that do not match.

    `running` are the CPU sets of running containers: what a spoiled file is rebuilt from. `claims` are the pods
    that are to stay, most important first; everybody else's entries are dropped. Pods that no longer fit are not
    in the books: `placing.place` says why. `safe` pods (static, critical) keep what is left.
    """
    numa = nodes.aligned(settings, machine)
    cpu = _cpu(Ground(machine, settings, numa), files.cpu, running, claims, safe)
    memory = _memory(settings, machine, files.memory, claims, safe, cpu.cpu)
    managers = Managers(
        cpu=cpu.cpu, memory=memory.memory, numa=numa, cpu_version=cpu.version, memory_version=memory.version
    )
    managers, halves = _whole(managers, settings, machine, claims)
    wide = (_too_wide(settings, machine, numa),) if nodes.is_too_wide(settings, machine) else ()
    spoiled = {CPU_FILE: cpu.spoiled, MEMORY_FILE: memory.spoiled}
    return Started(
        managers=managers,
        repairs=(*wide, *cpu.repairs, *memory.repairs, *halves),
        spoiled=tuple(name for name, bad in spoiled.items() if bad),
    )


def room(settings: ManagerSettings, numa: tuple[int, ...], cpu: CpuState) -> Room:
    """Where memory may move to: if somebody insists on alignment, to one node, and not away from a pod's CPUs."""
    loose = settings.topology_policy in (TOPOLOGY_NONE, BEST_EFFORT)
    return Room(numa=numa, widens=loose, bound=frozenset() if loose else frozenset(cpu.entries))


def _cpu(
    ground: Ground, text: str | None, running: Running, claims: Sequence[PodClaim], safe: frozenset[str]
) -> _Part:
    if text is None and not any(running.values()):
        return _Part(cpu=static.fresh(ground), version=Managers().cpu_version)
    # A lost file is like a spoiled one: who has CPUs of its own keeps them.
    found = cpu_files.Spoiled("is not there") if text is None else cpu_files.read(text)
    if isinstance(found, cpu_files.Spoiled):
        done = repair.rebuild(running, ground, claims, safe=safe)
        repairs = (f"{CPU_FILE} {found.why}: it is rebuilt from running containers", *done.repairs)
        spoiled = text is not None
        return _Part(cpu=done.state, version=Managers().cpu_version, repairs=repairs, spoiled=spoiled)
    done = repair.restore(found.state, ground, claims, safe=safe)
    return _Part(cpu=done.state, version=found.version, repairs=done.repairs)


def _memory(
    settings: ManagerSettings,
    machine: Machine,
    text: str | None,
    claims: Sequence[PodClaim],
    safe: frozenset[str],
    cpu: CpuState,
) -> _Part:
    newest = Managers().memory_version
    found = None if text is None else memory_files.read(text)
    if found is None:
        return _Part(memory=memory_starting.fresh(settings, machine), version=newest)
    if isinstance(found, memory_files.SpoiledMemory):
        repairs = (f"{MEMORY_FILE} {found.why}: it is begun anew",)
        fresh = memory_starting.fresh(settings, machine)
        return _Part(memory=fresh, version=newest, repairs=repairs, spoiled=True)
    where = room(settings, nodes.aligned(settings, machine), cpu)
    begun = memory_starting.restore(settings, machine, where, found.state, claims, safe)
    return _Part(memory=begun.state, version=found.version, repairs=begun.repairs)


def _whole(
    managers: Managers, settings: ManagerSettings, machine: Machine, claims: Sequence[PodClaim]
) -> tuple[Managers, list[str]]:
    """Pods that only one of the books knows get the rest, or are let go."""
    repairs: list[str] = []
    for claim in claims:
        if not managers.placed(claim.uid):
            continue
        done = placing.complete(managers, settings, machine, claim)
        if isinstance(done, Refusal):
            repairs.append(f"pod {claim.uid} cannot be completed: {done.message}")
            done = placing.release(managers, settings, machine, claim.uid)
        managers = done
    return managers, repairs


def _too_wide(settings: ManagerSettings, machine: Machine, numa: tuple[int, ...]) -> str:
    return (
        f"unsupported on machines with more than {settings.max_numa_nodes} NUMA Nodes: this one has "
        f"{len(machine.numa)}, and alignment works with {', '.join(map(str, numa))} only; raise "
        "max-allowable-numa-nodes"
    )
