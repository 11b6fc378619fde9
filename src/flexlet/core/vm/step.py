"""One look at one running machine: the next size of its pod, the next order to its guest, and how far it is.

There are no stored steps. Whatever was done before, and whoever died in between, what is to be done next follows
from what is wanted, what the guest has and what the pod has (vm-resize.md §5). The pod never has less than the
guest needs: it grows first and shrinks last.
"""

import msgspec

from flexlet.api import age
from flexlet.core.actions import ApiAction
from flexlet.core.vm import aim, amounts, fallback, orders, podside, validation
from flexlet.core.vm.amounts import Sizes
from flexlet.core.vm.objects import Phase, Resize
from flexlet.core.vm.podside import Desire
from flexlet.core.vm.podsize import Need
from flexlet.core.vm.scene import Scene

QUIET = frozenset({aim.PARTIAL, aim.NOT_ONLINED})
"""Setbacks that do not make a resize a failure: the guest has its say."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done for a machine that runs; `patch` is a new size of its pod."""

    resize: Resize
    patch: Need | None = None
    resource: str = ""
    order: Sizes | None = None
    is_again: bool = False
    """Tell the guest, even if it was told the same before."""
    actions: tuple[ApiAction, ...] = ()
    wake_at: float | None = None


def look(scene: Scene, now: float) -> Step:
    """The next step."""
    known = aim.resize(scene, now)
    if scene.is_moving:
        return Step(resize=_phase(known, "Migrating" if is_wanting(scene, known) else known.phase, "", now))
    if scene.report is None:
        return Step(resize=known)
    answer = _reconsidered(scene, known, now)
    verdict = orders.review(scene, answer.resize, now)
    resize = verdict.resize
    desire = podside.desire(scene, resize, now)
    if desire is not None:
        reaction = _react(scene, resize, desire, now)
        if reaction.actions or reaction.resize.setbacks != resize.setbacks:
            answer = fallback.Answer(reaction.resize, (*answer.actions, *reaction.actions))
            desire = podside.desire(scene, reaction.resize, now)
        resize = reaction.resize
    resize = _undeferred(scene, resize)
    order = orders.intended(scene, resize)
    alarms = [alarm for alarm in (verdict.wake_at, *_alarms(scene, resize)) if alarm is not None and alarm > now]
    is_patch = desire is not None and scene.pod is not None and desire.need != scene.pod.spec
    return Step(
        resize=_judged(scene, resize, desire, now),
        patch=desire.need if desire is not None and is_patch else None,
        resource=desire.resource if desire is not None else "",
        order=order,
        is_again=verdict.is_again,
        actions=answer.actions,
        wake_at=min(alarms, default=None),
    )


def is_wanting(scene: Scene, resize: Resize) -> bool:
    """Whether there is anything left to do."""
    return scene.guest != aim.aim(resize) or bool(resize.setbacks)


# ---- setbacks


def _reconsidered(scene: Scene, resize: Resize, now: float) -> fallback.Answer:
    """Try again what was held, if its reason may be gone; begin with what can never be done in place."""
    actions: tuple[ApiAction, ...] = ()
    for each in resize.setbacks:
        goal = scene.need(aim.aim(aim.lifted(resize, each.resource)))
        match each.reason:
            case fallback.QUOTA if each.resource in scene.quota_news or _is_due(each.since, now):
                resize = aim.lifted(resize, each.resource)
            case fallback.AWAITING if fallback.has_grown(scene, goal):
                resize = aim.lifted(resize, each.resource)
            case fallback.CAPACITY if scene.node_changed and fallback.has_grown(scene, goal):
                resize = aim.lifted(resize, each.resource)
            case fallback.AWAITING if now >= aim.moment(resize.deferred_at) + scene.defer_timeout_s:
                found = fallback.fall_back(scene, resize, each.resource, fallback.CAPACITY, each.message, now)
                resize, actions = found.resize, (*actions, *found.actions)
            case _:
                pass
    for resource, (reason, message) in validation.not_resizable(scene.vm, scene.machine).items():
        is_other = aim.aim(resize).of(resource) != scene.guest.of(resource)
        if reason == "HugepagesInPlace" and is_other and aim.setback(resize, resource) is None:
            found = fallback.fall_back(scene, resize, resource, reason, message, now)
            resize, actions = found.resize, (*actions, *found.actions)
    return fallback.Answer(resize, actions)


def _is_due(since: str, now: float) -> bool:
    """Quotas that nobody told of a change of are tried again once a minute."""
    return now >= aim.moment(since) + aim.LOOKS_S[0]


def _react(scene: Scene, resize: Resize, desire: Desire, now: float) -> fallback.Answer:
    """What the API and the node say to the size that is wanted next."""
    pod, refusal = scene.pod, scene.refusal
    if pod is None or desire.stage == "withdraw":
        return fallback.Answer(resize)
    if refusal is not None and desire.stage == "grow":
        return fallback.refused(scene, resize, refusal, desire.need, now)
    if desire.need != pod.spec or desire.stage != "grow":
        return fallback.Answer(resize)
    if pod.pending == fallback.INFEASIBLE:
        reason, _ = _infeasible(pod.message)
        return fallback.no_room(scene, resize, desire.resource, reason, pod.message, desire.need, now)
    if pod.pending:
        return fallback.deferred(scene, resize, desire.resource, desire.need, now)
    if pod.trouble:
        return _failing(scene, resize, desire, pod.trouble, now)
    return fallback.Answer(resize)


def _infeasible(message: str) -> tuple[str, str]:
    is_size = "capacity" in message or "allocatable" in message
    return (fallback.CAPACITY if is_size else fallback.INFEASIBLE), message


def _failing(scene: Scene, resize: Resize, desire: Desire, trouble: str, now: float) -> fallback.Answer:
    """The node cannot carry it out: it tries again by itself, for a while."""
    since = resize.deferred_at or age.format_micro(now)
    resize = msgspec.structs.replace(resize, deferred_at=since)
    if now < aim.moment(since) + scene.settings.actuation_timeout_s:
        return fallback.Answer(resize)
    return fallback.Answer(fallback.hold(scene, resize, desire.resource, "ActuationError", trouble, now))


def _undeferred(scene: Scene, resize: Resize) -> Resize:
    pod = scene.pod
    is_waiting = pod is not None and (pod.pending or pod.trouble)
    is_awaiting = any(s.reason == fallback.AWAITING for s in resize.setbacks)
    if resize.deferred_at and not is_waiting and not is_awaiting:
        return msgspec.structs.replace(resize, deferred_at="")
    return resize


# ---- how far it is


def _judged(scene: Scene, resize: Resize, desire: Desire | None, now: float) -> Resize:
    resize = msgspec.structs.replace(resize, reached=aim.amounts_of(scene.guest))
    pod = scene.pod
    failed = [s for s in resize.setbacks if s.reason not in QUIET]
    if desire is not None and desire.stage == "grow" and pod is not None:
        text = f"pod to {amounts.text(desire.need)}"
        if pod.pending == fallback.DEFERRED and pod.spec == desire.need:
            return _phase(resize, "PodDeferred", f"{text}: {pod.message}", now)
        return _phase(resize, "PodGrowing", f"{text}: {pod.trouble}".rstrip(": "), now)
    if _is_guest_busy(scene, resize):
        return _phase(resize, "GuestChanging", _asked(scene, resize), now)
    if desire is not None:
        text = f"pod to {amounts.text(desire.need)}"
        message = pod.message or pod.trouble if pod is not None else ""
        return _phase(resize, "PodShrinking", f"{text}: {message}".rstrip(": "), now)
    if podside.is_too_large(scene, resize):
        # The guest has its size, but its launcher still reports a change: not "Done" until the pod is smaller.
        return _phase(resize, "GuestChanging", "the guest is settling; the pod shrinks after it", now)
    waiting = [s for s in failed if s.reason == fallback.AWAITING]
    if waiting:
        return _phase(resize, "PodDeferred", f"{resize.remedy}: {waiting[0].message}", now)
    text = "; ".join(s.message for s in resize.setbacks)
    if failed:
        return _phase(resize, "Failed", text, now)
    return _phase(resize, "Done" if resize.started_at else "Idle", text, now)


def _is_guest_busy(scene: Scene, resize: Resize) -> bool:
    goal, guest = aim.aim(resize), scene.guest
    is_quiet = {s.resource for s in resize.setbacks if s.reason in QUIET}
    is_short = any(goal.of(r) != guest.of(r) and r not in is_quiet for r in aim.RESOURCES)
    is_unheard = not scene.is_answered and bool(resize.started_at) and resize.phase not in {"Done", "Failed"}
    return is_short or is_unheard


def _asked(scene: Scene, resize: Resize) -> str:
    goal, guest = aim.aim(resize), scene.guest
    parts = [f"{guest.vcpus} of {goal.vcpus} vCPUs"] if guest.vcpus != goal.vcpus else []
    if guest.memory != goal.memory:
        have, want = aim.amounts_of(guest).memory, aim.amounts_of(goal).memory
        parts.append(f"{have} of {want}")
    return f"guest has {', '.join(parts)}" if parts else ""


def _phase(resize: Resize, phase: Phase, message: str, now: float) -> Resize:
    is_over = phase in {"Done", "Failed"}
    finished = (resize.finished_at or age.format_micro(now)) if is_over else ""
    return msgspec.structs.replace(resize, phase=phase, message=message, finished_at=finished)


def _alarms(scene: Scene, resize: Resize) -> list[float]:
    found = [podside.settled_at(scene)]
    if resize.deferred_at:
        since, limit = aim.moment(resize.deferred_at), scene.settings.actuation_timeout_s
        is_trouble = scene.pod is not None and bool(scene.pod.trouble)
        found.append(since + (limit if is_trouble else scene.defer_timeout_s))
    for each in resize.setbacks:
        at = aim.due(each)
        if each.reason == fallback.QUOTA:
            found.append(aim.moment(each.since) + aim.LOOKS_S[0])
        elif each.reason == aim.PARTIAL and at is not None:
            found.append(at)
    return found
