"""What the controller remembers of launchers: their last words, what they were told, what they may not lack."""

import msgspec

from flexlet.core.vm import amounts
from flexlet.core.vm.guest import Report, SetSize
from flexlet.core.vm.overhead import TOLERANCE, overhead
from flexlet.core.vm.podsize import need
from flexlet.core.vm.scene import Heard
from flexlet.core.vm.settings import Settings
from flexlet.core.vm.sights import LauncherPod
from flexlet.core.vm.wish import Wanted


class Basis(msgspec.Struct, frozen=True):
    """What the size of a pod was last computed from."""

    wanted: Wanted
    correction: int


class Watch(msgspec.Struct):
    """One launcher."""

    heard: Heard | None = None
    told: SetSize | None = None
    basis: Basis | None = None
    devices: dict[str, float] = msgspec.field(default_factory=dict)
    """Devices that it was told to attach on this line, and after which report."""


def heard(before: Heard | None, report: Report, now: float) -> Heard:
    """The new word, with the times of what it changed."""
    if before is None:
        # Nobody knows when a guest that was not watched has started anew: it may have been just now.
        return Heard(report=report, at=now, since=now, reset_at=now if report.resets else 0.0, changed_at=now)
    old = before.report
    return Heard(
        report=report,
        at=now,
        since=before.since,
        reset_at=now if report.resets > old.resets else before.reset_at,
        changed_at=before.changed_at if _progress(old) == _progress(report) else now,
    )


def _progress(report: Report) -> object:
    return report.vcpus, report.vcpus_online, report.memory, report.requested, report.order, report.cpu, report.ram


def is_violated(watch: Watch, pod: LauncherPod, current: Basis, settings: Settings) -> bool:
    """Whether a pod has less than its guest needs.

    A need that rises because something else is wanted (a device, another measure) counts from when the pod has
    followed: until then nothing of it was given to the guest.
    """
    report = watch.heard.report if watch.heard else None
    if report is None or report.run_state not in {"Running", "Paused"} or not pod.is_live:
        return False
    if _is_covered(pod, report, current, settings):
        watch.basis = current
        return False
    return not _is_covered(pod, report, watch.basis or current, settings)


def _is_covered(pod: LauncherPod, report: Report, basis: Basis, settings: Settings) -> bool:
    least = need(basis.wanted, report.vcpus, report.memory, settings, basis.correction)
    return amounts.covers(pod.granted, amounts.kept_limits(amounts.bare(least), pod.spec))


def correction(wanted: Wanted, report: Report | None, known: int, resident: int, settings: Settings) -> int:
    """By how much the formula is off, as measured; what is known stays while it is right by and large."""
    if wanted.overhead_model != "measured":
        return 0
    if report is None or not resident:
        return known
    formula = overhead(wanted, report.vcpus, max(report.memory, report.requested), settings)
    off = resident - (formula + known)
    return known if abs(off) <= TOLERANCE * max(1, formula + known) else resident - formula
