"""How big the balloons of a node shall be together.

A target is looked at against the machine of that time, once (`Base`). When the machine changes later, that decides
who sees it: with Expose a larger machine is for the workloads and a smaller one is paid for by the balloon; with
Hold the balloon takes both. Where the machine is resized by us, the effective size alone counts.
"""

from flexlet.core.nodesize import sizes
from flexlet.core.nodesize.objects import Base, OnInsufficient, Target
from flexlet.core.nodesize.scene import Scene
from flexlet.core.nodesize.sizes import Amounts


def base(scene: Scene) -> Base:
    """What the target came to when it was first seen."""
    target, known = scene.size.spec.target or Target(), scene.size.status.base
    if known is not None and (known.target, known.request) == (target, scene.request):
        return known
    before = sizes.largest(scene.allocated, sizes.FLOOR)
    if not scene.balloons and known is not None:
        before = sizes.of(known.balloon, sizes.FLOOR)
    return Base(
        target=target,
        request=scene.request,
        allocatable=sizes.listed(scene.allocatable),
        balloon=sizes.listed(_first(target, scene.allocatable, before)),
        before=sizes.listed(before),
        enabling=not scene.balloons and not scene.size.status.pod,
    )


def wanted(scene: Scene, start: Base) -> Amounts:
    """The sum of all balloons that is wanted now, never below the floor."""
    then, first = sizes.of(start.allocatable), sizes.of(start.balloon)
    if not is_managed(scene):
        last = sizes.of(scene.size.status.balloon.desired or start.balloon, sizes.FLOOR)
        return last if scene.active is None else sizes.total(b.spec for b in scene.balloons)
    spec, now = scene.size.spec, scene.allocatable
    result: Amounts = {}
    for r in sizes.RESOURCES:
        change = now[r] - then[r]
        if start.target.effective and r in start.target.effective and (has_hardware(scene) or _holds(scene)):
            result[r] = now[r] - sizes.of(start.target.effective)[r]
        elif spec.capacity_change == "Hold":
            result[r] = first[r] + change
        else:
            result[r] = first[r] + min(0, change)
    return sizes.largest(result, sizes.FLOOR)


def shortfall(scene: Scene, start: Base) -> Amounts:
    """By how much the machine is too small for the wanted effective size and a balloon at its floor."""
    asked = start.target.effective or {}
    missing = sizes.less(sizes.of(asked), sizes.less(scene.allocatable, sizes.FLOOR))
    return {r: missing[r] if r in asked and missing[r] > sizes.FLOOR[r] else 0 for r in sizes.RESOURCES}


def policy(scene: Scene, start: Base) -> OnInsufficient:
    """What becomes of an inflate that does not fit; who enables a node takes what can be had."""
    return scene.size.spec.on_insufficient or ("Partial" if start.enabling else "Fail")


def is_managed(scene: Scene) -> bool:
    """Whether there is a target; else the balloon's own spec is the truth."""
    target = scene.size.spec.target
    return target is not None and bool(target.effective or target.balloon)


def has_hardware(scene: Scene) -> bool:
    """Whether the machine itself follows."""
    return scene.has_machine and scene.size.spec.via in {"Hardware", "Auto"}


def _holds(scene: Scene) -> bool:
    return scene.size.spec.capacity_change == "Hold"


def _first(target: Target, allocatable: Amounts, before: Amounts) -> Amounts:
    if target.balloon:
        return sizes.largest(sizes.of(target.balloon, before), sizes.FLOOR)
    if target.effective:
        rest = sizes.less(allocatable, before)
        return sizes.largest(sizes.less(allocatable, sizes.of(target.effective, rest)), sizes.FLOOR)
    return before
