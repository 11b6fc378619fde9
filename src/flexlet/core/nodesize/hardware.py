"""The machine behind a node: what the hypervisor end is asked for, and when (balloon.md §5.8).

To grow, the balloon gives back first, and only what is missing then is plugged. To shrink, the balloon is
inflated as a fence, so that nobody stands in what is about to go; then the node is asked to get ready, the
hardware is taken out, and when the node has published what it lost the balloon gives back as much. A guest that
keeps something keeps it behind the balloon: then the balloon is the downsizing.
"""

import msgspec

from flexlet.core.actions import ApiAction
from flexlet.core.nodesize.objects import Base, MachineStatus
from flexlet.core.nodesize.resizing import Turn
from flexlet.core.nodesize.scene import Scene
from flexlet.core.nodesize.sizes import Amounts


class Deed(msgspec.Struct, frozen=True):
    """Bring a machine to this many CPUs and bytes; zero of both only asks how big it is."""

    node: str
    qmp: str
    cpus: int = 0
    memory: int = 0


class HardwarePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What to do about the machine."""

    status: MachineStatus | None = None
    actions: tuple[ApiAction, ...] = ()
    deed: Deed | None = None
    wake_at: float | None = None


def plan(scene: Scene, base: Base, goal: Amounts, turn: Turn, now: float) -> HardwarePlan:
    """The next step with the machine."""
    del base, goal, turn, now
    return HardwarePlan(status=scene.size.status.machine)
