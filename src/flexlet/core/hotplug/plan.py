"""What another size of the machine means for its node: the steps that follow, in order.

One flow for both directions, because one reading may hold both. What grows is given to cgroups and managers before
it is published, so that nobody is refused by books that do not know of it; what shrinks is published before anybody
ends, so that nobody is scheduled onto what is gone. Memory is squeezed softly first and limited for good last, so
that the kernel has no reason to kill while pods still have their grace.

Planning again after a part was done is harmless: steps name what shall be, and a plan is made from what the node
last published and from the pods that are there now.
"""

from typing import Final

import msgspec

from flexlet.api.units import Bytes
from flexlet.core.cgroups.paths import CGROUPFS
from flexlet.core.cgroups.settings import DEFAULTS, CgroupSettings
from flexlet.core.hotplug.generation import Generation
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.hotplug.steps import ResizeStep
from flexlet.core.hotplug.tenants import Tenant
from flexlet.core.hotplug.victims import Victim
from flexlet.core.hotplug.view import NodeView
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.resync import Move
from flexlet.core.managers.settings import ManagerSettings
from flexlet.core.managers.state import Managers
from flexlet.core.node.settings import NodeSettings
from flexlet.core.resize.allocation import Allocation

BELOW_RESERVED: Final = "BelowReserved"


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan depends on besides the two machines."""

    node: NodeSettings
    resize: ResizeSettings
    managing: ManagerSettings = ManagerSettings()
    managers: Managers = Managers()
    cgroups: CgroupSettings = DEFAULTS
    driver: str = CGROUPFS
    tenants: tuple[Tenant, ...] = ()
    critical_usage: Bytes = Bytes(0)
    """``memory.current`` of all critical pods together."""
    pressed: bool = False
    """Whether memory is so short that pods cannot be given their time: available memory below the hard eviction
    threshold, or all tasks stalled for more than a fifth of the last ten seconds (PSI full avg10 > 20)."""
    enforce: bool = True
    """Whether ``enforceNodeAllocatable`` names pods."""


class NoChange(msgspec.Struct, frozen=True):
    """There is nothing to do, and why."""

    why: str


class ResizePlan(msgspec.Struct, frozen=True, kw_only=True):
    """The steps to another size, and what there is to tell about it."""

    before: Generation
    generation: Generation
    view: NodeView
    steps: tuple[ResizeStep, ...]
    victims: tuple[Victim, ...] = ()
    """In the order in which they were found."""
    allocations: dict[str, Allocation] = {}
    """Balloons that become smaller, by uid."""
    reassigned: tuple[Move, ...] = ()
    """Containers that were given other CPUs for their own."""
    notes: tuple[str, ...] = ()
    """Reasons for the condition NodeResize that hold once everything is done."""


def plan(
    before: Generation,
    machine: Machine,
    seen_at: float,
    situation: Situation,
    unfinished: Generation | None = None,
) -> ResizePlan | NoChange:
    """The steps from `before` to the machine as it is now.

    `unfinished` is a generation that was published after `before` and whose steps were not all done, because the
    agent died or because the machine changed again.
    """
    raise NotImplementedError(before, machine, seen_at, situation, unfinished)
