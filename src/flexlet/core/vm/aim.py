"""What a running guest is to have: what is wanted, as far as it can be had without a restart, less setbacks."""

from typing import Final

import msgspec

from flexlet.api import age
from flexlet.api.quantity import Quantity
from flexlet.core.resources.names import CPU, MEMORY
from flexlet.core.vm.amounts import Sizes
from flexlet.core.vm.guest import Machine
from flexlet.core.vm.objects import AT_REST, Direction, GuestAmounts, Resize, Setback
from flexlet.core.vm.scene import Scene

RESOURCES: Final = (CPU, MEMORY)
LOOKS_S: Final = (60.0, 300.0, 900.0)
"""When something that failed is tried again."""
PARTIAL: Final = "UnplugPartial"
NOT_ONLINED: Final = "GuestNotOnlined"


def target(scene: Scene) -> Sizes:
    """T: what is wanted; a resource that can only change at the next start stays as it was last asked for."""
    machine, last = scene.machine, current(scene)
    if machine is None or scene.complaints or scene.settings.rollout_strategy == "Stage":
        return last
    cpu = scene.wanted.vcpus if _fits_cpu(scene, machine) else last.vcpus
    memory = scene.wanted.memory if _fits_memory(scene, machine) else last.memory
    return Sizes(cpu, memory)


def current(scene: Scene) -> Sizes:
    """What the guest was last meant to have: the last target of this pod, or what it was started with."""
    known, machine, pod = scene.vm.status.resize, scene.machine, scene.vm.status.pod
    is_same = pod is not None and scene.pod is not None and pod.uid == scene.pod.uid
    if known is not None and known.target is not None and is_same:
        return sizes_of(known.target)
    if machine is None:
        return Sizes(scene.wanted.vcpus, scene.wanted.memory)
    return booted(machine)


def booted(machine: Machine) -> Sizes:
    """What a machine was started with."""
    return Sizes(machine.sockets * machine.cores * machine.threads, machine.memory)


def _fits_cpu(scene: Scene, machine: Machine) -> bool:
    wish = scene.wanted
    is_shape = (wish.cores, wish.threads) == (machine.cores, machine.threads)
    return is_shape and 1 <= wish.sockets <= machine.max_sockets and wish.architecture != "arm64"


def _fits_memory(scene: Scene, machine: Machine) -> bool:
    wish = scene.wanted
    is_block = (wish.memory - machine.min_memory) % machine.block_size == 0
    return is_block and machine.min_memory <= wish.memory <= machine.max_memory


def resize(scene: Scene, now: float) -> Resize:
    """The resize that is under way: the known one, or a new one if the target is another (the last one wins)."""
    goal, known = target(scene), scene.vm.status.resize
    if known is not None and known.target is not None:
        is_same = (sizes_of(known.target), known.request) == (goal, scene.request)
        if is_same:
            return forgiven(scene, known)
    return _new(scene, goal, now)


def forgiven(scene: Scene, known: Resize) -> Resize:
    """Setbacks of another pod do not count for this one, nor those from before it was off."""
    before = scene.vm.status.pod
    if scene.pod is None or (before is not None and before.uid == scene.pod.uid):
        return known
    return msgspec.structs.replace(known, setbacks=(), remedy="", fallback="", deferred_at="", attempts=0)


def _new(scene: Scene, goal: Sizes, now: float) -> Resize:
    generation, request = scene.vm.metadata.generation, scene.request
    report, last = scene.report, scene.vm.status.resize
    start = Sizes(report.vcpus, max(report.memory, report.requested)) if report else current(scene)
    way = direction(start, goal)
    if last is not None and not way and last.phase not in {*AT_REST, "Failed"}:
        way = last.direction
    is_first = last is None and not way
    return Resize(
        id=f"g{generation}" + (f"-{request}" if request else ""),
        direction=way,
        target=amounts_of(goal),
        origin=amounts_of(start),
        request=request,
        started_at="" if is_first else age.format_micro(now),
    )


def direction(start: Sizes, goal: Sizes) -> Direction:
    """Which way it goes."""
    more = goal.vcpus > start.vcpus or goal.memory > start.memory
    less = goal.vcpus < start.vcpus or goal.memory < start.memory
    return "Mixed" if more and less else "Grow" if more else "Shrink" if less else ""


def aim(resize: Resize) -> Sizes:
    """What the guest is asked to have: the target, or where a setback holds a resource."""
    goal = sizes_of(resize.target) if resize.target else Sizes(0, 0)
    for setback in resize.setbacks:
        goal = goal.put(setback.resource, setback.held.value)
    return goal


def setback(resize: Resize, resource: str) -> Setback | None:
    """Why a resource is held."""
    return next((s for s in resize.setbacks if s.resource == resource), None)


def set_back(resize: Resize, resource: str, reason: str, message: str, held: int, now: float) -> Resize:
    """Hold a resource at an amount; how often the same was tried before is kept."""
    known = setback(resize, resource)
    looks = known.looks if known is not None and known.reason == reason else 0
    quantity = Quantity.of_milli(held * 1000) if resource == CPU else Quantity.of_bytes(held)
    new = Setback(
        resource=resource,
        reason=reason,
        message=message,
        held=quantity,
        since=age.format_micro(now),
        looks=looks,
    )
    rest = (s for s in resize.setbacks if s.resource != resource)
    return msgspec.structs.replace(
        resize, setbacks=tuple(sorted((*rest, new), key=lambda s: s.resource)), deferred_at="", attempts=0
    )


def lifted(resize: Resize, resource: str) -> Resize:
    """Go on with a resource."""
    rest = tuple(s for s in resize.setbacks if s.resource != resource)
    return msgspec.structs.replace(resize, setbacks=rest)


def looked(resize: Resize, setback: Setback, now: float) -> Resize:
    """Note that something held was looked at once more."""
    new = msgspec.structs.replace(setback, looks=setback.looks + 1, since=age.format_micro(now))
    return msgspec.structs.replace(
        resize, setbacks=tuple(new if s.resource == new.resource else s for s in resize.setbacks)
    )


def due(setback: Setback) -> float | None:
    """When to look at it again, None if it was looked at often enough."""
    if setback.looks >= len(LOOKS_S):
        return None
    return moment(setback.since) + LOOKS_S[setback.looks]


def moment(text: str) -> float:
    """Seconds since the epoch."""
    return age.parse_micro(text).timestamp() if text else 0.0


def sizes_of(amounts: GuestAmounts) -> Sizes:
    """As numbers."""
    return Sizes(amounts.vcpus, amounts.memory.value)


def amounts_of(size: Sizes) -> GuestAmounts:
    """As the status has it."""
    return GuestAmounts(vcpus=size.vcpus, memory=Quantity.of_bytes(size.memory))
