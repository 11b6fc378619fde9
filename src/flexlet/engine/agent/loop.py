"""The one task that owns the picture of the node's pods: fold what was learned, decide, set deeds going.

Observations arrive in a mailbox from anywhere on the loop. A round takes all that is there, folds it, lets the
household decide (who may come in, whose resize is granted) and then every pod that changed or whose time has come.
Deeds run as tasks of one group and end as observations in the same mailbox; the loop never waits for one.

Who may touch what: only `run` changes `world`. On cancellation the deeds are cancelled with the group; nothing in
the runtime is undone, since a restart recovers from wherever they were.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, Protocol

import msgspec

from flexlet.core.actions import RecordEvent
from flexlet.core.agent import household
from flexlet.core.agent.deeds import PodDeed, SaveAllocation
from flexlet.core.agent.fold import folded
from flexlet.core.agent.household import Settlement
from flexlet.core.agent.lifecycle import decide
from flexlet.core.agent.observations import (
    Finished,
    HookChanged,
    Outcome,
    PodGone,
    PodObservation,
    PodSeen,
    PullBegan,
    Shown,
)
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.world import World, joined
from flexlet.core.journal import notes
from flexlet.core.journal.entry import DECIDED, LEARNED, TOLD, Note
from flexlet.core.resize import triggers
from flexlet.engine.agent.alarms import Alarms
from flexlet.engine.pause import pause
from flexlet.ports.clock import Clock
from flexlet.ports.journal import Journal

_EVENTS_AT_ONCE: Final = 1000
_LATE_S: Final = 0.1
"""A round that takes longer than this is counted: it held everybody else up."""

_SURROUNDINGS: Final = tuple(name for name in World.__struct_fields__ if name != "pods")

Change = Callable[[World], World]
"""Something about the node itself that was learned: allocatable, readiness, labels, pressure."""

Watcher = Callable[[World, World], None]
"""Told of the world before and after a round."""


class Hands(Protocol):
    """Whoever carries out deeds; `learn` may be called with observations made on the way."""

    async def do(self, deed: PodDeed, record: PodRecord, world: World) -> Outcome:
        """Carry out a deed to its end; failures are outcomes, not exceptions."""
        ...


class Witness(Protocol):
    """Whoever counts what happens; is told in the loop's own task, so it must be quick and cannot fail."""

    def learned(self, before: PodRecord | None, after: PodRecord, news: PodObservation, now: float) -> None:
        """An observation was folded."""
        ...

    def settled(self, before: World, settlement: Settlement) -> None:
        """It was decided who may come in and whose resize is granted."""
        ...

    def told(self, event: RecordEvent, now: float) -> None:
        """People are told something."""
        ...

    def forgotten(self, uid: str) -> None:
        """Nothing is left of a pod."""
        ...


class AgentLoop:
    """The pods of one node. `tell` it what was learned; `run` it in a task group."""

    def __init__(
        self,
        world: World,
        hands: Hands,
        clock: Clock,
        journal: Journal,
        record_event: Callable[[RecordEvent], Awaitable[None]],
        forget: Callable[[str], None],
        witness: Witness | None = None,
    ) -> None:
        self.world = world
        self.rounds = 0
        self.late_rounds = 0
        self.longest_round_s = 0.0
        self.watchers: list[Watcher] = []
        """Told after each round that changed the world, in the loop's own task; they must be quick."""
        self._hands = hands
        self._clock = clock
        self._journal = journal
        self._record_event = record_event
        self._forget = forget
        self._witness = witness
        self._mail: list[PodObservation | Change] = []
        self._arrived = asyncio.Event()
        self._alarms = Alarms()
        self._events: asyncio.Queue[RecordEvent] = asyncio.Queue(_EVENTS_AT_ONCE)

    def tell(self, *observations: PodObservation | Change) -> None:
        """Put observations into the mailbox."""
        self._mail += observations
        if observations:
            self._arrived.set()

    def announce(self, events: Iterable[RecordEvent]) -> None:
        """Tell people what was decided elsewhere about the node or its pods."""
        self._tell_of(events, self._clock.now())

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._tell_people())
            while True:
                await self._wait()
                began = self._clock.monotonic()
                self._round(group)
                self._count(self._clock.monotonic() - began)

    async def _wait(self) -> None:
        """Until mail arrives or somebody's time has come."""
        if not self._mail:
            due = self._alarms.next()
            seconds = None if due is None else max(0.0, due - self._clock.now())
            await pause(self._arrived, self._clock, seconds)
        self._arrived.clear()
        # Deeds that were set going get their turn before the next round.
        await asyncio.sleep(0)

    def _round(self, group: asyncio.TaskGroup) -> None:
        now, before = self._clock.now(), self.world
        touched = self._alarms.due(now)
        mail, self._mail = self._mail, []
        for observation in mail:
            touched |= self._fold(observation, now)
        touched |= self._settle(now, group)
        for uid in touched:
            self._decide(uid, now, group)
        if self.world.look_again_at is not None:
            self._alarms.ring("", self.world.look_again_at)
        self._journal.flush()
        self.rounds += 1
        if self.world is not before:
            for told in self.watchers:
                told(before, self.world)

    def _fold(self, observation: PodObservation | Change, now: float) -> set[str]:
        if isinstance(observation, Finished) and isinstance(observation.deed, SaveAllocation):
            return self._take(household.granted(self.world, observation, now), now)
        if not isinstance(observation, PodSeen | PodGone | Shown | PullBegan | HookChanged | Finished):
            return self._change(observation)
        uid = observation.pod.metadata.uid if isinstance(observation, PodSeen) else observation.uid
        before = self.world.pods.get(uid)
        if before is None:
            return self._meet(observation, now)
        if isinstance(observation, PodSeen) and _is_stale(before, observation):
            return set()
        after = folded(before, observation, self.world.setup, now)
        if after.record is before and not after.events and not isinstance(observation, HookChanged):
            return set()
        self._see(before, after.record, observation, now)
        self.world = self.world.with_pods({uid: after.record}).because(_occasion(before, after.record, self.world))
        self._tell_of(after.events, now)
        return {uid}

    def _change(self, change: object) -> set[str]:
        """The node itself changed, and with it maybe every pod."""
        before = self.world
        self.world = change(before)  # type: ignore[operator]
        if self.world.setup.allocatable != before.setup.allocatable:
            grew = triggers.of_node(before.setup.allocatable, self.world.setup.allocatable)
            self.world = self.world.because(grew)
        if self.world.listed and not before.listed:
            self.world = self.world.because(triggers.PODS_ADDED)
        return _touched(before, self.world)

    def _see(self, before: PodRecord | None, after: PodRecord, news: PodObservation, now: float) -> None:
        self._note(now, LEARNED, after.uid, notes.learned(news, before))
        if self._witness is not None:
            self._witness.learned(before, after, news, now)

    def _note(self, now: float, kind: str, uid: str, note: Note | None) -> None:
        if note is not None:
            self._journal.note(now, kind, uid, note)

    def _meet(self, observation: PodObservation, now: float) -> set[str]:
        """Only a source can bring a pod; news of one that is unknown here are dropped."""
        if not isinstance(observation, PodSeen):
            return set()
        record = joined(self.world, observation, now)
        self._see(None, record, observation, now)
        self.world = self.world.with_pods({record.uid: record})
        return {record.uid}

    def _settle(self, now: float, group: asyncio.TaskGroup) -> set[str]:
        settlement = household.settle(self.world, now)
        if self._witness is not None:
            self._witness.settled(self.world, settlement)
        touched = self._take(settlement, now)
        for deed in settlement.deeds:
            self._begin(deed, now, group)
        return touched

    def _take(self, settlement: Settlement, now: float) -> set[str]:
        self.world = settlement.world
        self._tell_of(settlement.events, now)
        return set(settlement.touched)

    def _decide(self, uid: str, now: float, group: asyncio.TaskGroup) -> None:
        record = self.world.pods.get(uid)
        if record is None:
            return
        decision = decide(record, self.world.setup, now)
        if decision.record is not record:
            self.world = self.world.with_pods({uid: decision.record})
        self._alarms.ring(uid, decision.wake_at)
        self._tell_of(decision.events, now)
        for deed in decision.deeds:
            self._begin(deed, now, group)
        if is_over(decision.record):
            self._drop(uid)

    def _begin(self, deed: PodDeed, now: float, group: asyncio.TaskGroup) -> None:
        self._note(now, DECIDED, deed.uid, notes.decided(deed))
        group.create_task(self._carry_out(deed, self.world.pods[deed.uid], now))

    async def _carry_out(self, deed: PodDeed, record: PodRecord, began_at: float) -> None:
        outcome = await self._hands.do(deed, record, self.world)
        ended_at = self._clock.now()
        self.tell(Finished(deed=deed, outcome=outcome, began_at=began_at, ended_at=ended_at))

    def _drop(self, uid: str) -> None:
        """Nothing is left of the pod anywhere."""
        self.world = self.world.without((uid,)).because(triggers.PODS_REMOVED)
        self._alarms.ring(uid, None)
        self._forget(uid)
        if self._witness is not None:
            self._witness.forgotten(uid)
        self._arrived.set()

    def _tell_of(self, events: Iterable[RecordEvent], now: float) -> None:
        for event in events:
            self._note(now, TOLD, event.about.get("uid", ""), notes.told(event))
            if self._witness is not None:
                self._witness.told(event, now)
            if not self._events.full():
                self._events.put_nowait(event)

    async def _tell_people(self) -> None:
        while True:
            await self._record_event(await self._events.get())

    def _count(self, seconds: float) -> None:
        self.longest_round_s = max(self.longest_round_s, seconds)
        self.late_rounds += seconds > _LATE_S


def is_over(record: PodRecord) -> bool:
    """Whether the pod is gone from its source, and everything of it from the node."""
    return record.gone and record.stopped and record.cleaned and not record.underway


def _touched(before: World, after: World) -> set[str]:
    """Whose turn it is after a change: all pods, unless only records were changed."""
    if after is before:
        return set()
    if any(getattr(after, name) is not getattr(before, name) for name in _SURROUNDINGS):
        return set(after.pods)
    return {uid for uid, record in after.pods.items() if before.pods.get(uid) is not record}


def _is_stale(record: PodRecord, seen: PodSeen) -> bool:
    """Whether the API showed something newer already: answers to writes overtake the watch."""
    known, shown = record.pod.metadata.resource_version, seen.pod.metadata.resource_version
    return known.isdecimal() and shown.isdecimal() and int(shown) < int(known)


def _occasion(before: PodRecord, after: PodRecord, world: World) -> str | None:
    """Whether what was learned of a pod is a reason to look at waiting resizes."""
    gates = world.setup.gates
    if before.pod is after.pod:
        return triggers.POD_TERMINATED if after.stopped and not before.stopped else None
    asked = triggers.of_update(before.pod, after.pod, gates)
    return asked or triggers.of_status(before.pod, after.pod, after.allocation, gates)


def replaced(**fields: object) -> Change:
    """A change of some fields of the node's setup."""
    return lambda world: msgspec.structs.replace(world, setup=msgspec.structs.replace(world.setup, **fields))
