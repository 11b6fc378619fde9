"""The conditions of a FlexVM: what is claimed about a machine after a look at it.

Ready, Resizable, ResizeInProgress and PartiallyResized are always there; as in KubeVirt, RestartRequired is there
only when it is True, and HotVCPUChange and HotMemoryChange while a change runs (True) or when it failed (False).
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from flexlet.api import age
from flexlet.api.meta import Condition
from flexlet.core.resources.names import CPU, MEMORY
from flexlet.core.vm import aim, devices, step, validation
from flexlet.core.vm.objects import Resize
from flexlet.core.vm.running import Will
from flexlet.core.vm.scene import Scene

BUSY: Final = frozenset({"PodGrowing", "PodDeferred", "GuestChanging", "PodShrinking", "Migrating"})
_HOT: Final = {CPU: "HotVCPUChange", MEMORY: "HotMemoryChange"}
_RESTART: Final = "Restart"


class Claim(msgspec.Struct, frozen=True):
    """A condition to be."""

    type: str
    status: bool
    reason: str = ""
    message: str = ""


def conditions(scene: Scene, resize: Resize | None, will: Will, now: float) -> tuple[Condition, ...]:
    """All of them; each keeps the time since which it is so."""
    claims = [_ready(scene, will), _resizable(scene), _in_progress(scene, resize), *_hot(scene, resize)]
    claims += [*_restart(scene, resize), _partial(resize)]
    known = {condition.type: condition for condition in scene.vm.status.conditions}
    return tuple(_condition(claim, known.get(claim.type), scene, now) for claim in claims)


def _ready(scene: Scene, will: Will) -> Claim:
    pod = scene.pod
    if scene.report is not None:
        is_running = scene.report.run_state == "Running"
        return Claim("Ready", is_running, "MachineRunning" if is_running else "MachinePaused")
    if pod is None and scene.complaints:
        return Claim("Ready", False, "InvalidSpec", "; ".join(scene.complaints))
    if pod is None:
        return Claim("Ready", False, "PodNotExists", scene.trouble or _why_not(scene, will))
    if pod.stuck:
        return Claim("Ready", False, "PodNotReady", pod.stuck)
    if pod.phase == "Running" and scene.heard is None:
        return Claim("Ready", False, "NoWordFromLauncher", f"nobody answers in pod {pod.name}")
    return Claim("Ready", False, "GuestNotRunning", "the machine is starting")


def _why_not(scene: Scene, will: Will) -> str:
    over = [p for p in scene.pods if p.is_over]
    text = f"pod {over[-1].name} has ended: {over[-1].end_message}".rstrip(": ") if over else ""
    if will.deed == "wait" and will.wake_at is not None:
        return f"{text}; it is started again at {age.format_seconds(will.wake_at)}"
    return text or ("the machine is being started" if will.deed == "create" else "the machine is off")


def _resizable(scene: Scene) -> Claim:
    reasons = validation.not_resizable(scene.vm, scene.machine)
    for resource, (reason, message) in reasons.items():
        return Claim("Resizable", False, reason, f"{resource}: {message}")
    return Claim("Resizable", True, "InPlace")


def _in_progress(scene: Scene, resize: Resize | None) -> Claim:
    if resize is not None and resize.phase in BUSY:
        return Claim("ResizeInProgress", True, resize.phase, resize.message)
    if scene.complaints and scene.pod is not None:
        return Claim("ResizeInProgress", False, "InvalidSpec", "; ".join(scene.complaints))
    failed = [s for s in resize.setbacks if s.reason not in step.QUIET] if resize else []
    if failed:
        return Claim("ResizeInProgress", False, failed[0].reason, "; ".join(s.message for s in failed))
    return Claim("ResizeInProgress", False, "Settled")


def _hot(scene: Scene, resize: Resize | None) -> Iterator[Claim]:
    if resize is None or scene.pod is None or resize.target is None:
        return
    goal = aim.sizes_of(resize.target)
    for resource, kind in _HOT.items():
        held = aim.setback(resize, resource)
        if held is not None and held.reason not in step.QUIET:
            yield Claim(kind, False, held.reason, held.message)
        elif resize.phase in BUSY and scene.report is not None and goal.of(resource) != scene.guest.of(resource):
            yield Claim(kind, True, resize.phase, resize.message)


def _restart(scene: Scene, resize: Resize | None) -> Iterator[Claim]:
    if scene.machine is None:
        return
    reasons = validation.restart_reasons(scene.vm, scene.machine, scene.settings)
    wanted = {device.name for device in devices.of(scene.vm)}
    kept = [name for name in scene.devices if name not in wanted]
    reasons += [f"{validation.OTHER_FIELD}: the machine keeps {', '.join(kept)}"] if kept else []
    if resize is not None and resize.fallback == _RESTART:
        reasons = [*reasons, *(s.message for s in resize.setbacks if s.reason not in step.QUIET)]
    if reasons:
        yield Claim("RestartRequired", True, "RestartRequired", "; ".join(reasons))


def _partial(resize: Resize | None) -> Claim:
    kept = [s for s in resize.setbacks if s.reason == aim.PARTIAL] if resize else []
    if kept:
        return Claim("PartiallyResized", True, kept[0].reason, "; ".join(s.message for s in kept))
    failed = [s for s in resize.setbacks if s.reason not in step.QUIET] if resize else []
    if resize is not None and failed and _is_some_done(resize):
        return Claim("PartiallyResized", True, failed[0].reason, "; ".join(s.message for s in failed))
    return Claim("PartiallyResized", False, "AsWanted" if not failed else failed[0].reason)


def _is_some_done(resize: Resize) -> bool:
    """Whether one resource was changed as wanted and the other was not."""
    if resize.target is None or resize.origin is None or resize.reached is None:
        return False
    goal, start, now = (aim.sizes_of(each) for each in (resize.target, resize.origin, resize.reached))
    return any(goal.of(r) != start.of(r) and now.of(r) == goal.of(r) for r in aim.RESOURCES)


def _condition(claim: Claim, before: Condition | None, scene: Scene, now: float) -> Condition:
    value = "True" if claim.status else "False"
    same = before is not None and before.status == value
    return Condition(
        type=claim.type,
        status=value,
        reason=claim.reason,
        message=claim.message,
        last_transition_time=before.last_transition_time if same and before else age.format_seconds(now),
        observed_generation=scene.vm.metadata.generation,
    )
