"""A world whose CPUs are managed, for tests about the managers in the agent."""

from typing import Any

from msgspec.structs import replace
from tests.core.agent.builders import NOW, SETUP, container, pod

from flexlet.api.nodepod import NodePod
from flexlet.api.quantity import Quantity
from flexlet.api.units import Bytes
from flexlet.core.agent import household
from flexlet.core.agent.deeds import SaveAllocation
from flexlet.core.agent.observations import Done, Finished, Outcome
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.world import World
from flexlet.core.machine.machine import Cpu, Machine, NumaNode
from flexlet.core.managers import starting
from flexlet.core.managers.files import Files
from flexlet.core.managers.settings import ManagerSettings

GIB = 1 << 30
SETTINGS = ManagerSettings(cpu_policy="static", reserved_milli=500)


def machine(cpus: int = 4, nodes: int = 1) -> Machine:
    """So many CPUs, evenly on so many NUMA nodes."""
    each = cpus // nodes
    return Machine(
        cpus=tuple(Cpu(id=n, core=n, socket=n // each, numa=n // each, cache=n // each) for n in range(cpus)),
        memory=Bytes(8 * GIB),
        numa=tuple(NumaNode(id=node, memory=Bytes(8 * GIB // nodes)) for node in range(nodes)),
    )


def managed(settings: ManagerSettings = SETTINGS, on: Machine | None = None, **more: Any) -> World:
    """A world with nobody in it."""
    below = on or machine()
    amounts = {"cpu": str(len(below.cpus)), "memory": "8Gi", "pods": "10"}
    allocatable = {name: Quantity.parse(text) for name, text in amounts.items()}
    setup = replace(SETUP, allocatable=allocatable, machine=below, managers=settings)
    books = starting.start(settings, below, Files(), {}, ()).managers
    return World(setup=setup, managers=books, **{"listed": True, "complete": True, **more})


def own(name: str, cpus: int = 1, **spec: Any) -> NodePod:
    """A Guaranteed pod that asks for whole CPUs."""
    of = pod(container("c", f"{cpus},64Mi", f"{cpus},64Mi"), **spec)
    return replace(of, metadata=replace(of.metadata, name=name, uid=name))


def sharing(name: str, **spec: Any) -> NodePod:
    """A pod that asks for no CPU of its own."""
    of = pod(container("c", "100m,64Mi"), **spec)
    return replace(of, metadata=replace(of.metadata, name=name, uid=name))


def arrived(world: World, *pods: NodePod) -> World:
    """The world with pods at its door."""
    return world.with_pods({each.metadata.uid: PodRecord(pod=each) for each in pods})


def admitted(world: World, *pods: NodePod, outcome: Outcome | None = None) -> World:
    """The world once everybody was asked and the disk has answered."""
    found = household.settle(arrived(world, *pods), NOW)
    world = found.world
    for deed in found.deeds:
        if isinstance(deed, SaveAllocation):
            end = Finished(deed=deed, outcome=outcome or Done(), began_at=NOW, ended_at=NOW)
            world = household.granted(world, end, NOW).world
    return world


def sets(world: World) -> dict[str, str]:
    """CPUs by pod; the shared ones have no name."""
    book = world.managers.cpu
    return {"": str(book.shared)} | {uid: str(entry["c"]) for uid, entry in book.entries.items()}
