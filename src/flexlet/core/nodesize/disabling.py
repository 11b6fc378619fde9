"""A NodeSize that goes away: its balloon gives back in steps and is deleted (balloon.md §5.3).

Not while the capacity behind the balloon may be missing: as long as a limit is enforced or hardware is being taken
out, the finalizer holds the object, and the status says what to do.
"""

import msgspec

from flexlet.core.nodesize import absence, deeds, names, sizes, surplus, taints, wanted
from flexlet.core.nodesize.claims import Findings
from flexlet.core.nodesize.deeds import Outcome
from flexlet.core.nodesize.resizing import Resizing
from flexlet.core.nodesize.scene import Scene
from flexlet.core.nodesize.sizes import Amounts


def look(scene: Scene, now: float) -> Outcome:
    """The next step towards nothing."""
    base = wanted.base(scene)
    goal = _next(scene)
    held = _held(scene)
    if held[0]:
        return deeds.said(scene, Findings(base=base, wanted=goal, problem=held), now)
    if not scene.balloons:
        return _done(scene, now)
    turn = Resizing(scene, goal, surplus.shares(scene.balloons, goal), "Fail", now).turn()
    text = "the balloon gives back what it holds"
    found = Findings(base=base, wanted=goal, progress=turn.progress, problem=("Disabling", text))
    at_floor = all(b.allocated is None or b.spec == b.allocated == sizes.FLOOR for b in scene.balloons)
    gone = [deeds.dismiss(scene, b) for b in scene.balloons] if at_floor else []
    resizes = [deeds.resize(scene, b, turn.sizes[b.uid]) for b in scene.balloons if b.uid in turn.sizes]
    return msgspec.structs.replace(deeds.said(scene, found, now), actions=tuple(gone), resizes=tuple(resizes))


def _held(scene: Scene) -> tuple[str, str]:
    mode = scene.size.spec.enforce or "None"
    if mode != "None" and scene.balloons:
        return "EnforceActive", f"enforce is {mode}: set spec.enforce to None first"
    if names.DESIRED_CAPACITY in scene.node.annotations:
        return "FenceActive", "hardware is being taken out: wait for it, or give the node its size back first"
    return "", ""


def _next(scene: Scene) -> Amounts:
    """Half of what there is, at least a good step."""
    now = sizes.total(sizes.smallest(b.spec, b.allocated or b.spec) for b in scene.balloons)
    if any(not b.is_settled for b in scene.balloons):
        return sizes.largest(now, sizes.FLOOR)
    return {r: max(sizes.FLOOR[r], min(now[r] // 2, now[r] - sizes.STEP[r])) for r in sizes.RESOURCES}


def _done(scene: Scene, now: float) -> Outcome:
    """The taints, then the finalizer, which is the end."""
    mark = taints.patch(scene, (), now)
    return Outcome(actions=(mark or absence.release(scene.size),), status=scene.size.status)
