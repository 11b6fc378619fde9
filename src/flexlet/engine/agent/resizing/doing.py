"""Carries out the steps of a plan to another size.

A step that cannot be done raises HostError. What concerns single containers never holds the others up: it is
counted when it fails, and kept to be tried again.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

from flexlet.api.units import PodUid
from flexlet.core.agent.record import PodRecord
from flexlet.core.hotplug import metrics, steps, telling
from flexlet.core.hotplug.plan import ResizePlan
from flexlet.core.hotplug.steps import TuneContainer
from flexlet.core.hotplug.victims import Victim, ending
from flexlet.core.node.decider import NodeDecider
from flexlet.engine.agent.endings import ended
from flexlet.engine.agent.hands import looking
from flexlet.engine.agent.hands.tools import Tools
from flexlet.engine.agent.loop import AgentLoop
from flexlet.engine.agent.resizing.publishing import published
from flexlet.engine.agent.resizing.tuning import Tuner
from flexlet.engine.agent.resizing.waiting import Patience
from flexlet.engine.agent.tree import PodTree
from flexlet.errors import RuntimeFault
from flexlet.ports.meters import Meters

log: Final = logging.getLogger(__name__)

_API_PATIENCE_S: Final = 5.0
"""How long pods are spared for the cluster to hear of the smaller node first; it may be out of reach."""


class Doing:
    """The hands of the resizer; waits end early when the machine has changed again."""

    def __init__(
        self,
        tools: Tools,
        loop: AgentLoop,
        tree: PodTree,
        decider: NodeDecider,
        meters: Meters,
        patience: Patience,
    ) -> None:
        self._tools = tools
        self._loop = loop
        self._tree = tree
        self._decider = decider
        self._meters = meters
        self._patience = patience
        self._tuner = Tuner(tools.cgroups, tools.scores)
        self.untuned: dict[str, TuneContainer] = {}
        """Containers that could not be given their values, by id."""
        self.used_too_much = 0
        """What pods still used when they were held to less, 0 if they did not."""

    async def do(self, step: steps.ResizeStep, plan: ResizePlan) -> None:
        """Carry out one step."""
        match step:
            case steps.Squeeze() | steps.HoldPods():
                await self._tree.hold(step.files, plan.view.host.hugepage_sizes)
            case steps.SaveManagers():
                await self._tools.ledger.managers.save(step.managers)
            case steps.Publish():
                await self._publish(step)
            case steps.ReportNode():
                await self._patience.until(self._is_known(step.generation), _API_PATIENCE_S)
            case steps.TuneContainer():
                await self.tune(step)
            case steps.EndPods():
                await self._end(step, plan)
            case steps.Release():
                await self._release(step)
            case steps.PinContainers():
                # Containers follow the books by themselves as soon as those are published.
                return

    async def tune(self, step: TuneContainer) -> None:
        """Give one container its values, or keep it for later."""
        self.untuned.pop(step.container_id, None)
        if trouble := await self._tuned(step):
            log.warning(
                "container %s of pod %s keeps values of another size: %s", step.container, step.uid, trouble
            )
            self._meters.count(metrics.ERRORS.name, {"subsystem": metrics.CONTAINERS})
            self.untuned[step.container_id] = step

    async def _tuned(self, step: TuneContainer) -> str:
        """What went wrong, empty if nothing did or the container is gone."""
        record = self._loop.world.pods.get(step.uid)
        if record is None:
            return ""
        path = await looking.container_path(self._tools, record, self._loop.world, step.container_id)
        return await self._tuner.tune(step, path) if path else await self._missing(record, step.container_id)

    async def _missing(self, record: PodRecord, container_id: str) -> str:
        """A container without a cgroup has ended meanwhile, or the runtime has put it where nobody looks."""
        try:
            pod = await self._tools.runtime.inspect(record.uid)
        except RuntimeFault as fault:
            return str(fault)
        if all(run.id != container_id for run in pod.running):
            return ""
        return f"it has no cgroup below {looking.cgroup_path(record, self._loop.world)}"

    def forget(self, running: frozenset[str]) -> None:
        """Containers that run no more need no values; `running` are the ids of those that do."""
        self.untuned = {each: step for each, step in self.untuned.items() if each in running}

    async def _publish(self, step: steps.Publish) -> None:
        for uid, allocation in step.allocations.items():
            await self._tools.ledger.allocated.put(PodUid(uid), allocation)
        self._loop.tell(published(step))

    async def _end(self, step: steps.EndPods, plan: ResizePlan) -> None:
        alive = [victim for victim in step.victims if not self._is_over(victim)]
        self._loop.announce(event for victim in alive for event in telling.ended(plan, victim))
        self._loop.tell(ended({victim.uid: ending(victim) for victim in alive}))

        async def all_over() -> bool:
            return all(map(self._is_over, alive))

        if not await self._patience.until(all_over, step.wait_s) and not self._patience.interrupted():
            self._loop.announce(telling.overdue(victim) for victim in alive if not self._is_over(victim))

    async def _release(self, step: steps.Release) -> None:
        self.used_too_much = 0
        if step.limit is not None and not await self._patience.until(self._fits(step.limit), step.squeeze_s):
            if self._patience.interrupted():
                return
            self.used_too_much = await self._tree.used()
        await self._tree.hold(step.files)

    def _is_over(self, victim: Victim) -> bool:
        record = self._loop.world.pods.get(victim.uid)
        return record is None or record.stopped

    def _is_known(self, generation: int) -> Callable[[], Awaitable[bool]]:
        async def known() -> bool:
            return self._decider.shows(generation)

        return known

    def _fits(self, limit: int) -> Callable[[], Awaitable[bool]]:
        async def fits() -> bool:
            return await self._tree.used() <= limit

        return fits
