"""Carries out plans for the node's size, writes down how far that is, and tells people of it."""

import logging
from typing import TYPE_CHECKING, Final

from flexlet.core.hotplug import metrics, steps, telling
from flexlet.core.hotplug.generation import Generation
from flexlet.core.hotplug.plan import ResizePlan
from flexlet.core.hotplug.settling import Situation
from flexlet.engine.agent.loop import AgentLoop
from flexlet.engine.agent.resizing.book import Generations
from flexlet.engine.agent.resizing.counts import count
from flexlet.engine.agent.resizing.doing import Doing
from flexlet.engine.agent.resizing.pending import PendingSize
from flexlet.engine.agent.resizing.saying import Saying
from flexlet.errors import HostError
from flexlet.ports.clock import Clock
from flexlet.ports.meters import Meters

if TYPE_CHECKING:
    from collections.abc import Callable

    from flexlet.core.machine.machine import Machine

log: Final = logging.getLogger(__name__)

_SUBSYSTEMS: Final[dict[type[steps.Step], str]] = {
    steps.Squeeze: metrics.CGROUPS,
    steps.HoldPods: metrics.CGROUPS,
    steps.Release: metrics.CGROUPS,
    steps.SaveManagers: metrics.CPU_MANAGER,
    steps.Publish: metrics.NODE_STATUS,
    steps.EndPods: metrics.READMISSION,
}


class PlanExecution:
    """One plan at a time; the owner of the node's size says which."""

    def __init__(
        self,
        generations: Generations,
        doing: Doing,
        loop: AgentLoop,
        saying: Saying,
        pending: PendingSize,
        clock: Clock,
        meters: Meters,
    ) -> None:
        self._generations = generations
        self._doing = doing
        self._loop = loop
        self._saying = saying
        self._pending = pending
        self._clock = clock
        self._meters = meters
        self._node = loop.world.setup.name
        self._begun: Machine | None = None
        """The size that is being worked on; trying it again is not another resize."""
        self.interrupted: Callable[[], bool] = lambda: False
        """Whether there is a newer size than the one being worked on."""
        self.counted: Callable[[Generation], None] = lambda _: None
        """Called with each size from when it counts."""

    async def carry_out(self, found: ResizePlan, situation: Situation, seen_at: float) -> bool:
        """Whether all was done; not if the machine changed again after this size was published."""
        await self._generations.attempt(found.generation.machine)
        if found.generation.machine != self._begun:
            count(self._meters, metrics.begun(found))
        self._begun = found.generation.machine
        lasted = self._pending.is_short and situation.evicts
        if not lasted:
            self._observe("detect", self._clock.monotonic() - seen_at)
        began, ending = self._clock.monotonic(), 0.0
        for step in found.steps:
            at = self._clock.monotonic()
            await self._do(step, found, situation)
            if self._generations.unfinished is not None and self.interrupted():
                return False
            ending += self._clock.monotonic() - at if isinstance(step, steps.EndPods) else 0.0
        if not lasted:
            self._observe("apply", self._clock.monotonic() - began - ending)
        if found.victims:
            self._observe("terminate", ending)
        self._begun = found.generation.machine if found.is_provisional else None
        return True

    def count_from_now(self, generation: Generation) -> None:
        """This size counts."""
        self._meters.set(metrics.GENERATION.name, value=generation.number)
        self.counted(generation)

    async def finish(self) -> None:
        """A size is done with: it is told and counted once, however many parts came and went for it."""
        found, has_changed = self._pending.plan, self._pending.has_changed
        forced = self._doing.used_too_much
        await self._generations.finish(forced=bool(forced))
        self._pending.forget()
        if found is None:
            return
        count(self._meters, metrics.done(found))
        if forced:
            self._loop.announce((telling.forced(self._node, found, forced),))
        if has_changed:
            told = telling.resized if found.generation.changes else telling.reverted
            self._loop.announce((told(self._node, found),))
        log.info("%s", telling.sizes(found))

    async def _do(self, step: steps.ResizeStep, found: ResizePlan, situation: Situation) -> None:
        try:
            if isinstance(step, steps.Publish):
                await self._generations.publish(found, situation.tenants)
            await self._doing.do(step, found)
        except HostError as error:
            log.debug("%s: %s", type(step).__name__, error)
            count(self._meters, metrics.failed(found, _SUBSYSTEMS.get(type(step), metrics.CGROUPS)))
            raise
        if isinstance(step, steps.Publish):
            self._announce(found, situation)

    def _announce(self, found: ResizePlan, situation: Situation) -> None:
        """The new size counts: the cluster hears of it before any pod does."""
        self._pending.publish(found)
        count(self._meters, metrics.ended(found))
        self._loop.announce(telling.reassigned(found.reassigned, situation.tenants))
        resizing = telling.in_progress(found, closed=bool(found.victims))
        self._saying.tell(machine=found.generation.machine, resizing=resizing)
        self.count_from_now(found.generation)

    def _observe(self, phase: str, seconds: float) -> None:
        self._meters.observe(metrics.DURATION.name, {"phase": phase}, seconds)
