"""A prepared unplug: the node makes itself smaller before its hardware goes (node-resize.md §4.8).

An unplug that comes as a surprise ends pods within seconds. One that is announced need not: the node offers less
at once, lets pods leave through evictions that honour disruption budgets, and takes parts offline one by one,
memory before CPUs, because the kernel may refuse memory and then nothing else was touched. When everything is
offline it says so, and whoever asked removes the parts. If anything is refused or takes too long, all parts come
back online and the node offers what it did before.

The state is saved before its steps are taken. Which parts are offline is never remembered but seen on the machine,
so an agent that died in the middle goes on where the machine is.
"""

from typing import Final

import msgspec

from flexlet.api.pod import ResourceList
from flexlet.api.quantity import Quantity
from flexlet.api.units import Bytes
from flexlet.core.hotplug import leaving, wish
from flexlet.core.hotplug.preparing import (
    BringOnline,
    Decision,
    Evict,
    Prepared,
    PrepareStep,
    Scene,
    TakeOffline,
    UndoDrain,
)
from flexlet.core.hotplug.readmission import CRITICAL_OVER_CAPACITY
from flexlet.core.hotplug.view import view
from flexlet.core.hotplug.wish import Target, Unwilling
from flexlet.core.machine.machine import Machine
from flexlet.core.machine.parts import Part, PartRefused
from flexlet.core.managers.settings import ManagerSettings
from flexlet.core.node.settings import NodeSettings
from flexlet.core.resources.names import CPU, MEMORY, PODS

_OFFERED: Final = (CPU, MEMORY, PODS)
_MAKING_ROOM: Final = ("evicting", "offlining", "ready")
_GATED: Final = "the feature gate NodeResourceHotUnPlug is off"
_CRITICAL: Final = "static and critical pods need more than would be left, and they never leave"


def decide(state: Prepared, scene: Scene, now: float) -> Decision:
    """The next steps; ask again when they were taken, or when there is news."""
    if state.phase in ("idle", "refused"):
        state = _begun(state, scene, now)
    if state.phase in _MAKING_ROOM:
        state = _gone_on(state, scene, now)
    if state.phase in ("evicting", "offlining"):
        state = _with_room(state, scene)
    if state.phase == "offlining" and not leaving.still_online(state, scene.machine) and scene.published:
        state = msgspec.structs.replace(state, phase="ready", since=now)
    if state.phase == "restoring" and not leaving.still_offline(state, scene.machine) and scene.published:
        return _restored(state, scene)
    return _decision(state, scene, now)


def switched(state: Prepared, part: Part, refusal: PartRefused | None, scene: Scene, now: float) -> Prepared:
    """What came of a part: for one that does not go another may stand in, or the attempt is over."""
    if refusal is None:
        return state
    if state.phase == "restoring":
        return msgspec.structs.replace(state, parts=tuple(each for each in state.parts if each != part))
    stubborn = (*state.stubborn, part)
    other = leaving.stand_in(state, part, stubborn, scene)
    if other is None:
        return _failed(state, f"{part} cannot be taken offline: {refusal.reason}: {refusal.message}", now)
    parts = tuple(other if each == part else each for each in state.parts)
    movable = leaving.movable(parts, scene, state.movable)
    return msgspec.structs.replace(state, parts=parts, stubborn=stubborn, movable=movable)


def answered(state: Prepared, step: Evict, refusal: str) -> Prepared:
    """What the API said to an eviction; an empty refusal is a yes."""
    others = {uid: text for uid, text in state.blocked.items() if uid != step.uid}
    said = {step.uid: f"{step.namespace}/{step.name} is not evicted: {refusal}"} if refusal else {}
    return msgspec.structs.replace(state, blocked=others | said)


def crowded(state: Prepared, used: int, limit: int, now: float) -> Prepared:
    """Pods use more than they would have: nothing is taken from them."""
    text = f"pods use {Quantity.of_bytes(used)} of memory, and {Quantity.of_bytes(limit)} would be left for them"
    return _failed(state, text, now)


def resumed(state: Prepared) -> Prepared:
    """The state for an agent that starts: evictions are asked for anew."""
    return msgspec.structs.replace(state, asked={}, blocked={})


def kept_offline(state: Prepared) -> frozenset[Part]:
    """Parts that nobody shall bring online: they are about to be unplugged."""
    return frozenset(state.parts) if state.phase in _MAKING_ROOM else frozenset()


def taken_up(
    state: Prepared, machine: Machine, generation: int, node: NodeSettings, managing: ManagerSettings
) -> Decision:
    """What an agent that starts offers until it has heard enough to decide: the same as the one before it."""
    return Decision(
        state=state,
        ceiling=ceiling(state, machine, node, managing),
        unplug_ready=generation if state.phase == "ready" else 0,
        refused=state.why if state.phase == "refused" else "",
    )


def ceiling(state: Prepared, machine: Machine, node: NodeSettings, managing: ManagerSettings) -> ResourceList:
    """What allocatable is at most, as the node and its cluster see it; empty: no less than usual."""
    if state.phase not in _MAKING_ROOM:
        return {}
    whole = view(leaving.smaller(state, machine), node, managing).allocatable
    return {name: whole[name] for name in _OFFERED}


def _begun(state: Prepared, scene: Scene, now: float) -> Prepared:
    """Take up a new wish; one that asks for nothing that there is to lose is done at once."""
    if not scene.wish or scene.wish == state.wish:
        return state if scene.wish else Prepared()
    if not scene.situation.resize.unplug:
        return Prepared(phase="refused", wish=scene.wish, why=_GATED)
    target = wish.read(scene.wish, scene.machine, scene.situation.node)
    if isinstance(target, Unwilling):
        return Prepared(phase="refused", wish=scene.wish, why=target.why)
    parts = wish.chosen(target, scene.machine, scene.situation.managing, scene.movable)
    if isinstance(parts, Unwilling):
        return Prepared(phase="refused", wish=scene.wish, why=parts.why)
    if target == Target(len(scene.machine.cpus), scene.machine.memory):
        return Prepared(wish=scene.wish)
    begun = Prepared(phase="evicting", wish=scene.wish, target=target, parts=parts, since=now)
    begun = msgspec.structs.replace(begun, movable=leaving.movable(parts, scene))
    if CRITICAL_OVER_CAPACITY in leaving.settled(scene, leaving.smaller(begun, scene.machine), shrank=True).notes:
        return Prepared(phase="refused", wish=scene.wish, why=_CRITICAL)
    return begun


def _gone_on(state: Prepared, scene: Scene, now: float) -> Prepared:
    """Whether to go on: the wish still stands, its parts are not gone already, and there is time."""
    if state.phase == "ready" and _is_unplugged(state, scene.machine):
        return Prepared(wish=state.wish)
    if scene.wish != state.wish:
        return msgspec.structs.replace(state, phase="restoring", since=now, why="")
    if now >= state.since + scene.situation.resize.prepare_s:
        what = {"evicting": "pods did not leave", "ready": "nobody removed the parts"}
        who = f": {state.blockers}" if state.phase == "evicting" and state.blocked else ""
        return _failed(state, f"{what.get(state.phase, 'parts did not go offline')} in time{who}", now)
    return state


def _is_unplugged(state: Prepared, machine: Machine) -> bool:
    """Whether the parts are gone for good; memory that is less than a block is gone when the machine has less."""
    target = state.target or Target(0, Bytes(0))
    if not state.parts:
        return len(machine.cpus) <= target.cpus and machine.memory <= target.memory
    return not leaving.still_offline(state, machine) and not leaving.still_online(state, machine)


def _failed(state: Prepared, why: str, now: float) -> Prepared:
    return msgspec.structs.replace(state, phase="restoring", since=now, why=why)


def _restored(state: Prepared, scene: Scene) -> Decision:
    """Everything is as before; a wish that failed is not tried again until it is another."""
    settled = leaving.settled(scene, scene.machine, shrank=False)
    done = Prepared(phase="refused", wish=state.wish, why=state.why) if state.why else Prepared()
    undo = UndoDrain(
        managers=settled.resynced.managers, cpusets=settled.cpusets, memory=settled.resynced.moved_memory
    )
    changed = settled.resynced.managers != scene.situation.managers
    return Decision(state=done, steps=(undo,) if changed else (), refused=done.why)


def _decision(state: Prepared, scene: Scene, now: float) -> Decision:
    if state.phase in ("idle", "refused"):
        return Decision(state=state, refused=state.why)
    steps: list[PrepareStep] = []
    if state.phase == "evicting":
        steps += leaving.evictions(state, scene, now)
        again = now + scene.situation.resize.evict_again_s
        asked = {each.uid: again for each in steps if isinstance(each, Evict)}
        state = msgspec.structs.replace(state, asked=state.asked | asked)
    if state.phase == "offlining" and (parts := leaving.next_parts(state, scene)):
        steps += leaving.freed_before(state, scene, parts[0])
        steps += [TakeOffline(part, scene.situation.resize.offline_s) for part in parts]
    if state.phase == "restoring":
        steps += [
            BringOnline(part, leaving.zone(state, part)) for part in leaving.still_offline(state, scene.machine)
        ]
    return Decision(
        state=state,
        steps=tuple(steps),
        ceiling=ceiling(state, scene.machine, scene.situation.node, scene.situation.managing),
        unplug_ready=scene.generation if state.phase == "ready" else 0,
        wake_at=_wake_at(state, scene),
    )


def _wake_at(state: Prepared, scene: Scene) -> float | None:
    if state.phase == "restoring":
        return None
    return min((state.since + scene.situation.resize.prepare_s, *state.asked.values()))


def _with_room(state: Prepared, scene: Scene) -> Prepared:
    """Parts go while there is room; somebody who came in spite of all has to leave before the next one goes."""
    if not leaving.has_room(state, scene):
        return msgspec.structs.replace(state, phase="evicting")
    return msgspec.structs.replace(state, phase="offlining", asked={}, blocked={})
