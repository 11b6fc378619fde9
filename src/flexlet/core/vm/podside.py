"""What size the pod is to have next (vm-resize.md §5): up before the guest grows, down after it has shrunk.

CPU and memory go separately, because a resize is granted as a whole or not at all; what a vCPU costs in memory
goes with the CPU. No step goes up in one resource and down in the other.
"""

from typing import Final, Literal

import msgspec

from flexlet.api.units import MIB
from flexlet.core.resources.names import CPU, MEMORY
from flexlet.core.vm import aim, amounts, orders
from flexlet.core.vm.amounts import Sizes
from flexlet.core.vm.objects import Resize
from flexlet.core.vm.podsize import Need
from flexlet.core.vm.scene import Scene
from flexlet.core.vm.sights import LauncherPod

Stage = Literal["grow", "withdraw", "shrink"]
_OVER: Final = frozenset({"Partial", "Failed"})


class Desire(msgspec.Struct, frozen=True):
    """The size that the pod's spec shall have, for the sake of one resource."""

    need: Need
    resource: str
    stage: Stage


def desire(scene: Scene, resize: Resize, now: float) -> Desire | None:
    """What the pod is to have next, None if it is as it should be."""
    pod = scene.pod
    if pod is None or scene.report is None:
        return None
    goal, reach = aim.aim(resize), scene.reach
    vcpus, memory = max(goal.vcpus, reach.vcpus), max(goal.memory, reach.memory)
    first = scene.need(Sizes(vcpus, reach.memory))
    if not pod.grants(first):
        resource = CPU if goal.vcpus > scene.guest.vcpus else MEMORY
        return Desire(amounts.largest(pod.promised, first), resource, "grow")
    second = scene.need(Sizes(vcpus, memory))
    if not orders.is_cpu_first(scene, resize) and not pod.grants(second):
        return Desire(amounts.largest(pod.promised, second), MEMORY, "grow")
    wish = amounts.largest(pod.promised, second)
    if not amounts.covers(wish, pod.spec):
        return Desire(_smaller(wish, pod.spec), CPU if pod.spec.cpu_m > wish.cpu_m else MEMORY, "withdraw")
    return _shrink(scene, resize, pod, now)


def is_settled(scene: Scene, resize: Resize, now: float) -> bool:
    """Whether the guest has what it has, and will not have more in a moment."""
    report, heard, told = scene.report, scene.heard, scene.told
    if report is None or heard is None or told is None or not scene.is_answered:
        return False
    is_told = orders.intended(scene, resize) == Sizes(told.vcpus, told.memory)
    is_cpu = report.vcpus == told.vcpus or report.cpu.progress in _OVER
    is_memory = report.requested == told.memory or report.ram.progress in _OVER
    is_quiet = "Changing" not in {report.cpu.progress, report.ram.progress}
    return is_told and is_cpu and is_memory and is_quiet and now >= settled_at(scene)


def settled_at(scene: Scene) -> float:
    """When a guest that started anew has had the time to take its memory again."""
    heard = scene.heard
    return heard.reset_at + scene.settings.settle_s if heard and heard.reset_at else 0.0


def is_too_large(scene: Scene, resize: Resize) -> bool:
    """Whether the pod has more than the guest has and is still to have: it shrinks once the guest is settled."""
    pod = scene.pod
    if pod is None:
        return False
    last = _smaller(_kept(scene, resize), pod.spec)
    return not (amounts.covers(last, pod.spec) and amounts.covers(last, pod.granted))


def _shrink(scene: Scene, resize: Resize, pod: LauncherPod, now: float) -> Desire | None:
    if not is_too_large(scene, resize) or not is_settled(scene, resize, now):
        return None
    last = _smaller(_kept(scene, resize), pod.spec)
    if _is_cpu_larger(pod.spec, last):
        return Desire(_carrying(scene, pod.spec, last), CPU, "shrink")
    if pod.spec != last and not pod.is_actuated and not pod.pending:
        return Desire(pod.spec, CPU, "shrink")
    return Desire(last, MEMORY, "shrink")


def _kept(scene: Scene, resize: Resize) -> Need:
    """What the guest has, and what it is still to have: that would be asked for again at once."""
    goal, guest, reach = aim.aim(resize), scene.guest, scene.reach
    return scene.need(Sizes(max(goal.vcpus, guest.vcpus), max(goal.memory, reach.memory)))


def _is_cpu_larger(spec: Need, last: Need) -> bool:
    return not amounts.covers(
        Need(last.cpu_m, spec.memory, last.cpu_limit_m), Need(spec.cpu_m, 0, spec.cpu_limit_m)
    )


def _carrying(scene: Scene, spec: Need, last: Need) -> Need:
    """Less CPU, and less memory by what the vCPUs cost that are gone."""
    guest = scene.guest
    stands_for = max(
        (
            v
            for v in range(guest.vcpus, _most(scene) + 1)
            if scene.need(Sizes(v, guest.memory)).cpu_m <= spec.cpu_m
        ),
        default=guest.vcpus,
    )
    cost = scene.need(Sizes(stands_for, guest.memory)).memory - scene.need(guest).memory
    memory = max(last.memory, spec.memory - cost)
    if memory - last.memory < MIB:
        return last
    limit = spec.memory_limit
    if limit is not None and last.memory_limit is not None:
        limit = max(last.memory_limit, limit - cost)
    return Need(last.cpu_m, memory, last.cpu_limit_m, limit)


def _most(scene: Scene) -> int:
    machine = scene.machine
    return machine.max_sockets * machine.cores * machine.threads if machine else scene.wanted.max_vcpus


def _smaller(one: Need, other: Need) -> Need:
    """The smaller of each."""
    return Need(
        min(one.cpu_m, other.cpu_m),
        min(one.memory, other.memory),
        _lower(one.cpu_limit_m, other.cpu_limit_m),
        _lower(one.memory_limit, other.memory_limit),
    )


def _lower(one: int | None, other: int | None) -> int | None:
    known = [limit for limit in (one, other) if limit is not None]
    return min(known, default=None)
