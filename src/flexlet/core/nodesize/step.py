"""One look at one node: everything that is to be done for it now, and what its NodeSize says afterwards."""

from typing import Any, Final

import msgspec

from flexlet.api import decode
from flexlet.core.actions import ApiAction, CreateObject, PatchObject
from flexlet.core.nodesize import (
    deeds,
    disabling,
    drift,
    hardware,
    manifest,
    names,
    report,
    shapes,
    sizes,
    surplus,
    taints,
    wanted,
)
from flexlet.core.nodesize.claims import Findings
from flexlet.core.nodesize.deeds import Outcome
from flexlet.core.nodesize.objects import Base, Direction, Enforced, NodeSizeStatus, Progress
from flexlet.core.nodesize.resizing import Resizing, Turn
from flexlet.core.nodesize.scene import Scene
from flexlet.core.nodesize.sights import Balloon
from flexlet.core.nodesize.sizes import Amounts
from flexlet.core.refs import PODS

_FULL: Final = "the node is full: there is no room even for a balloon at its floor"


def look(scene: Scene, now: float) -> Outcome:
    """What one node needs."""
    if scene.size.metadata.deletion_timestamp is not None:
        return disabling.look(scene, now)
    base = wanted.base(scene)
    goal = wanted.wanted(scene, base)
    problem = _problem(scene)
    if problem[0]:
        return deeds.said(scene, Findings(base=base, wanted=goal, problem=problem), now)
    if scene.active is None:
        return _make(scene, base, goal, now)
    better = shapes.replacement(scene.active, scene.policies, scene.node.version)
    if better is not None:
        return _reshape(scene, base, goal, better, now)
    return _resize(scene, base, goal, now)


def _problem(scene: Scene) -> tuple[str, str]:
    """Why nothing can be done for a node."""
    verdict, active = scene.verdict, scene.active
    if verdict.mode == "unsupported":
        return verdict.reason, verdict.message
    if active is not None and active.owner and active.owner != scene.settings.owner:
        return "OwnedByAnother", f"pod {active.name} belongs to {active.owner}: annotation {names.OWNER}"
    return "", ""


def remains(scene: Scene, balloon: Balloon) -> ApiAction:
    """A balloon that ended (evicted, rejected) makes way for the next one."""
    return deeds.delete(scene, balloon)


# ---- no balloon


def _make(scene: Scene, base: Base, goal: Amounts, now: float) -> Outcome:
    """A balloon for a node without one: small when it is new, else as big as it was, if that still fits."""
    amounts = _first_size(scene, goal)
    is_back = bool(scene.size.status.pod)
    fits = all(scene.headroom[r] >= sizes.FLOOR[r] for r in sizes.RESOURCES)
    why = scene.trouble or _why(is_back=is_back, fits=fits)
    progress = {r: _made(scene, r, goal[r], amounts[r], fits=fits) for r in sizes.RESOURCES}
    found = Findings(base=base, wanted=goal, missing=why, progress=progress)
    actions: list[ApiAction] = []
    if scene.settings.management == "PerNode" and fits:
        body = manifest.pod(
            scene.node,
            scene.settings,
            shape(scene),
            scene.verdict.priority_class,
            amounts,
            goal,
        )
        text = f"Created pod {{name}} with {_text(amounts)}"
        event = report.event(scene.size, "Warning", "BalloonRecreated", text) if is_back else None
        node = scene.node.name
        actions.append(
            CreateObject(ref=PODS, namespace=scene.settings.namespace, body=body, on_behalf_of=node, event=event)
        )
    elif scene.settings.management == "DaemonSet":
        actions += deeds.enrol(scene, shape(scene))
    mark = taints.patch(scene, _kept(scene) | ({names.MISSING_TAINT} if is_back else set()), now)
    actions += [mark] if mark else []
    return Outcome(actions=tuple(actions), status=report.status(scene, found, now))


def _why(*, is_back: bool, fits: bool) -> str:
    if not fits:
        return _FULL
    return "the balloon is gone and comes back" if is_back else "the balloon is being made"


def shape(scene: Scene) -> str:
    """The shape of a new balloon; one that had to make way told what its successor should be."""
    chosen = shapes.choose(scene.policies, scene.node.version)
    return scene.size.status.shape or chosen if chosen == "G" else chosen


def _first_size(scene: Scene, goal: Amounts) -> Amounts:
    """Nobody may be hurt by a balloon that appears: it takes what is free, and less than that.

    It begins large enough to start, even if less is wanted: the rest is given back when it runs. One without a
    target nobody would make smaller.
    """
    if scene.verdict.mode == "stock-critical" or scene.settings.management == "DaemonSet":
        return dict(sizes.FLOOR)
    free = sizes.less(scene.allocatable, scene.workload, scene.settings.critical_reserve)
    spare = sizes.less(scene.allocatable, sizes.of(scene.size.spec.min_effective))
    is_new = not scene.size.status.pod and not scene.node.has_taint(names.PENDING_TAINT)
    least = sizes.START if wanted.is_managed(scene) else sizes.FLOOR
    most = least if is_new else sizes.largest(goal, least)
    return sizes.largest(sizes.smallest(most, free, spare), sizes.FLOOR)


def _made(scene: Scene, resource: str, goal: int, size: int, *, fits: bool) -> Progress:
    """The record of a new balloon: one that had its size is owed it, one that never had begins."""
    known = scene.record(resource)
    requested = sizes.quantity(resource, size)
    if known is not None and not fits and known.result in {"Pending", "Deferred"}:
        return msgspec.structs.replace(known, requested=requested, result="Refused", message=_FULL)
    if known is not None:
        return msgspec.structs.replace(known, requested=requested, asked_at="")
    wish = sizes.quantity(resource, goal)
    direction: Direction = "Inflate" if goal > size else "Deflate"
    return Progress(resource=resource, wanted=wish, requested=requested, direction=direction, result="Pending")


def _reshape(scene: Scene, base: Base, goal: Amounts, better: str, now: float) -> Outcome:
    """A shape that cannot be resized here: the pod makes way for another, behind a taint."""
    active = scene.active
    found = Findings(base=base, wanted=goal, missing="the balloon is replaced: its shape cannot be resized here")
    status = msgspec.structs.replace(report.status(scene, found, now), shape=better)
    mark = taints.patch(scene, _kept(scene) | {names.MISSING_TAINT}, now)
    if mark is not None or active is None or scene.size.status.shape != better:
        return Outcome(actions=(mark,) if mark else (), status=status)
    return Outcome(actions=(deeds.delete(scene, active),), status=status)


# ---- a balloon


def _resize(scene: Scene, base: Base, goal: Amounts, now: float) -> Outcome:
    shares = surplus.shares(scene.balloons, goal)
    turn, drifted, until = _turn(scene, base, goal, shares, now)
    plan = hardware.plan(scene, base, turn, now)
    enforced = _enforced(scene, goal)
    found = Findings(
        base=base,
        wanted=goal,
        progress=turn.progress,
        short=wanted.shortfall(scene, base),
        drifted=frozenset(drifted),
        machine=plan.status,
        enforced=enforced,
    )
    notes = _notes(scene, goal, enforced)
    must_raise = notes is not None and _is_raise(scene, enforced)
    actions: list[ApiAction] = [*plan.actions]
    if notes is not None and (must_raise or not turn.sizes):
        actions.append(notes)
    new = {} if must_raise else turn.sizes
    resizes = [deeds.resize(scene, b, new[b.uid]) for b in scene.balloons if b.uid in new]
    actions += [deeds.delete(scene, b) for b in surplus.spent(scene.balloons)]
    status = report.status(scene, found, now)
    mark = taints.patch(scene, _marks(scene, status), now)
    actions += [mark] if mark else []
    alarms = [moment for moment in (turn.wake_at, until, plan.wake_at) if moment is not None]
    return Outcome(
        actions=tuple(actions),
        resizes=tuple(resizes),
        status=status,
        wake_at=min(alarms, default=None),
        deed=plan.deed,
    )


def _turn(
    scene: Scene, base: Base, goal: Amounts, shares: dict[str, Amounts], now: float
) -> tuple[Turn, set[str], float | None]:
    """The next resizes; somebody else's size is left alone for a while."""
    active = scene.active
    if active is None or not wanted.is_managed(scene):
        return Turn(), set(), None
    drifted = drift.found(scene, shares[active.uid])
    until = drift.until(scene, now) if drifted else None
    if until is not None and now >= until:
        drifted, until = set(), None
    turn = Resizing(scene, goal, shares, wanted.policy(scene, base), now, drifted).turn()
    return turn, drifted, until


def _marks(scene: Scene, status: NodeSizeStatus) -> set[str]:
    """Our taints that the node still needs: until its balloon is there, and while pods ask for too much."""
    is_ready = all(b.is_settled for b in scene.balloons) and not any(
        record.result in {"Pending", "Deferred"} for record in status.progress
    )
    is_over = any(scene.workload[r] > scene.effective[r] for r in sizes.RESOURCES)
    is_marked = scene.node.has_taint(names.MISSING_TAINT) and (is_over or not is_ready)
    marks = {names.MISSING_TAINT} if is_marked else set()
    if scene.settings.taints_while_resizing and not is_ready:
        marks.add(names.RESIZING_TAINT)
    return marks | (set() if is_ready else _kept(scene))


def _kept(scene: Scene) -> set[str]:
    """The taint that the node registered with, if it has it still."""
    return {names.PENDING_TAINT} if scene.node.has_taint(names.PENDING_TAINT) else set()


# ---- what the balloon says to the node's agent


def _enforced(scene: Scene, goal: Amounts) -> Enforced | None:
    """What the agent shall hold pods to: the larger of what may be used now and soon."""
    mode = scene.size.spec.enforce or "None"
    if mode == "None":
        return None
    allocated = scene.allocated
    least = sizes.smallest(goal, allocated) if wanted.is_managed(scene) else allocated
    return Enforced(mode=mode, effective=sizes.listed(sizes.less(scene.allocatable, least)))


def _is_raise(scene: Scene, enforced: Enforced | None) -> bool:
    """Whether pods may use more from now on: that is said before the balloon gives it back."""
    before = scene.size.status.enforced
    if enforced is None or before is None:
        return False
    old, new = sizes.of(before.effective), sizes.of(enforced.effective)
    return any(new[r] > old[r] for r in sizes.RESOURCES)


def _notes(scene: Scene, goal: Amounts, enforced: Enforced | None) -> PatchObject | None:
    """The active balloon's annotations, if they say something else."""
    active = scene.active
    if active is None:
        return None
    texts: dict[str, Any] = {
        names.DESIRED: manifest.size_text(goal),
        names.OWNER: scene.settings.owner,
        names.ENFORCE: decode.to_json(enforced).decode() if enforced else None,
    }
    differing = {key: text for key, text in texts.items() if active.annotations.get(key) != text}
    if not differing:
        return None
    return PatchObject(
        ref=PODS,
        namespace=active.namespace,
        name=active.name,
        patch={"metadata": {"annotations": differing, "uid": active.uid}},
        on_behalf_of=scene.node.name,
    )


def _text(amounts: Amounts) -> str:
    return " and ".join(sizes.text(r, amounts[r]) for r in sizes.RESOURCES)
