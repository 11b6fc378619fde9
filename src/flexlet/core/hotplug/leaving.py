"""What it takes to make a node smaller: who has to leave, which parts go when, and what is freed before them.

Asked by `prepared`, which knows how far an announced unplug is.
"""

from collections.abc import Iterator

import msgspec

from flexlet.core.hotplug import wish
from flexlet.core.hotplug.preparing import DrainCpus, Evict, FreeMemory, Prepared, Scene
from flexlet.core.hotplug.settling import Settled, settle
from flexlet.core.hotplug.view import view
from flexlet.core.hotplug.wish import Target
from flexlet.core.machine.machine import Machine
from flexlet.core.machine.parts import OnlineAs, Part, offline, online


def smaller(state: Prepared, machine: Machine) -> Machine:
    """The machine as it shall be in the end."""
    target = state.target or Target(len(machine.cpus), machine.memory)
    return wish.without(machine, state.parts, target)


def settled(scene: Scene, machine: Machine, *, shrank: bool) -> Settled:
    """Who stays, and where, if the machine were this one."""
    size = view(machine, scene.situation.node, scene.situation.managing)
    return settle(scene.machine, machine, size, scene.situation, shrank=shrank)


def has_room(state: Prepared, scene: Scene) -> bool:
    """Whether there is room for everybody who is here, those included who are on their way out."""
    staying = tuple(msgspec.structs.replace(each, leaving=False) for each in scene.situation.tenants)
    situation = msgspec.structs.replace(scene.situation, tenants=staying)
    everybody = msgspec.structs.replace(scene, situation=situation)
    return not settled(everybody, smaller(state, scene.machine), shrank=True).victims


def evictions(state: Prepared, scene: Scene, now: float) -> Iterator[Evict]:
    """Everybody who would not fit, unless it was asked for a moment ago."""
    for each in settled(scene, smaller(state, scene.machine), shrank=True).victims:
        if state.asked.get(each.uid, 0.0) <= now:
            yield Evict(each.uid, each.namespace, each.name)


def next_parts(state: Prepared, scene: Scene) -> tuple[Part, ...]:
    """The parts to take offline now; the books are moved off CPUs only when they know what went before."""
    left = tuple(still_online(state, scene.machine))
    memory = tuple(part for part in left if part.kind == "memory")
    is_time = scene.published or _drain(state, scene) is None
    return memory or (left if is_time else ())


def freed_before(state: Prepared, scene: Scene, part: Part) -> Iterator[FreeMemory | DrainCpus]:
    """Memory that is in use, and CPUs that somebody runs on, are made free before they go."""
    situation = scene.situation
    if part.kind == "memory":
        size = view(
            smaller(state, scene.machine),
            situation.node,
            critical_usage=situation.critical_usage,
            enforce=situation.enforce,
        )
        yield FreeMemory(size.limit, situation.resize.squeeze_s)
    elif (drain := _drain(state, scene)) is not None:
        yield drain


def _drain(state: Prepared, scene: Scene) -> DrainCpus | None:
    """Everybody moved off all CPUs that are to go; None if nobody is on them."""
    cpus = [part for part in state.parts if part.kind == "cpu"]
    without = wish.without(scene.machine, cpus, Target(0, scene.machine.memory))
    found = settled(scene, without, shrank=True)
    if found.resynced.managers == scene.situation.managers:
        return None
    return DrainCpus(
        managers=found.resynced.managers,
        reassigned=found.resynced.reassigned,
        cpusets=found.cpusets,
        memory=found.resynced.moved_memory,
    )


def still_online(state: Prepared, machine: Machine) -> list[Part]:
    """Parts that are still online, in the order in which they go."""
    present = online(machine)
    return [part for part in state.parts if part in present]


def still_offline(state: Prepared, machine: Machine) -> list[Part]:
    """Parts that are there and offline: they can come back."""
    waiting = offline(machine.half_plugged)
    return [part for part in state.parts if part in waiting]


def movable(parts: tuple[Part, ...], scene: Scene, known: tuple[Part, ...] = ()) -> tuple[Part, ...]:
    """Of these, the blocks in a movable zone; those that are offline are in none, and `known`."""
    return tuple(
        part for part in parts if part in known or (part.kind == "memory" and part.number in scene.movable)
    )


def zone(state: Prepared, part: Part) -> OnlineAs:
    """How the part was online, and comes back."""
    return "online_movable" if part in state.movable else "online"


def stand_in(state: Prepared, part: Part, stubborn: tuple[Part, ...], scene: Scene) -> Part | None:
    """Another movable block; a CPU, or a block that nobody promised could go, has no stand-in."""
    if part.kind != "memory":
        return None
    taken = {*state.parts, *stubborn}
    others = wish.blocks_in_order(scene.machine, scene.movable)
    return next((each for each in others if each.number in scene.movable and each not in taken), None)
