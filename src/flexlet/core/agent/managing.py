"""The resource managers in the agent's world: who is taken into their books, who leaves them, who is in them.

A pod's place is decided with its admission and given back when the pod has ended. What is in the books of a pod
that was let in before is kept, whatever anybody else wants; one that is not in them any more (the books were lost)
is placed again if there is room, and shares with the others if there is none.
"""

from collections.abc import Iterator
from typing import Final

from flexlet.api.cpuset import CpuSet
from flexlet.api.pod import Pod
from flexlet.core.agent.record import REJECTED, PodRecord
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.agent.world import World
from flexlet.core.managers import placing
from flexlet.core.managers.claims import claim
from flexlet.core.managers.settings import TOPOLOGY_NONE
from flexlet.core.managers.state import Managers, Refusal
from flexlet.core.resize import triggers
from flexlet.core.resize.allocation import Allocation, applied

NO_QUOTA: Final = "DisableCPUQuotaWithExclusiveCPUs"


def is_on(setup: NodeSetup) -> bool:
    """Whether anything is managed."""
    settings = setup.managers
    return settings.pins_cpus or settings.pins_memory or settings.topology_policy != TOPOLOGY_NONE


def placed(pod: Pod, world: World) -> Managers | Refusal:
    """The books with a pod in them; `pod` is as it would run."""
    setup = world.setup
    if not is_on(setup):
        return world.managers
    return placing.place(world.managers, setup.managers, setup.machine, claim(pod))


def placed_again(record: PodRecord, allocation: Allocation, world: World) -> Managers:
    """The books with a pod in them that was let in before."""
    found = placed(applied(record.pod, allocation, world.setup.gates), world)
    return world.managers if isinstance(found, Refusal) else found


def without(world: World, uid: str) -> World:
    """The world in which a pod has given everything back."""
    setup = world.setup
    if not is_on(setup) or not world.managers.placed(uid):
        return world
    return world.managed(placing.release(world.managers, setup.managers, setup.machine, uid))


def leavers(world: World) -> list[str]:
    """Pods in the books that have ended; a pod that nobody has seen may still show up until all were seen."""
    if not is_on(world.setup):
        return []
    return [uid for uid in _known(world.managers) if _has_left(world, uid)]


def may_leave(world: World) -> bool:
    """Whether somebody in the books is about to turn out to have ended."""
    return any(_is_doubtful(world, uid) for uid in _known(world.managers))


def exclusive(record: PodRecord, setup: NodeSetup) -> frozenset[str]:
    """The containers of a pod that have CPUs of their own and hence need no quota."""
    return record.exclusive if setup.gates[NO_QUOTA] else frozenset()


def owners(world: World) -> Iterator[PodRecord]:
    """Records that do not know yet which of their containers have CPUs of their own."""
    entries = world.managers.cpu.entries
    for uid, record in world.pods.items():
        if record.exclusive or uid in entries:
            names = frozenset(entries.get(uid, ()))
            if names != record.exclusive:
                yield record


def contested(world: World, leaving: CpuSet) -> Iterator[PodRecord]:
    """Records that do not know yet whether somebody else still runs on their CPUs."""
    for uid, own in world.managers.cpu.entries.items():
        record = world.pods.get(uid)
        if record is not None and record.contested != any(cpus & leaving for cpus in own.values()):
            yield record


def _known(managers: Managers) -> dict[str, None]:
    return dict.fromkeys((*managers.cpu.entries, *managers.memory.entries, *managers.hints))


def _has_left(world: World, uid: str) -> bool:
    record = world.pods.get(uid)
    if record is None:
        return world.complete
    return record.stopped or record.admission == REJECTED


def _is_doubtful(world: World, uid: str) -> bool:
    record = world.pods.get(uid)
    return not world.complete if record is None else triggers.is_terminal(record.pod)
