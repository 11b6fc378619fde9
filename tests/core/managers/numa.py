"""Machines and pods for the managers' tests, in few words."""

from collections.abc import Mapping

from flexlet.api.quantity import Quantity
from flexlet.api.units import Bytes
from flexlet.core.machine.allocatable import Reservation
from flexlet.core.machine.machine import Cpu, Machine, NumaNode
from flexlet.core.managers.claims import ContainerClaim, Kind, PodClaim
from flexlet.core.managers.settings import MEMORY_STATIC, ManagerSettings
from flexlet.core.managers.state import Managers, NumaState
from flexlet.core.resources.names import MEMORY

Mi = 1024**2
Gi = 1024**3


def machine(
    *sizes: int,
    cpus: int = 0,
    pages: Mapping[int, int] | None = None,
    ids: tuple[int, ...] | None = None,
    distances: Mapping[int, Mapping[int, int]] | None = None,
) -> Machine:
    """A machine with these bytes of memory on its NUMA nodes; `cpus` and 2Mi `pages` are per node."""
    names = ids or tuple(range(len(sizes)))
    nodes = tuple(
        NumaNode(
            id=node,
            memory=Bytes(size),
            hugepages={2 * Mi: pages[node]} if pages and node in pages else {},
            distances=dict((distances or {}).get(node, {})),
        )
        for node, size in zip(names, sizes, strict=True)
    )
    threads = [
        Cpu(place * cpus + at, core=place * cpus + at, socket=node, numa=node, cache=node)
        for place, node in enumerate(names)
        for at in range(cpus)
    ]
    total = {2 * Mi: sum(pages.values())} if pages else {}
    return Machine(cpus=tuple(threads), memory=Bytes(sum(sizes)), numa=nodes, hugepages=total)


def settings(*reserved: int, evicting: str = "", **others: object) -> ManagerSettings:
    """Static memory with so many bytes reserved on each node; what `evicting` needs is not added to it."""
    written = {node: {MEMORY: size} for node, size in enumerate(reserved)}
    hard = {"memory.available": evicting} if evicting else {}
    kube = {MEMORY: Quantity.of_bytes(sum(reserved))}
    base = ManagerSettings(
        memory_policy=MEMORY_STATIC,
        reserved_memory=written,
        reservation=Reservation(kube=kube, eviction_hard=hard),
    )
    return _replaced(base, others)


def _replaced(base: ManagerSettings, others: Mapping[str, object]) -> ManagerSettings:
    fields = {name: getattr(base, name) for name in base.__struct_fields__}
    return ManagerSettings(**fields | dict(others))


def container(
    name: str, memory: int = 0, *, kind: Kind = "container", cpus: int = 0, pages: int = 0
) -> ContainerClaim:
    """A claim of one container; `pages` are bytes of 2Mi pages."""
    wanted = {MEMORY: memory} | ({"hugepages-2Mi": pages} if pages else {})
    return ContainerClaim(name=name, kind=kind, cpus=cpus, memory=wanted if memory or pages else {})


def pod(uid: str, *containers: ContainerClaim, created: str = "") -> PodClaim:
    """A claim of a pod."""
    return PodClaim(uid=uid, containers=containers, created=created)


def simple(uid: str, memory: int, *, cpus: int = 0, created: str = "") -> PodClaim:
    """A pod of one container ``c``."""
    return pod(uid, container("c", memory, cpus=cpus), created=created)


def free(managers: Managers) -> dict[int, int]:
    """The free memory of each node."""
    return {node: state.tables[MEMORY].free for node, state in managers.memory.nodes.items()}


def check_tables(nodes: Mapping[int, NumaState]) -> None:
    """What must be true of the tables at any time."""
    for state in nodes.values():
        for table in state.tables.values():
            assert table.free + table.reserved == table.allocatable
            assert min(table.free, table.reserved, table.allocatable, state.assignments) >= 0
