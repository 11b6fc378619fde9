"""Which NUMA nodes could serve a request for memory, narrowest first.

A set of nodes is offered if it has enough free memory of every kind and may be used together. It is preferred if
it is as narrow as any set that could serve the request on an empty machine.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.claims import ContainerClaim, PodClaim
from flexlet.core.managers.hints import Hint, ResourceHints
from flexlet.core.managers.memory import tables
from flexlet.core.managers.memory.tables import Nodes
from flexlet.core.managers.state import MemoryState
from flexlet.core.managers.topology.merging import number

Request = Mapping[str, int]
"""Bytes by kind of memory."""
Spare = Mapping[tuple[tuple[int, ...], str], int]
"""What init containers of the same pod leave behind, by nodes and kind."""


def hints(state: MemoryState, numa: tuple[int, ...], claim: PodClaim, container: ContainerClaim) -> ResourceHints:
    """The offers for one container; nothing at all if there are none, which means no wish, as upstream has it."""
    if container.fractional:
        return {}
    return _by_kind(offers(state.nodes, numa, container.memory, spare(state, claim)), container.memory)


def pod_hints(state: MemoryState, numa: tuple[int, ...], claim: PodClaim) -> ResourceHints:
    """The offers for a whole pod."""
    if any(container.fractional for container in claim.containers):
        return {}
    request = pod_request(claim)
    return _by_kind(offers(state.nodes, numa, request), request)


def _by_kind(found: Iterator[Hint], request: Request) -> ResourceHints:
    offered = tuple(found) if request else ()
    return dict.fromkeys(request, offered) if offered else {}


def offers(nodes: Nodes, numa: tuple[int, ...], request: Request, spare: Spare | None = None) -> Iterator[Hint]:
    """All offers, of equally wide ones the lowest numbers first; made one by one, for wide machines have many."""
    if any(tables.allocatable(nodes, numa, kind) < wanted for kind, wanted in request.items()):
        return
    least = None
    for size in range(1, len(numa) + 1):
        for mask in _masks(numa, size):
            if all(tables.allocatable(nodes, mask, kind) >= wanted for kind, wanted in request.items()):
                least = least or size
                if tables.is_open(nodes, mask) and _has_room(nodes, mask, request, spare or {}):
                    yield Hint(CpuSet(mask), preferred=size == least)


def _masks(numa: tuple[int, ...], size: int) -> list[tuple[int, ...]]:
    return sorted(combinations(numa, size), key=lambda mask: number(CpuSet(mask)))


def _has_room(nodes: Nodes, mask: tuple[int, ...], request: Request, spare: Spare) -> bool:
    return all(
        tables.free(nodes, mask, kind) + spare.get((mask, kind), 0) >= wanted for kind, wanted in request.items()
    )


def spare(state: MemoryState, claim: PodClaim) -> dict[tuple[tuple[int, ...], str], int]:
    """What is still booked for init containers that will have ended when the next container starts."""
    left: dict[tuple[tuple[int, ...], str], int] = {}
    held = state.entries.get(claim.uid, {})
    for container in claim.containers:
        if container.kind == "init":
            for block in held.get(container.name, ()):
                left[block.nodes, block.type] = left.get((block.nodes, block.type), 0) + block.size
    return left


def pod_request(claim: PodClaim) -> dict[str, int]:
    """The most that a pod needs at one time: all that stay together, or one that starts beside those before it.

    Kinds of memory that only init containers and sidecars ask for are left out, as upstream does.
    """
    kinds = {kind for container in claim.containers if container.kind == "container" for kind in container.memory}
    staying: dict[str, int] = {}
    starting: dict[str, int] = {}
    for container in claim.containers:
        for kind, wanted in container.memory.items():
            together = staying.get(kind, 0) + wanted
            if container.kind == "init":
                starting[kind] = max(starting.get(kind, 0), together)
            else:
                staying[kind] = together
    return {kind: max(staying[kind], starting.get(kind, 0)) for kind in staying if kind in kinds}
