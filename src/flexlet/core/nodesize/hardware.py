"""The machine behind a node: what the hypervisor end is asked for, and when (balloon.md §5.8).

To grow, the balloon gives back first, and only what is missing then is plugged. To shrink, the balloon is
inflated as a fence, so that nobody stands in what is about to go; then the node is asked to get ready, the
hardware is taken out, and when the node has published what it lost the balloon gives back as much. A guest that
keeps something keeps it behind the balloon: then the balloon is the downsizing.

The plan of one wish is made once and kept in the status, so that a controller that dies goes on with it: what the
machine shall have is compared with what it has, never added to it twice.
"""

from typing import Final

import msgspec

from flexlet.api import age, decode
from flexlet.core.actions import ApiAction, PatchObject
from flexlet.core.nodesize import names, sizes, wanted
from flexlet.core.nodesize.modules import removable, stays
from flexlet.core.nodesize.objects import Base, MachineStatus, Phase
from flexlet.core.nodesize.resizing import Turn
from flexlet.core.nodesize.scene import Scene
from flexlet.core.refs import NODES
from flexlet.core.resources.names import CPU, MEMORY

_UNSEEN: Final = "the machine has what is wanted, the node has yet to notice"
_HEARD_S: Final = 2.0
"""A refusal that stood on the node before it was asked is gone by then."""
_FENCED: Final = "the balloon is the downsizing"


class Deed(msgspec.Struct, frozen=True):
    """Bring a machine to this many CPUs and bytes; zero of both only asks how big it is."""

    node: str
    qmp: str
    cpus: int = 0
    memory: int = 0


class HardwarePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What to do about the machine."""

    status: MachineStatus | None = None
    actions: tuple[ApiAction, ...] = ()
    deed: Deed | None = None
    wake_at: float | None = None


def plan(scene: Scene, base: Base, turn: Turn, now: float) -> HardwarePlan:
    """The next step with the machine."""
    if not wanted.has_hardware(scene) or not base.target.effective:
        return HardwarePlan(actions=_calm(scene))
    if scene.machine is None:
        return HardwarePlan(status=scene.size.status.machine, deed=_deed(scene, None))
    status = _current(scene)
    match status.phase:
        case "Plugging":
            return _plugging(scene, base, status, now)
        case "Preparing":
            return _preparing(scene, status, now)
        case "Unplugging":
            return _unplugging(scene, status)
        case "Idle" if not status.wanted:
            return _start(scene, base, status, turn, now)
        case _:
            return HardwarePlan(status=status, actions=_calm(scene))


def _current(scene: Scene) -> MachineStatus:
    """How far this wish has come; one that was replaced is forgotten, with what it asked of the node."""
    known, generation = scene.size.status.machine, scene.size.metadata.generation
    if known is not None and (known.generation, known.request) == (generation, scene.request):
        return _measured(scene, known)
    return _measured(scene, MachineStatus(generation=generation, request=scene.request))


def _start(scene: Scene, base: Base, status: MachineStatus, turn: Turn, now: float) -> HardwarePlan:
    if any(record.result in {"Pending", "Deferred"} for record in turn.progress.values()) or turn.sizes:
        return HardwarePlan(status=status, actions=_calm(scene))
    short = wanted.shortfall(scene, base)
    if any(short.values()):
        # The floor of a balloon is no reason to plug a whole CPU more.
        bare = {r: max(0, short[r] - sizes.FLOOR[r]) for r in short}
        whole = _blocks(scene, bare[MEMORY] + scene.settings.memory_block - 1)
        more = {CPU: -(-bare[CPU] // 1000), MEMORY: whole}
        begun = _begun(scene, status, "Plugging", more, now)
        return HardwarePlan(status=begun, actions=_calm(scene), deed=_deed(scene, begun))
    less = _removable(scene, base, turn)
    if not any(less.values()):
        return HardwarePlan(status=status, actions=_calm(scene))
    modules = scene.machine.modules if scene.machine else None
    whole = less[MEMORY] if modules is None else removable(modules, less[MEMORY])
    kept = stays(less[MEMORY] - whole) if whole < less[MEMORY] else ""
    return _fenced(scene, msgspec.structs.replace(status, kept=kept), {CPU: less[CPU], MEMORY: whole}, now)


def _fenced(scene: Scene, status: MachineStatus, less: dict[str, int], now: float) -> HardwarePlan:
    """Everything is behind the balloon: the node is to get ready, where it can, and then the hardware goes."""
    begun = _begun(scene, status, "Preparing" if scene.node.is_native else "Unplugging", _negative(less), now)
    if not any(less.values()):
        return HardwarePlan(status=_gone(begun), actions=_calm(scene))
    if begun.phase == "Unplugging":
        return HardwarePlan(status=begun, deed=_deed(scene, begun))
    left = sizes.less(scene.node.capacity, {CPU: less[CPU] * 1000, MEMORY: less[MEMORY]})
    ask = {names.DESIRED_CAPACITY: decode.to_json(sizes.listed(left)).decode(), names.UNPLUG_READY: None}
    return HardwarePlan(status=begun, actions=(_annotate(scene, ask),), wake_at=now + scene.settings.prepare_s)


def _gone(status: MachineStatus) -> MachineStatus:
    """What can go has gone; what stays is told."""
    return _phase(status, "Refused", f"{status.kept}: {_FENCED}") if status.kept else _phase(status, "Idle", "")


def _removable(scene: Scene, base: Base, turn: Turn) -> dict[str, int]:
    """Whole CPUs and blocks behind the fence: Auto takes what this wish added to it, Hardware all there is."""
    behind = sizes.less(scene.allocated, sizes.FLOOR)
    if scene.size.spec.via == "Auto":
        added = sizes.less(sizes.of(base.balloon), sizes.of(base.before))
        behind = sizes.smallest(behind, added)
    granted = {r for r, record in turn.progress.items() if record.result == "Granted"}
    asked = granted & set(base.target.effective or ())
    firm = {r: max(0, behind[r]) + _spare(scene, r) if r in asked else 0 for r in behind}
    return {CPU: firm[CPU] // 1000, MEMORY: _blocks(scene, firm[MEMORY])}


def _spare(scene: Scene, resource: str) -> int:
    """The floor that the balloon keeps is no reason to keep a whole CPU, if nobody needs that little bit."""
    return sizes.FLOOR[resource] if scene.headroom[resource] >= sizes.FLOOR[resource] else 0


def _plugging(scene: Scene, base: Base, status: MachineStatus, now: float) -> HardwarePlan:
    machine = scene.machine
    if machine is None or machine.is_busy:
        return HardwarePlan(status=status)
    if _has(scene, status):
        until = age.parse(status.since).timestamp() + scene.settings.prepare_s
        if any(wanted.shortfall(scene, base).values()) and now < until:
            return HardwarePlan(status=_phase(status, "Plugging", _UNSEEN), wake_at=until)
        return HardwarePlan(status=_phase(status, "Idle", ""))
    if machine.refusal:
        return HardwarePlan(status=_phase(status, "Refused", machine.refusal))
    return HardwarePlan(status=status, deed=_deed(scene, status))


def _preparing(scene: Scene, status: MachineStatus, now: float) -> HardwarePlan:
    until = age.parse(status.since).timestamp() + scene.settings.prepare_s
    notes = scene.node.annotations
    if names.UNPLUG_READY in notes and names.DESIRED_CAPACITY in notes:
        begun = _phase(status, "Unplugging", "")
        return HardwarePlan(status=begun, deed=_deed(scene, begun))
    heard = until - scene.settings.prepare_s + _HEARD_S
    if now < heard or (now < until and not scene.node.unplug_refused):
        return HardwarePlan(status=status, wake_at=heard if now < heard else until)
    why = scene.node.unplug_refused or f"the node was not ready for it within {scene.settings.prepare_s:g} s"
    cpus = _both(status)
    if cpus:
        # Most often it is memory that cannot go; that shall not hold up the CPUs.
        return _fenced(scene, msgspec.structs.replace(status, kept=why), {CPU: cpus, MEMORY: 0}, now)
    text = f"{status.kept or why}: {_FENCED}"
    return HardwarePlan(status=_phase(status, "Refused", text), actions=_calm(scene))


def _both(status: MachineStatus) -> int:
    """How many CPUs shall go, if memory shall too."""
    less = sizes.less(sizes.of(status.actual), sizes.of(status.wanted))
    return less[CPU] // 1000 if less[MEMORY] > 0 else 0


def _unplugging(scene: Scene, status: MachineStatus) -> HardwarePlan:
    machine = scene.machine
    if machine is None or machine.is_busy:
        return HardwarePlan(status=status)
    if _is_rid(scene, status):
        return HardwarePlan(status=_gone(status), actions=_calm(scene))
    if machine.refusal:
        text = f"{machine.refusal}: {_FENCED}"
        return HardwarePlan(status=_phase(status, "Refused", text), actions=_calm(scene))
    return HardwarePlan(status=status, deed=_deed(scene, status))


def _calm(scene: Scene) -> tuple[ApiAction, ...]:
    """The node need not be ready for anything any more: it publishes what it really has."""
    if names.DESIRED_CAPACITY not in scene.node.annotations or not scene.has_machine:
        return ()
    return (_annotate(scene, {names.DESIRED_CAPACITY: None}),)


def _annotate(scene: Scene, notes: dict[str, str | None]) -> PatchObject:
    body = {"metadata": {"annotations": notes}}
    return PatchObject(ref=NODES, name=scene.node.name, patch=body, on_behalf_of=scene.node.name)


def _begun(scene: Scene, status: MachineStatus, phase: Phase, change: dict[str, int], now: float) -> MachineStatus:
    machine = scene.machine
    cpus, memory = (machine.cpus, machine.memory) if machine else (0, 0)
    total = {CPU: (cpus + change[CPU]) * 1000, MEMORY: memory + change[MEMORY]}
    begun = msgspec.structs.replace(status, wanted=sizes.listed(total), since=age.format_micro(now))
    return _phase(begun, phase, f"machine to {' and '.join(sizes.text(r, total[r]) for r in sizes.RESOURCES)}")


def _phase(status: MachineStatus, phase: Phase, message: str) -> MachineStatus:
    return msgspec.structs.replace(status, phase=phase, message=message)


def _measured(scene: Scene, status: MachineStatus) -> MachineStatus:
    machine = scene.machine
    if machine is None:
        return status
    return msgspec.structs.replace(status, actual=sizes.listed({CPU: machine.cpus * 1000, MEMORY: machine.memory}))


def _has(scene: Scene, status: MachineStatus) -> bool:
    goal, real = sizes.of(status.wanted), sizes.of(_measured(scene, status).actual)
    return all(real[r] >= goal[r] for r in sizes.RESOURCES)


def _is_rid(scene: Scene, status: MachineStatus) -> bool:
    goal, real = sizes.of(status.wanted), sizes.of(_measured(scene, status).actual)
    return all(real[r] <= goal[r] for r in sizes.RESOURCES)


def _deed(scene: Scene, status: MachineStatus | None) -> Deed | None:
    if scene.machine is not None and scene.machine.is_busy:
        return None
    qmp = scene.size.spec.machine.qmp if scene.size.spec.machine else ""
    goal = sizes.of(status.wanted) if status else dict(sizes.NOTHING)
    return Deed(scene.node.name, qmp, goal[CPU] // 1000, goal[MEMORY])


def _negative(amounts: dict[str, int]) -> dict[str, int]:
    return {r: -amount for r, amount in amounts.items()}


def _blocks(scene: Scene, memory: int) -> int:
    return memory // scene.settings.memory_block * scene.settings.memory_block
