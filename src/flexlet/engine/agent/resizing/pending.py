"""The size that was published last, until it is done with: `core.hotplug.pending` says when that is."""

from typing import TYPE_CHECKING

from flexlet.core.hotplug import pending
from flexlet.core.hotplug.pending import Decision, Pending, Signs
from flexlet.core.hotplug.plan import ResizePlan
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.machine.machine import Machine
from flexlet.ports.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Callable


class PendingSize:
    """At most one; kept in memory only, so that an agent that starts begins to wait anew."""

    def __init__(self, clock: Clock, settings: ResizeSettings) -> None:
        self._clock = clock
        self._settings = settings
        self._state: Pending | None = None
        self._published_at = 0.0
        self.plan: ResizePlan | None = None
        """The plan that published it."""
        self.is_done = False
        """Whether everything is done that is to be done for it now."""
        self.has_changed = False
        """Whether the machine was another on the way, though it may be again what it was."""
        self.signs: Callable[[], Signs] = Signs
        """What the kernel shows of the machine; set by whoever looks at it."""

    @property
    def is_short(self) -> bool:
        """Whether pods have no room on it, and are waited for."""
        return self.plan is not None and self.plan.is_provisional

    def publish(self, plan: ResizePlan) -> None:
        """It counts from now on, and work for it goes on."""
        same = self.plan is not None and self.plan.generation.number == plan.generation.number
        self.has_changed = bool(plan.generation.changes) or (same and self.has_changed)
        self.plan, self.is_done, self._state = plan, False, None
        self._published_at = self._clock.monotonic()

    def wait(self) -> None:
        """Nothing more is done for it until the machine was quiet."""
        self.is_done = not self.is_short
        self._state = Pending(since=self._published_at, published_at=self._published_at, short=self.is_short)

    def forget(self) -> None:
        """It is finished."""
        self.plan, self.is_done, self._state = None, False, None

    def continues(self, machine: Machine) -> bool:
        """Whether the machine as it is now is more of this size; not once pods were evicted for it."""
        if self.plan is None or self.plan.victims:
            return False
        return pending.continues(self.plan.generation, machine, short=self.is_short)

    def decide(self) -> Decision | None:
        """What to do about it now; None if there is nothing to wait for."""
        if self._state is None:
            return None
        found = pending.decide(self._state, self.signs(), self._clock.monotonic(), self._settings)
        self._state = found.state
        return found
