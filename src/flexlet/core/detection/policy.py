"""Who brings plugged parts online: the system or this node (node-resize.md §2.5)."""

from typing import Final

from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.machine.machine import Machine
from flexlet.core.machine.parts import Kind, OnlineAs

_NAMED: Final[dict[str, frozenset[Kind]]] = {
    "none": frozenset(),
    "cpu": frozenset({"cpu"}),
    "memory": frozenset({"memory"}),
    "all": frozenset({"cpu", "memory"}),
}
_MOVABLE_PER_KERNEL: Final = 3
"""More memory than this that the kernel cannot use for itself, and it starves among plenty."""


def ours(settings: ResizeSettings, machine: Machine, udev_onlines: frozenset[Kind]) -> frozenset[Kind]:
    """The kinds of parts that this node brings online.

    By default those that nobody else does: a udev rule speaks for the kinds it names, the kernel's
    ``auto_online_blocks`` for memory, and neither for the other kind.
    """
    if settings.online_policy != "auto":
        return _NAMED[settings.online_policy]
    kernel = _NAMED["none" if machine.auto_online in ("", "offline") else "memory"]
    return _NAMED["all"] - kernel - udev_onlines


def online_as(kind: Kind, wanted: OnlineAs, machine: Machine, planned: int) -> OnlineAs:
    """In which zone; `planned` bytes will be movable before this part is."""
    if kind == "cpu":
        return "online"
    if wanted != "online_movable":
        return wanted
    fits = machine.movable + planned <= _MOVABLE_PER_KERNEL * (machine.memory - machine.movable)
    return "online_movable" if fits else "online_kernel"
