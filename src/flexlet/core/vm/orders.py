"""What the guest is told to have, and how its answers are read.

Nothing is told that the pod does not already have room for: to grow, the pod comes first. Memory comes in steps
when it is much, so that a guest that fails at it has wasted little.
"""

from typing import Final

import msgspec

from flexlet.api.quantity import Quantity
from flexlet.core.resources.names import CPU, MEMORY
from flexlet.core.vm import aim
from flexlet.core.vm.amounts import Sizes
from flexlet.core.vm.guest import Answer, Report
from flexlet.core.vm.objects import Resize, Setback
from flexlet.core.vm.scene import Scene

ATTEMPTS: Final = 3
_PAUSE_S: Final = 1.0
_ONLINE_S: Final = 30.0
"""A guest that has not used a new vCPU by then is not about to."""
PLUG_FAILED: Final = "PlugFailed"
REVERTED: Final = "UnplugReverted"


class Verdict(msgspec.Struct, frozen=True):
    """What the guest's answers make of a resize; `is_again`: tell it once more."""

    resize: Resize
    is_again: bool = False
    wake_at: float | None = None


# ---- telling


def intended(scene: Scene, resize: Resize) -> Sizes:
    """What the guest is to be told now."""
    return Sizes(_vcpus(scene, resize), _memory(scene, resize))


def is_cpu_first(scene: Scene, resize: Resize) -> bool:
    """Whether memory has to wait until the vCPUs are as they shall be."""
    if scene.vm.spec.resize_policy.order == "Parallel" or scene.pod is None or scene.pod.pending:
        return False
    return scene.guest.vcpus != aim.aim(resize).vcpus and aim.setback(resize, CPU) is None


def _vcpus(scene: Scene, resize: Resize) -> int:
    goal, guest, pod = aim.aim(resize).vcpus, scene.guest.vcpus, scene.pod
    if goal <= guest:
        return goal
    is_free = pod is not None and pod.grants(scene.need(Sizes(goal, scene.reach.memory)))
    return goal if is_free else guest


def _memory(scene: Scene, resize: Resize) -> int:
    report, pod, goal = scene.report, scene.pod, aim.aim(resize)
    if report is None or pod is None:
        return 0
    if is_cpu_first(scene, resize):
        return report.requested
    if goal.memory <= report.requested:
        return goal.memory
    if not pod.grants(scene.need(Sizes(max(goal.vcpus, scene.reach.vcpus), goal.memory))):
        return report.requested
    if report.memory < report.requested:
        return report.requested  # the step before is not done yet
    return min(goal.memory, report.memory + step(scene, resize))


def step(scene: Scene, resize: Resize) -> int:
    """How much memory a guest is given at once: a share of the whole, in blocks."""
    machine, origin = scene.machine, resize.origin
    goal = aim.aim(resize).memory
    whole = goal - (origin.memory.value if origin else scene.guest.memory)
    block = machine.block_size if machine else 1
    share = max(int(whole * scene.settings.step_share), scene.settings.step_min)
    return -(-share // block) * block


# ---- reading


def review(scene: Scene, resize: Resize, now: float) -> Verdict:
    """What the guest has come to: failures are tried again, refusals accepted or reverted, late ones noted."""
    report = scene.report
    if report is None:
        return Verdict(resize)
    found = Verdict(_caught_up(scene, _recovered(scene, report, resize)))
    for resource, answer in ((CPU, report.cpu), (MEMORY, report.ram)):
        new = _read(scene, found.resize, resource, answer, now)
        alarms = [alarm for alarm in (found.wake_at, new.wake_at) if alarm is not None]
        found = Verdict(new.resize, found.is_again or new.is_again, min(alarms, default=None))
    return found


def _recovered(scene: Scene, report: Report, resize: Resize) -> Resize:
    """Failures in a row count, and no others."""
    is_well = "Failed" not in {report.cpu.progress, report.ram.progress}
    is_over = "Changing" not in {report.cpu.progress, report.ram.progress}
    if scene.is_answered and is_well and is_over and resize.attempts:
        return msgspec.structs.replace(resize, attempts=0)
    return resize


def _caught_up(scene: Scene, resize: Resize) -> Resize:
    """What was held because the guest did not follow is over when it has followed after all."""
    report = scene.report
    for each in resize.setbacks:
        is_less = each.reason == aim.PARTIAL and scene.guest.of(each.resource) <= each.held.value
        if is_less or (each.reason == aim.NOT_ONLINED and report is not None and _is_used(each, report)):
            resize = aim.lifted(resize, each.resource)
    return resize


def _is_used(setback: Setback, report: Report) -> bool:
    if setback.resource == MEMORY:
        return report.memory >= report.requested
    return report.vcpus_online is None or report.vcpus_online >= report.vcpus


def _read(scene: Scene, resize: Resize, resource: str, answer: Answer, now: float) -> Verdict:
    if not scene.is_answered or scene.told is None:
        return Verdict(resize)
    asked, has = Sizes(scene.told.vcpus, scene.told.memory).of(resource), scene.guest.of(resource)
    if answer.progress == "Failed":
        return _failed(scene, resize, resource, answer, now)
    if answer.progress == "Partial" and has > asked:
        return _partial(scene, resize, resource, answer.message, now)
    return _late(scene, resize, resource, now)


def _failed(scene: Scene, resize: Resize, resource: str, answer: Answer, now: float) -> Verdict:
    held, has = aim.setback(resize, resource), scene.guest.of(resource)
    if held is not None and (held.reason == PLUG_FAILED or _is_back(held, has)):
        return Verdict(resize)
    tries = max(resize.attempts + 1, answer.failures)
    if tries < ATTEMPTS:
        at = (scene.heard.changed_at if scene.heard else now) + _PAUSE_S * 2**resize.attempts
        if now < at:
            return Verdict(resize, wake_at=at)
        return Verdict(msgspec.structs.replace(resize, attempts=tries), is_again=True)
    if has > aim.aim(resize).of(resource):
        return _partial(scene, resize, resource, answer.message, now)
    if held is not None and held.reason == REVERTED:
        return Verdict(_stuck(resize, held, has, now))
    text = f"the guest could not be given more {resource}: {answer.message}; tried {tries} times"
    return Verdict(aim.set_back(resize, resource, PLUG_FAILED, text, has, now))


def _stuck(resize: Resize, held: Setback, has: int, now: float) -> Resize:
    """A guest that cannot be given back what it gave stays as it is, which may be what was wanted after all."""
    if resize.target is not None and has == aim.sizes_of(resize.target).of(held.resource):
        return aim.lifted(resize, held.resource)
    return aim.set_back(resize, held.resource, held.reason, held.message, has, now)


def _is_back(held: Setback, has: int) -> bool:
    """Whether a guest has again what it had before it gave only some of it."""
    return held.reason == REVERTED and has >= held.held.value


def _partial(scene: Scene, resize: Resize, resource: str, message: str, now: float) -> Verdict:
    known = aim.setback(resize, resource)
    goal = aim.sizes_of(resize.target).of(resource) if resize.target else 0
    if known is not None and known.reason == aim.PARTIAL:
        at = aim.due(known)
        if at is None or now < at:
            return Verdict(resize, wake_at=at)
        return Verdict(aim.looked(resize, known, now), is_again=True)
    if known is not None:
        return Verdict(resize)
    left = scene.guest.of(resource) - goal
    keeps = f"{left} vCPU{'s' if left != 1 else ''}" if resource == CPU else str(Quantity.of_bytes(left))
    text = f"the guest keeps {keeps} more than wanted: {message}".rstrip(": ")
    if scene.vm.spec.resize_policy.partial_shrink == "Revert" and resize.origin is not None:
        held = _before(scene, aim.sizes_of(resize.origin)).of(resource)
        return Verdict(aim.set_back(resize, resource, REVERTED, text, held, now))
    return Verdict(aim.set_back(resize, resource, aim.PARTIAL, text, goal, now))


def _before(scene: Scene, origin: Sizes) -> Sizes:
    """What to go back to: as much as before, but not less than there is, nor more than this machine can have."""
    guest, machine = scene.guest, scene.machine
    vcpus, memory = max(origin.vcpus, guest.vcpus), max(origin.memory, guest.memory)
    if machine is None:
        return Sizes(vcpus, memory)
    most = machine.max_sockets * machine.cores * machine.threads
    return Sizes(min(vcpus, most), min(memory, machine.max_memory))


def _late(scene: Scene, resize: Resize, resource: str, now: float) -> Verdict:
    """The hypervisor has plugged what the guest does not take: it is told of, and the pod stays."""
    report, heard = scene.report, scene.heard
    if report is None or heard is None or aim.setback(resize, resource) is not None:
        return Verdict(resize)
    probe = Setback(resource=resource)
    if _is_used(probe, report):
        return Verdict(resize)
    patience = _ONLINE_S if resource == CPU else scene.unplug_timeout_s
    at = max(heard.changed_at, heard.reset_at) + patience
    if now < at:
        return Verdict(resize, wake_at=at)
    text = "the guest does not use the vCPUs it was given (no rule that brings them online?)"
    if resource == MEMORY:
        text = "the guest does not take the memory it was given (no virtio-mem driver?)"
    goal = aim.aim(resize).of(resource)
    return Verdict(aim.set_back(resize, resource, aim.NOT_ONLINED, text, goal, now))
