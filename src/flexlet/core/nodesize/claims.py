"""The conditions of a NodeSize: what is claimed about a node after a look at it."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from flexlet.api import age
from flexlet.api.meta import Condition
from flexlet.core.nodesize import sizes
from flexlet.core.nodesize.objects import Base, Enforced, MachineStatus, Progress
from flexlet.core.nodesize.scene import Scene
from flexlet.core.nodesize.sizes import Amounts

_UNDER_WAY: Final = frozenset({"Pending", "Deferred"})
_BUSY: Final = frozenset({"Plugging", "Preparing", "Unplugging"})


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What a look at a node came to."""

    base: Base
    wanted: Amounts
    progress: Mapping[str, Progress] = {}
    short: Amounts = msgspec.field(default_factory=sizes.NOTHING.copy)
    """How much the machine lacks of the effective size."""
    missing: str = ""
    """Why there is no balloon."""
    drifted: frozenset[str] = frozenset()
    problem: tuple[str, str] = ("", "")
    """Reason and message, if nothing can be done for this node."""
    machine: MachineStatus | None = None
    enforced: Enforced | None = None


class Claim(msgspec.Struct, frozen=True):
    """A condition to be."""

    type: str
    status: bool
    reason: str
    message: str = ""


def conditions(scene: Scene, found: Findings, progress: tuple[Progress, ...], now: float) -> tuple[Condition, ...]:
    """All of them, true or not; each keeps the time since which it is so."""
    resizing = _resizing(found, progress, scene)
    lacking = _insufficient(scene, found, progress)
    over = any(scene.workload[r] > scene.effective[r] for r in sizes.RESOURCES)
    verdict = scene.verdict
    degraded = Claim("ModeDegraded", bool(verdict.reason), verdict.reason or "AsConfigured", verdict.message)
    gone = Claim("BalloonMissing", bool(found.missing), "Missing" if found.missing else "Present", found.missing)
    claims = [
        resizing,
        lacking,
        gone,
        Claim(
            "Drifted",
            bool(found.drifted),
            "ResizedByOthers" if found.drifted else "AsRequested",
            f"{', '.join(sorted(found.drifted))} was changed by somebody else" if found.drifted else "",
        ),
        Claim("Overcommitted", over, "WorkloadExceedsSize" if over else "Fits", _over(scene) if over else ""),
        degraded,
    ]
    claims.insert(0, _ready(found, gone, resizing, lacking))
    known = {condition.type: condition for condition in scene.size.status.conditions}
    return tuple(_condition(claim, known.get(claim.type), scene, now) for claim in claims)


def _ready(found: Findings, gone: Claim, resizing: Claim, lacking: Claim) -> Claim:
    reason, message = found.problem
    if reason:
        return Claim("Ready", False, reason, message)
    for claim in (gone, resizing, lacking):
        if claim.status:
            return Claim("Ready", False, claim.type if claim is not lacking else claim.reason, claim.message)
    return Claim("Ready", True, "AsWanted", _unwilling(found))


def _resizing(found: Findings, progress: Iterable[Progress], scene: Scene) -> Claim:
    machine = found.machine
    if machine is not None and machine.phase in _BUSY:
        return Claim("Resizing", True, machine.phase, machine.message)
    waiting = [r for r in progress if r.result in _UNDER_WAY]
    if waiting:
        reason = "Inflating" if any(r.direction == "Inflate" for r in waiting) else "Deflating"
        wishes = ", ".join(f"{r.resource} {r.requested}" for r in waiting)
        stuck = next((f"; its pod does not start: {b.stuck}" for b in scene.balloons if b.stuck), "")
        return Claim("Resizing", True, reason, f"balloon to {wishes}{stuck}")
    if any(not b.is_settled for b in scene.balloons):
        return Claim("Resizing", True, "Settling", "the node has yet to take what the balloon asks for")
    return Claim("Resizing", False, "Settled")


def _insufficient(scene: Scene, found: Findings, progress: Iterable[Progress]) -> Claim:
    bad = [r for r in progress if r.result in {"Deferred", "Refused", "Partial"}]
    # A machine that keeps hardware behind the balloon has the size that was wished, unless hardware was the wish.
    is_lacking = any(found.short.values()) or scene.size.spec.via == "Hardware"
    machine = _unwilling(found) if is_lacking else ""
    texts = [f"{r.resource}: {r.message}" for r in bad]
    texts += [
        f"{r}: the machine has {sizes.quantity(r, amount - sizes.FLOOR[r])} too little"
        for r, amount in found.short.items()
        if amount
    ]
    texts += [f"{r.resource}: lost, and there is no room for it now" for r in _owed(scene, progress, found)]
    texts += [machine] if machine else []
    if not texts:
        return Claim("Insufficient", False, "Sufficient")
    reasons = {r.result for r in bad}
    reason = "Deferred" if "Deferred" in reasons else "Refused" if "Refused" in reasons else "PartiallyGranted"
    return Claim("Insufficient", True, reason, "; ".join(texts))


def _unwilling(found: Findings) -> str:
    return found.machine.message if found.machine and found.machine.phase == "Refused" else ""


def _owed(scene: Scene, progress: Iterable[Progress], found: Findings) -> list[Progress]:
    if not scene.balloons or found.drifted:
        return []
    allocated = scene.allocated
    return [r for r in progress if r.result == "Granted" and allocated[r.resource] < found.wanted[r.resource]]


def _over(scene: Scene) -> str:
    parts = [
        f"pods ask for {sizes.text(r, scene.workload[r])} of {sizes.quantity(r, max(0, scene.effective[r]))}"
        for r in sizes.RESOURCES
        if scene.workload[r] > scene.effective[r]
    ]
    return "; ".join(parts)


def _condition(claim: Claim, before: Condition | None, scene: Scene, now: float) -> Condition:
    value = "True" if claim.status else "False"
    same = before is not None and before.status == value
    return Condition(
        type=claim.type,
        status=value,
        reason=claim.reason,
        message=claim.message,
        last_transition_time=before.last_transition_time if same and before else age.format_seconds(now),
        observed_generation=scene.size.metadata.generation,
    )
