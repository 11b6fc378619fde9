"""Ends pods before the node runs dry.

Every ten seconds the node is measured, its disks less often than its memory, since they fill more slowly and cost
more to look at. Whether pods must be measured too, and which of them goes, is decided by `core.eviction`; here it
is measured, given back and told. The conditions of the node follow at once.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from flexlet.core.agent.containers import sandbox
from flexlet.core.agent.record import ADMITTED, PodRecord
from flexlet.core.agent.world import active
from flexlet.core.eviction import signals
from flexlet.core.eviction.evictor import PERIOD_S, Decision, EvictionSettings, Evictor
from flexlet.core.eviction.ranking import Candidate
from flexlet.core.eviction.signals import ALLOCATABLE_MEMORY, MEMORY_AVAILABLE, PIDS_AVAILABLE, Levels
from flexlet.core.eviction.storage import has_limits
from flexlet.core.machine.machine import Machine
from flexlet.core.node.facts import DISK_PRESSURE
from flexlet.engine.agent import measuring
from flexlet.engine.agent.endings import alive, ended
from flexlet.engine.agent.loop import AgentLoop
from flexlet.engine.agent.measuring import BRIEF, FULL, Gauge
from flexlet.engine.agent.selfview import SelfView
from flexlet.ports.clock import Clock
from flexlet.ports.meters import Meters

_DISKS_EVERY: Final = 3
_QUICK: Final = frozenset({MEMORY_AVAILABLE, ALLOCATABLE_MEMORY, PIDS_AVAILABLE})
"""What is measured every time."""

Reclaim = Callable[[Iterable[str]], Awaitable[None]]
"""Gives back what the node has no need for: ended containers, unused images."""


class Pressure:
    """Watches one node; `run` it in a task group."""

    def __init__(
        self,
        settings: EvictionSettings,
        gauge: Gauge,
        loop: AgentLoop,
        selfview: SelfView,
        machine: Callable[[], Machine],
        clock: Clock,
        meters: Meters,
        reclaim: Reclaim,
    ) -> None:
        self._evictor = Evictor(loop.world.setup.name, settings)
        self._gauge = gauge
        self._loop = loop
        self._selfview = selfview
        self._machine = machine
        self._clock = clock
        self._meters = meters
        self._reclaim = reclaim
        self._looks = 0
        self._slow: Levels = {}
        self._pressures: frozenset[str] = frozenset()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self.look()
            await self._clock.sleep(PERIOD_S)

    async def look(self) -> None:
        """Measure once, and do what follows."""
        with_disks = self._looks % _DISKS_EVERY == 0 or DISK_PRESSURE in self._pressures
        self._looks += 1
        levels = await self._levels(disks=with_disks)
        is_short = self._evictor.learn(levels, self._clock.now())
        self._tell_pressures()
        records = self._records()
        if not is_short:
            records = [each for each in records if with_disks and has_limits(Candidate(each.pod))]
        if is_short or records:
            await self._evict(records)

    async def _levels(self, *, disks: bool) -> Levels:
        source = measuring.source(self._loop.world, self._machine())
        found = signals.levels(await self._gauge.measure(source, FULL if disks else BRIEF))
        if disks:
            self._slow = {signal: level for signal, level in found.items() if signal not in _QUICK}
        return self._slow | found

    def _tell_pressures(self) -> None:
        found = self._evictor.pressures(self._clock.now())
        if found != self._pressures:
            self._pressures = found
            self._selfview.tell(pressures=found)

    def _records(self) -> list[PodRecord]:
        """Pods that could be ended."""
        return [
            record
            for record in active(self._loop.world).values()
            if record.admission == ADMITTED and record.ending is None and not record.gone
        ]

    async def _evict(self, records: list[PodRecord]) -> None:
        candidates = await self._candidates(records)
        decision = self._decided(candidates)
        if decision.reclaim:
            await self._reclaim(decision.reclaim)
            self._evictor.reclaimed(await self._levels(disks=True))
            decision = self._decided(candidates)
        for eviction in decision.evictions:
            self._meters.count("kubelet_evictions", {"eviction_signal": eviction.signal})
        if decision.evictions:
            self._loop.tell(ended({each.uid: each.ending for each in decision.evictions}))

    def _decided(self, candidates: list[Candidate]) -> Decision:
        decision = self._evictor.decide(candidates, alive(self._loop.world), self._clock.now())
        self._loop.announce(decision.events)
        return decision

    async def _candidates(self, records: list[PodRecord]) -> list[Candidate]:
        world = self._loop.world
        reading = await self._gauge.measure(measuring.source(world, self._machine(), records), FULL)
        readings = {each.uid: each for each in reading.pods}
        return [Candidate(sandbox.as_allocated(each, world.setup), readings.get(each.uid)) for each in records]
