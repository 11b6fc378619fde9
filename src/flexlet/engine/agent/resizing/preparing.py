"""Makes the node smaller before its hardware goes, when somebody announces that (node-resize.md §4.8).

What to do is decided in `core.hotplug.prepared`. A decision and what must hold with it (the state on disk, what is
offered, the books of the CPU manager) are one turn, in which nobody is let in and the node does not change its
size; whatever takes time (evictions, switching parts) is done after it. What went offline is a change of the
machine like any other: the resizer follows it, and finds that everybody fits.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from flexlet.api.cpuset import CpuSet
from flexlet.api.pod import ResourceList
from flexlet.core.agent.admission import is_leaving
from flexlet.core.agent.world import World, active
from flexlet.core.detection import judging
from flexlet.core.hotplug import prepared, telling, wish
from flexlet.core.hotplug.preparing import (
    BringOnline,
    Decision,
    DrainCpus,
    Evict,
    FreeMemory,
    Prepared,
    PrepareStep,
    Scene,
    TakeOffline,
    UndoDrain,
)
from flexlet.core.machine.machine import Machine
from flexlet.core.node.decider import NodeDecider
from flexlet.core.node.settings import NodeSettings
from flexlet.engine.agent import present
from flexlet.engine.agent.detecting import Detecting
from flexlet.engine.agent.hands.tools import Tools
from flexlet.engine.agent.loop import AgentLoop
from flexlet.engine.agent.resizing.book import Generations
from flexlet.engine.agent.resizing.looking import Looking
from flexlet.engine.agent.resizing.publishing import applied, offered
from flexlet.engine.agent.resizing.resizer import NodeResizer
from flexlet.engine.agent.resizing.roommaking import RoomMaking
from flexlet.engine.agent.resizing.saying import Saying
from flexlet.errors import HostError

log: Final = logging.getLogger(__name__)

_LOOK_S: Final = 0.5
"""How often to see whether something happened while an unplug is being prepared."""
_AGAIN_S: Final = 1.0
_AT_REST: Final = ("idle", "refused")
_TOUCHES_PARTS: Final = ("offlining", "ready", "restoring")


class Preparing:
    """Owner of the prepared state. `begin` it with the first machine, `run` it beside the resizer."""

    def __init__(
        self,
        settings: NodeSettings,
        generations: Generations,
        resizer: NodeResizer,
        looking: Looking,
        detecting: Detecting,
        making: RoomMaking,
        tools: Tools,
        loop: AgentLoop,
        decider: NodeDecider,
        saying: Saying,
        whole: Callable[[World], ResourceList],
    ) -> None:
        self._settings = settings
        self._generations = generations
        self._resizer = resizer
        self._looking = looking
        self._detecting = detecting
        self._tools = tools
        self._loop = loop
        self._decider = decider
        self._saying = saying
        self._whole = whole
        self._clock = tools.clock
        self._making = making
        self._state = Prepared()
        self._last = Decision(state=self._state)
        self._scene: Scene | None = None
        self._known: object = None
        """What was known when it was last decided: without news there is nothing to decide."""
        self._woken = asyncio.Event()

    def begin(self, machine: Machine) -> ResourceList:
        """Go on from an earlier agent; what is offered at most until `run` has decided."""
        self._state = self._generations.prepared
        number, managing = self._generations.current.number, self._loop.world.setup.managers
        self._last = prepared.taken_up(self._state, machine, number, self._settings, managing)
        self._detecting.leave_offline(prepared.kept_offline(self._state))
        self._saying.offer(self._last)
        return self._last.ceiling

    def wake(self) -> None:
        """The API has shown the Node."""
        self._woken.set()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            self._woken.clear()
            try:
                steps = await self._turn() if self._has_news() else ()
                await self._carry_out(steps)
            except HostError as error:
                log.warning("the unplug is prepared later: %s", error)
                self._known = None
                await self._clock.sleep(_AGAIN_S)
                continue
            if not steps:
                await self._wait()

    async def _carry_out(self, steps: tuple[PrepareStep, ...]) -> None:
        """One after the other, until a part refuses or somebody wants something else."""
        wanted = self._wish()
        for step in steps:
            before = self._state
            await self._do(step)
            if self._wish() != wanted or (isinstance(step, FreeMemory | TakeOffline) and self._state != before):
                break

    async def _wait(self) -> None:
        """Until the Node is seen; while something is under way, not for long."""
        if self._has_news():
            return
        if self._state.phase in _AT_REST:
            await self._woken.wait()
        else:
            await self._clock.sleep(_LOOK_S)

    def _has_news(self) -> bool:
        if self._state.phase in _AT_REST:
            return self._wish() != self._state.wish
        due = self._last.wake_at is not None and self._clock.now() >= self._last.wake_at
        return due or self._news() != self._known

    def _news(self) -> object:
        """Whatever a decision depends on, as far as it can be known without looking."""
        pods = active(self._loop.world).values()
        here = [(each.uid, is_leaving(each), each.granted or each.allocation) for each in pods]
        size = (self._generations.current, self._resizer.is_unfinished, self._resizer.interrupted())
        return self._wish(), self._state, self._detecting.machine, size, here

    def _wish(self) -> str:
        node = self._decider.published
        notes = {} if node is None else node["metadata"].get("annotations") or {}
        return str(notes.get(wish.ANNOTATION, ""))

    async def _turn(self) -> tuple[PrepareStep, ...]:
        """Decide, and make true what the steps rely on."""
        async with self._resizer.turns:
            await applied(self._loop, present.changed(resizing=True))
            try:
                known, self._known = self._news(), None
                scene = self._scene = await self._look()
                decision = prepared.decide(self._state, scene, self._clock.now())
                for step in decision.steps:
                    if isinstance(step, DrainCpus | UndoDrain):
                        await self._use(step, scene)
                await self._adopt(decision)
                self._known = known
            finally:
                self._loop.tell(present.changed(resizing=False))
        return decision.steps

    async def _look(self) -> Scene:
        machine = self._detecting.machine
        if machine is None or self._state.phase in _TOUCHES_PARTS:
            machine = await self._detecting.look()
        return Scene(
            wish=self._wish(),
            machine=machine,
            generation=self._generations.current.number,
            published=self._is_published(machine),
            situation=await self._looking.look(machine),
            movable=frozenset(machine.movable_blocks),
        )

    def _is_published(self, machine: Machine) -> bool:
        """Whether the node has followed its machine, and is done with that."""
        book = self._generations
        busy = self._resizer.is_unfinished or self._resizer.interrupted()
        return not busy and not judging.worthwhile(book.current.machine, machine, self._looking.jitter)

    async def _adopt(self, decision: Decision) -> None:
        """On disk first; then the node, its admission and its cluster go by it."""
        await self._generations.prepare(decision.state)
        before, self._state, self._last = self._state, decision.state, decision
        self._detecting.leave_offline(prepared.kept_offline(decision.state))
        await applied(self._loop, offered(decision.ceiling, self._whole))
        self._saying.offer(decision)
        if before.phase != decision.state.phase:
            log.info("unplug to %s: %s %s", decision.state.wish, decision.state.phase, decision.refused)
        if decision.refused and before != decision.state:
            self._loop.announce((telling.refusal(self._settings.name, decision.refused),))

    async def _use(self, step: DrainCpus | UndoDrain, scene: Scene) -> None:
        await self._tools.ledger.managers.save(step.managers)
        await applied(self._loop, present.changed(managers=step.managers))
        if isinstance(step, DrainCpus):
            self._loop.announce(telling.reassigned(step.reassigned, scene.situation.tenants))

    async def _do(self, step: PrepareStep) -> None:
        match step:
            case Evict():
                refusal = await self._making.evict(step, self._last.ceiling)
                self._state = prepared.answered(self._state, step, refusal)
            case FreeMemory():
                await self._free(step)
            case DrainCpus():
                await self._making.drained(self._leaving())
            case TakeOffline() | BringOnline():
                await self._switch(step)
            case UndoDrain():
                # Containers follow the books by themselves.
                return

    async def _free(self, step: FreeMemory) -> None:
        used = await self._making.free(step)
        if used:
            self._state = prepared.crowded(self._state, used, step.limit, self._clock.now())

    async def _switch(self, step: TakeOffline | BringOnline) -> None:
        refusal = await self._making.switch(step)
        if refusal is not None and isinstance(step, BringOnline):
            log.warning("%s does not come back: %s", step.part, refusal.message)
            self._detecting.mind(step.part)
        if self._scene is not None:
            self._state = prepared.switched(self._state, step.part, refusal, self._scene, self._clock.now())

    def _leaving(self) -> CpuSet:
        return CpuSet.of(part.number for part in self._state.parts if part.kind == "cpu")
