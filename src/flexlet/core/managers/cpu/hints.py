"""What the CPU manager can offer to the topology manager: sets of NUMA nodes that have enough free CPUs."""

import itertools
from collections.abc import Iterator

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.claims import ContainerClaim, PodClaim
from flexlet.core.managers.cpu.ground import Ground
from flexlet.core.managers.cpu.static import available, reusable
from flexlet.core.managers.hints import Hint, ResourceHints
from flexlet.core.managers.state import CpuState
from flexlet.core.resources.names import CPU


def container_hints(state: CpuState, ground: Ground, pod: PodClaim, container: ContainerClaim) -> ResourceHints:
    """The offers for one container, under ``cpu``; nothing at all if it shares."""
    if not ground.settings.pins_cpus or not container.cpus:
        return {}
    known = state.cpus_of(pod.uid, container.name)
    if known is None:
        free, again = available(state, ground), reusable(state, pod, container)
        return {CPU: offers(ground, free, again, container.cpus)}
    return {CPU: offers(ground, known, CpuSet(), container.cpus) if len(known) == container.cpus else ()}


def pod_hints(state: CpuState, ground: Ground, pod: PodClaim) -> ResourceHints:
    """The offers for a whole pod: what its containers need at the same time."""
    need = needed_at_once(pod)
    if not ground.settings.pins_cpus or not need:
        return {}
    held = CpuSet()
    for container in pod.containers:
        known = state.cpus_of(pod.uid, container.name)
        if known is not None and len(known) != container.cpus:
            return {CPU: ()}
        held = held | (known or CpuSet())
    if len(held) == need:
        return {CPU: offers(ground, held, CpuSet(), need)}
    return {CPU: offers(ground, available(state, ground), held, need)}


def needed_at_once(pod: PodClaim) -> int:
    """The most CPUs that a pod has at one time; init containers run one after another, beside the sidecars."""
    running = most = 0
    for container in pod.containers:
        if container.kind == "init":
            most = max(most, running + container.cpus)
        else:
            running += container.cpus
    return max(most, running)


def offers(ground: Ground, free: CpuSet, again: CpuSet, need: int) -> tuple[Hint, ...]:
    """The sets of nodes that have `need` CPUs; all CPUs that are used again must be on them.

    Preferred are those with as few nodes as could ever do, whatever is free now.
    """
    nodes = ground.nodes
    sizes = {node: len(ground.topology.nodes[node]) for node in nodes}
    counts = {node: len(ground.topology.on_nodes(free | again, [node])) for node in nodes}
    fewest = next((len(mask) for mask in _masks(nodes) if sum(map(sizes.__getitem__, mask)) >= need), len(nodes))
    return tuple(
        Hint(CpuSet.of(mask), preferred=_preferred(ground, mask, fewest))
        for mask in _masks(nodes)
        if ground.topology.nodes_of(again) <= frozenset(mask)
        if sum(map(counts.__getitem__, mask)) >= need
    )


def _masks(nodes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All sets of nodes, small ones first."""
    for count in range(1, len(nodes) + 1):
        yield from itertools.combinations(nodes, count)


def _preferred(ground: Ground, mask: tuple[int, ...], fewest: int) -> bool:
    return len(mask) == fewest or (ground.by_socket and _is_socket_aligned(ground, mask, fewest))


def _is_socket_aligned(ground: Ground, mask: tuple[int, ...], fewest: int) -> bool:
    """Whether the nodes are on as few sockets as could ever do."""
    topology = ground.topology
    per_socket = len(topology.nodes) // len(topology.sockets)
    sockets = {cpu.socket for cpu in topology.cpus if cpu.numa in mask}
    return per_socket > 0 and len(sockets) == -(-fewest // per_socket)
