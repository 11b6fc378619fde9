"""Makes the node follow its machine: one size at a time, the latest one, until it is done.

`wish` says how large the machine is now; whoever is still busy with an older size is interrupted where it waits.
What fails is tried again, first after a second and then ever more seldom; until the new size is published the node
keeps its old one. While a plan is made and until it is published nobody is let in and no resize is granted: it
must be made of what is true. After a restart the machine is compared with the size that was published last, and
what was begun and not finished is taken up again.
"""

import asyncio
import logging
from typing import Final, NamedTuple

import msgspec

from flexlet.core.hotplug import telling
from flexlet.core.hotplug.plan import NoChange, ResizePlan, plan
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.machine import difference
from flexlet.core.machine.machine import HalfPlugged, Machine
from flexlet.core.node.facts import Resizing
from flexlet.engine.agent import present
from flexlet.engine.agent.loop import AgentLoop
from flexlet.engine.agent.resizing.book import Generations
from flexlet.engine.agent.resizing.execution import PlanExecution
from flexlet.engine.agent.resizing.late import Late
from flexlet.engine.agent.resizing.looking import Looking
from flexlet.engine.agent.resizing.pending import PendingSize
from flexlet.engine.agent.resizing.publishing import applied
from flexlet.engine.agent.resizing.saying import Saying
from flexlet.engine.pause import pause
from flexlet.errors import HostError
from flexlet.ports.clock import Clock

log: Final = logging.getLogger(__name__)

_FIRST_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 60.0
_AGAIN_S: Final = 10.0
"""When containers are tried again that could not be given their values, and what remained is looked at again."""


class Wanted(NamedTuple):
    """A size to work on."""

    machine: Machine
    seen_at: float
    """On the clock's monotonic time."""
    evicts: bool
    """Whether pods without room are evicted for it."""


class NodeResizer:
    """Owner of the node's size. `run` it once every source of pods was heard."""

    def __init__(
        self,
        generations: Generations,
        looking: Looking,
        late: Late,
        execution: PlanExecution,
        loop: AgentLoop,
        saying: Saying,
        pending: PendingSize,
        clock: Clock,
    ) -> None:
        self._generations = generations
        self._looking = looking
        self._loop = loop
        self._saying = saying
        self._pending = pending
        self._late = late
        self._execution = execution
        execution.interrupted = self.interrupted
        self._clock = clock
        self._node = loop.world.setup.name
        self._wanted: Wanted | None = None
        self._arrived = asyncio.Event()
        self._notes: tuple[str, ...] = ()
        self._not_followed = ""
        """Why the node keeps a size that its machine no longer has."""
        self._half: HalfPlugged | None = None
        self.turns = asyncio.Lock()
        """Held by whoever decides about the node's size: one at a time."""
        self._is_busy = False
        """Whether a size is being worked on, or is waiting to be tried again."""

    @property
    def is_unfinished(self) -> bool:
        """Whether a size counts for which not everything is done."""
        return self._generations.unfinished is not None and not self._pending.is_done

    def interrupted(self) -> bool:
        """Whether there is a newer size than the one being worked on."""
        return self._wanted is not None

    async def begin(self, machine: Machine, settings: ResizeSettings) -> Machine:
        """Go on from an earlier agent; the machine that all pods are held to until `run` follows."""
        await self._generations.open(machine, settings)
        # Whatever starts before the first plan is given the values of the machine as it was found.
        await self._generations.attempt(machine)
        self._notes = self._generations.notes
        self._execution.count_from_now(self._generations.current)
        current = self._generations.current
        # Size, generation and condition belong together: what the machine is by now is told when it counts.
        self._saying.tell(machine=current.machine, resizing=self._at_rest())
        if self.is_unfinished or self._generations.tried or self._has_changed(machine):
            # Pods that were being evicted are not started again in order to be waited for.
            lasted = self._generations.has_evicted and not self._has_changed(machine)
            lasted &= self._looking.evict != "never"
            self._is_busy = True
            self._say(telling.taken_up(current.number))
            self._want(Wanted(machine, self._clock.monotonic(), evicts=lasted or self._is_immediate))
        return self._generations.current.machine

    def wish(self, machine: Machine, seen_at: float) -> None:
        """The machine is as large as this; replaces whatever was wished before and not begun.

        `seen_at` is when that was noticed, on the clock's monotonic time.
        """
        self._want(Wanted(machine, seen_at, evicts=self._is_immediate))

    def _want(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._arrived.set()

    @property
    def _is_immediate(self) -> bool:
        return self._looking.evict == "immediate"

    def found_half_plugged(self, parts: HalfPlugged | None) -> None:
        """Parts are there that nobody brought online, or there are none any more."""
        self._half = parts
        if parts is not None:
            self._loop.announce((telling.half_plugged(self._node, parts),))
        if not self.interrupted() and not self._is_busy:
            self._say(self._at_rest())

    async def run(self) -> None:
        """Until cancelled."""
        after_trouble_s = _FIRST_PAUSE_S
        while True:
            await self._wait(self._next_s())
            wanted = self._take()
            try:
                if wanted is None:
                    await self._at_leisure()
                    continue
                async with self.turns:
                    await self._follow(wanted)
            except HostError as error:
                self._struggle(error)
                await self._wait(after_trouble_s)
                if not self.interrupted():
                    self._want(wanted or self._published(evicts=self._is_immediate))
                after_trouble_s = min(2 * after_trouble_s, _LONGEST_PAUSE_S)
            else:
                after_trouble_s = _FIRST_PAUSE_S

    def _take(self) -> Wanted | None:
        """The next size to work on: one that was wished, or the same one again because a shortage has lasted."""
        if self._wanted is not None:
            wanted, self._wanted = self._wanted, None
            return wanted
        found = self._pending.decide()
        return self._published(evicts=True) if found is not None and found.act == "evict" else None

    def _published(self, *, evicts: bool) -> Wanted:
        """The size that counts, once more."""
        return Wanted(self._generations.current.machine, self._clock.monotonic(), evicts=evicts)

    def _next_s(self) -> float | None:
        """How long to wait for another size before there is something else to do."""
        again = [_AGAIN_S] if self._generations.worn or self._notes else []
        found = self._pending.decide()
        due = [] if found is None else [max(0.0, found.wake_at - self._clock.monotonic())]
        return min((*again, *due), default=None)

    async def _wait(self, seconds: float | None) -> None:
        """Until a size is wished, or for a time; not at all if one is."""
        if not self.interrupted():
            await pause(self._arrived, self._clock, seconds)
        self._arrived.clear()

    async def _at_leisure(self) -> None:
        """Nothing new: what is done with is closed, and what remained is looked at again."""
        found = self._pending.decide()
        if found is not None:
            if found.act == "finish":
                async with self.turns:
                    await self._execution.finish()
            return
        try:
            async with self.turns:
                still = await self._late.look(self._generations.current.machine)
        except HostError as error:
            log.warning("some containers keep values of another size for now: %s", error)
            return
        if still != self._notes:
            self._notes = still
            self._rest()

    async def _follow(self, wanted: Wanted) -> None:
        """Plan and carry out; if the machine changes meanwhile the rest is left to the next plan."""
        noticed_at = self._clock.now() - (self._clock.monotonic() - wanted.seen_at)
        continues = self._pending.continues(wanted.machine)
        if self._pending.is_done and not continues:
            await self._execution.finish()
        self._is_busy = True
        await applied(self._loop, present.changed(resizing=True))
        try:
            looked = await self._looking.look(wanted.machine)
            situation = msgspec.structs.replace(looked, evicts=wanted.evicts)
            book = self._generations
            sizes = (book.unfinished, book.tried, book.worn)
            found = plan(book.before, wanted.machine, noticed_at, situation, *sizes, continues=continues)
            if isinstance(found, NoChange):
                log.info("the node keeps its size: %s", found.why)
                self._not_followed = found.why if self._has_changed(wanted.machine) else ""
                self._rest()
            elif await self._execution.carry_out(found, situation, wanted.seen_at):
                self._carried_out(found)
        finally:
            self._loop.tell(present.changed(resizing=False))

    def _carried_out(self, found: ResizePlan) -> None:
        """Everything is done for now; the size is finished when the machine was quiet for long enough."""
        self._pending.wait()
        if found.is_provisional:
            self._say(telling.waiting(found, self._looking.evict_quiet_s))
            return
        self._notes, self._not_followed = found.notes, ""
        self._rest()

    def _rest(self) -> None:
        """The node has the size of its machine, or will not follow it."""
        self._is_busy = False
        self._say(self._at_rest())

    def _struggle(self, error: HostError) -> None:
        """It is tried again; people are told meanwhile."""
        log.warning("the node could not follow its machine, and tries again: %s", error)
        self._loop.announce((telling.failed(self._node, str(error)),))
        self._say(telling.has_failed(self._generations.current.number, str(error)))

    def _at_rest(self) -> Resizing:
        number = self._generations.current.number
        return telling.stable(number, self._notes, self._half, self._not_followed)

    def _say(self, resizing: Resizing) -> None:
        self._saying.tell(resizing=resizing)

    def _has_changed(self, machine: Machine) -> bool:
        return bool(difference.difference(self._generations.current.machine, machine))
