"""The managers' books of an agent that begins: what was left by the one before it, and who holds what.

Asked at the moment when every source of pods has been heard, because only then is it known who stays. If the API
does not answer and static pods go ahead without it, whoever is in the files counts as staying.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.core.actions import RecordEvent
from flexlet.core.agent.observations import FILE
from flexlet.core.agent.world import World, active
from flexlet.core.critical import is_critical
from flexlet.core.managers import starting
from flexlet.core.managers.claims import ContainerClaim, PodClaim, claim
from flexlet.core.managers.cpu import files as cpu_files
from flexlet.core.managers.cpu.files import CpuFile
from flexlet.core.managers.cpu.outcome import Move
from flexlet.core.managers.files import Files
from flexlet.core.managers.memory import files as memory_files
from flexlet.core.managers.memory.files import MemoryFile
from flexlet.core.managers.starting import Started
from flexlet.core.managers.state import Block, Blocks, Sets
from flexlet.core.resize import events
from flexlet.core.resize.allocation import applied

REASSIGNED: Final = "ExclusiveCPUsReassigned"

Running = Mapping[str, Mapping[str, CpuSet]]
"""CPU sets of running containers by pod uid and container."""


class Begun(msgspec.Struct, frozen=True):
    """The world with its books, what was done to them, and what people are told of it."""

    world: World
    started: Started
    events: tuple[RecordEvent, ...] = ()


def begun(world: World, files: Files, running: Running, *, heard: bool = True) -> Begun:
    """The world in which everybody can be let in; `heard` is whether the API has named its pods."""
    setup, sets, blocks = world.setup, _sets(files), _blocks(files)
    claims = list(_holders(world))
    claims += [] if heard else _unseen(world, sets, blocks)
    started = starting.start(setup.managers, setup.machine, files, running, claims, _safe(world))
    return Begun(world.managed(started.managers), started, tuple(_moves(world, sets, started)))


def _holders(world: World) -> Iterator[PodClaim]:
    """The pods that were let in by an earlier agent, most important first."""
    records = [each for each in active(world).values() if each.allocation is not None and not each.gone]
    records.sort(key=lambda each: (-(each.pod.spec.priority or 0), each.pod.metadata.creation_timestamp or ""))
    for record in records:
        if record.allocation is not None:
            yield claim(applied(record.pod, record.allocation, world.setup.gates))


def _safe(world: World) -> frozenset[str]:
    """Whom the node does not end for want of room."""
    return frozenset(uid for uid, record in world.pods.items() if record.source == FILE or is_critical(record.pod))


def _unseen(world: World, sets: Sets, blocks: Blocks) -> list[PodClaim]:
    """Those who are in the files and whom nobody has named yet."""
    return [
        PodClaim(uid=uid, containers=tuple(_claims(sets.get(uid, {}), blocks.get(uid, {}))))
        for uid in dict.fromkeys((*sets, *blocks))
        if uid not in world.pods
    ]


def _claims(sets: Mapping[str, CpuSet], blocks: Mapping[str, tuple[Block, ...]]) -> Iterator[ContainerClaim]:
    for name in dict.fromkeys((*sets, *blocks)):
        memory = {each.type: each.size for each in blocks.get(name, ())}
        yield ContainerClaim(name=name, cpus=len(sets.get(name, ())), memory=memory)


def _moves(world: World, before: Sets, started: Started) -> Iterator[RecordEvent]:
    """Whoever has other CPUs of its own than in the file is told so."""
    for uid, containers in before.items():
        record = world.pods.get(uid)
        for name, had in containers.items():
            has = started.managers.cpu.cpus_of(uid, name)
            if record is not None and has is not None and has != had:
                yield events.about(record.pod, events.NORMAL, REASSIGNED, Move(uid, name, had, has).told)


def _sets(files: Files) -> Sets:
    found = None if files.cpu is None else cpu_files.read(files.cpu)
    return found.state.entries if isinstance(found, CpuFile) else {}


def _blocks(files: Files) -> Blocks:
    found = None if files.memory is None else memory_files.read(files.memory)
    return found.state.entries if isinstance(found, MemoryFile) else {}
