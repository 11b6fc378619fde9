"""Machines, settings and pods for the CPU manager's tests, in few words."""

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.core.machine.machine import Cpu, Machine
from flexlet.core.managers.claims import ContainerClaim, Kind, PodClaim
from flexlet.core.managers.cpu.ground import Ground
from flexlet.core.managers.cpu.static import fresh, place
from flexlet.core.managers.settings import CPU_STATIC, ManagerSettings
from flexlet.core.managers.state import CpuState, Refusal


def cpus(text: str) -> CpuSet:
    return CpuSet.parse(text)


def machine(cores: int, threads: int = 1, sockets: int = 1, nodes: int | None = None, caches: int = 0) -> Machine:
    """Thread t of core c is CPU t * all cores + c; `cores` is per socket, `caches` and `nodes` for the machine."""
    total = cores * sockets
    nodes = sockets if nodes is None else nodes
    return Machine(
        cpus=tuple(
            Cpu(
                cpu,
                core=core,
                socket=core // cores,
                numa=core * nodes // total,
                cache=core * caches // total if caches else core // cores,
            )
            for cpu in range(total * threads)
            for core in (cpu % total,)
        )
    )


def only(whole: Machine, online: CpuSet) -> Machine:
    """The machine with only these CPUs online; a core is named by its lowest thread that is."""
    staying = [cpu for cpu in whole.cpus if cpu.id in online]
    names: dict[int, int] = {}
    for cpu in staying:
        names.setdefault(cpu.core, cpu.id)
    return Machine(cpus=tuple(msgspec.structs.replace(cpu, core=names[cpu.core]) for cpu in staying))


def ground(
    of: Machine, *options: str, reserve: int = 1, named: str | None = None, numa: tuple[int, ...] = ()
) -> Ground:
    settings = ManagerSettings(
        cpu_policy=CPU_STATIC,
        cpu_options=frozenset(options),
        reserved_cpus=None if named is None else cpus(named),
        reserved_milli=reserve * 1000,
    )
    return Ground(of, settings, numa)


def on(known: Ground, other: Machine) -> Ground:
    """The same settings on another machine."""
    return Ground(other, known.settings, known.numa)


def pod(uid: str, *counts: int, init: tuple[int, ...] = (), sidecars: tuple[int, ...] = ()) -> PodClaim:
    """Containers c0, c1 ... with this many CPUs each, after init containers i0 ... and sidecars s0 ..."""
    kinds: list[tuple[str, Kind, tuple[int, ...]]] = [
        ("i", "init", init),
        ("s", "sidecar", sidecars),
        ("c", "container", counts),
    ]
    return PodClaim(
        uid=uid,
        containers=tuple(
            ContainerClaim(name=f"{letter}{number}", kind=kind, cpus=count)
            for letter, kind, asked in kinds
            for number, count in enumerate(asked)
        ),
    )


def placed(state: CpuState, of: Ground, claim: PodClaim) -> CpuState | Refusal:
    """All containers of a pod, or nothing."""
    for container in claim.containers:
        after = place(state, of, claim, container)
        if isinstance(after, Refusal):
            return after
        state = after
    return state


def book(of: Ground, *claims: PodClaim) -> CpuState:
    """A node on which these pods found their place."""
    state = fresh(of)
    for claim in claims:
        after = placed(state, of, claim)
        assert isinstance(after, CpuState), after
        state = after
    return state


def shown(state: CpuState) -> dict[str, str]:
    """The book in a form that is easy to write down: CPUs by ``uid/container``, and the shared ones."""
    entries = {
        f"{uid}/{name}": str(own) for uid, sets in sorted(state.entries.items()) for name, own in sets.items()
    }
    return entries | {"shared": str(state.shared), "reserved": str(state.reserved)}
