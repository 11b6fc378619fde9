"""Choosing CPUs the way the operator wants it, near a hint if there is one."""

from collections.abc import Iterable

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.cpu.distribution import distributed
from flexlet.core.managers.cpu.ground import Ground
from flexlet.core.managers.cpu.packing import packed
from flexlet.core.managers.cpu.refusals import not_enough_cores, not_whole_cores
from flexlet.core.managers.settings import (
    ALIGN_BY_UNCORE_CACHE,
    DISTRIBUTE_ACROSS_CORES,
    DISTRIBUTE_ACROSS_NUMA,
)
from flexlet.core.managers.state import Refusal


def take(ground: Ground, available: CpuSet, need: int) -> CpuSet | Refusal:
    """`need` of the available CPUs by the policy options."""
    options, topology = ground.settings.cpu_options, ground.topology
    spread = DISTRIBUTE_ACROSS_CORES in options
    if DISTRIBUTE_ACROSS_NUMA in options:
        group = topology.threads if ground.whole_cores else 1
        return distributed(topology, available, need, group=group, spread=spread)
    return packed(topology, available, need, by_cache=ALIGN_BY_UNCORE_CACHE in options, spread=spread)


def take_near(ground: Ground, available: CpuSet, need: int, nodes: Iterable[int] | None) -> CpuSet | Refusal:
    """As many as possible on these NUMA nodes and the rest from anywhere.

    Where whole cores are the rule and half of one is offline, never the other half. With all threads online the
    choice is upstream's, which may begin a core beside a reserved thread if the hinted nodes have too little.
    """
    chosen = _near(ground, available, need, nodes)
    guarded = ground.whole_cores and not ground.topology.is_even
    if isinstance(chosen, Refusal) or not guarded or is_whole(ground, chosen):
        return chosen
    return _near(ground, ground.topology.in_whole_cores(available), need, nodes)


def is_whole(ground: Ground, cpus: CpuSet) -> bool:
    """Whether these are whole cores and nothing else."""
    return ground.topology.in_whole_cores(cpus) == cpus


def unaligned(ground: Ground, available: CpuSet, reserved: CpuSet, need: int) -> Refusal | None:
    """Why whole cores cannot be had, if those are the rule. A core with a reserved thread is not free."""
    if not ground.whole_cores:
        return None
    threads = ground.topology.threads
    if need % threads:
        return not_whole_cores(need, threads)
    free = available - ground.topology.with_siblings(reserved)
    if not ground.topology.is_even:
        free = ground.topology.in_whole_cores(free)
    return not_enough_cores(need, len(free), threads) if need > len(free) else None


def _near(ground: Ground, available: CpuSet, need: int, nodes: Iterable[int] | None) -> CpuSet | Refusal:
    close = CpuSet() if nodes is None else _aligned(ground, available, nodes)
    first = take(ground, close, min(need, len(close)))
    if isinstance(first, Refusal):
        return first
    rest = take(ground, available - first, need - len(first))
    return rest if isinstance(rest, Refusal) else first | rest


def _aligned(ground: Ground, available: CpuSet, nodes: Iterable[int]) -> CpuSet:
    """Those on these nodes, or on the sockets of these nodes if alignment goes by socket."""
    topology = ground.topology
    if not ground.by_socket:
        return topology.on_nodes(available, nodes)
    wanted = frozenset(nodes)
    sockets = {cpu.socket for cpu in topology.cpus if cpu.numa in wanted}
    return CpuSet.of(cpu for cpu in available if topology.by_id[cpu].socket in sockets)
