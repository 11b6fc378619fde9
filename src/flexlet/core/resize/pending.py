"""The waiting list of resizes, and one pass over it.

A list of pods in the order of `queue`, a pass as a pure function of what the node knows at this moment. The result
says everything that follows: who is granted what, the conditions and events, whom to preempt, whom to sync, when
to look again. A refused pod never blocks those behind it.

The caller writes the granted allocations durably, all in one checkpoint, before it uses anything of the result. If
that fails it drops the whole result: the old list is still true, and the next pass repeats it.

Three decisions of flexlet: a pod that is terminal or being deleted is not asked (upstream starts resizes that
never complete); a wish that exceeds the node waits aside and is asked again when the node grows; looking again
without a change is no reason to sync a pod.
"""

from collections.abc import Iterable, Mapping

import msgspec

from flexlet.api.pod import Pod
from flexlet.api.units import PodUid
from flexlet.core.actions import RecordEvent
from flexlet.core.resize import conditions, events, queue, triggers
from flexlet.core.resize.admit import RULES, NodeFacts, Rule, Wish, admit
from flexlet.core.resize.allocation import Allocation, is_pending, of_spec
from flexlet.core.resize.conditions import ResizeConditions
from flexlet.core.resize.neighbours import Neighbour, neighbour
from flexlet.core.resize.room import NODE_CAPACITY
from flexlet.core.resize.verdict import Deferred, Granted, Infeasible, Preempting
from flexlet.core.resources.statusaware import DEFERRED, INFEASIBLE


class Waiting(msgspec.Struct, frozen=True):
    """Pods whose desired resources are not allocated."""

    queue: tuple[PodUid, ...] = ()
    oversized: tuple[PodUid, ...] = ()
    """Refused because the node itself is too small."""


class PodFacts(msgspec.Struct, frozen=True):
    """A pod on this node: its API object (with the newest status), what was granted, how its resizes stand."""

    pod: Pod
    allocation: Allocation
    conditions: ResizeConditions = conditions.NONE
    leaving: bool = False
    """Being stopped by the node itself (evicted, preempted), whatever the API says."""


class World(msgspec.Struct, frozen=True, kw_only=True):
    """What the node knows when it goes through the list."""

    node: NodeFacts
    pods: Mapping[PodUid, PodFacts]
    ready: bool = True
    """Whether all sources of pods have been heard; before that nobody's room is known."""
    rules: tuple[Rule, ...] = RULES


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from a pass."""

    waiting: Waiting
    wake_at: float | None = None
    granted: dict[PodUid, Allocation] = {}
    conditions: dict[PodUid, ResizeConditions] = {}
    events: tuple[RecordEvent, ...] = ()
    preempt: tuple[PodUid, ...] = ()
    sync: tuple[PodUid, ...] = ()
    accepted: int = 0
    """Resizes that had been Deferred, for the metric of this trigger."""
    infeasible: tuple[str, ...] = ()
    """The reason_detail of every Infeasible answer."""


def push(waiting: Waiting, uid: PodUid, world: World) -> Waiting:
    """Queue a pod and sort the list anew; one that is queued already keeps its place."""
    return push_all(waiting, (uid,), world)


def push_all(waiting: Waiting, uids: Iterable[PodUid], world: World) -> Waiting:
    """Queue pods and sort the list once; if all are queued already it stays as it is."""
    queued = frozenset(waiting.queue)
    new = [each for each in uids if each not in queued]
    if not new:
        return waiting
    known = [each for each in (*waiting.queue, *new) if each in world.pods]
    known.sort(key=lambda each: _order(world.pods[each], world))
    return Waiting(tuple(known), tuple(each for each in waiting.oversized if each not in new))


def retry_oversized(waiting: Waiting, world: World) -> Waiting:
    """Queue those the node was too small for; done when it has grown."""
    waiting = push_all(waiting, waiting.oversized, world)
    return msgspec.structs.replace(waiting, oversized=())


def evaluate(waiting: Waiting, world: World, trigger: str, now: float) -> Outcome:
    """One pass over the list."""
    if not world.ready:
        return Outcome(waiting=waiting, wake_at=now + triggers.FIRST_RETRY_S if waiting.queue else None)
    if trigger == triggers.NODE_RESIZED:
        waiting = retry_oversized(waiting, world)
    attempt = _Attempt(waiting, world, now)
    for uid in waiting.queue:
        attempt.ask(uid)
    return attempt.outcome()


def _order(facts: PodFacts, world: World) -> queue.Order:
    return queue.order(facts.pod, facts.allocation, facts.conditions.waiting_since, world.node.rules.gates)


def _is_over(facts: PodFacts) -> bool:
    deleted = facts.pod.metadata.deletion_timestamp is not None
    return deleted or facts.leaving or triggers.is_terminal(facts.pod)


class _Attempt:
    """A pass under way: later pods see what earlier ones were granted."""

    def __init__(self, waiting: Waiting, world: World, now: float) -> None:
        self.world = world
        self.now = now
        self.gates = world.node.rules.gates
        self.around: dict[PodUid, Neighbour] = {
            uid: neighbour(facts.pod, facts.allocation, self.gates, leaving=facts.leaving)
            for uid, facts in world.pods.items()
            if not triggers.is_terminal(facts.pod)
        }
        self.staying: list[PodUid] = []
        self.oversized = list(waiting.oversized)
        self.granted: dict[PodUid, Allocation] = {}
        self.conditions: dict[PodUid, ResizeConditions] = {}
        self.events: list[RecordEvent] = []
        self.preempt: list[PodUid] = []
        self.accepted = 0
        self.infeasible: list[str] = []

    def ask(self, uid: PodUid) -> None:
        facts = self.world.pods.get(uid)
        if facts is None or _is_over(facts) or uid in self.preempt:
            return
        if not is_pending(facts.pod, facts.allocation, self.gates):
            self.conditions[uid] = conditions.settled(facts.conditions)
            return
        others = tuple(each for key, each in self.around.items() if key != uid)
        verdict = admit(Wish(facts.pod, facts.allocation, others), self.world.node, self.world.rules)
        match verdict:
            case Granted():
                self._grant(uid, facts)
            case Preempting(victims=victims):
                self._make_room(uid, victims)
            case _:
                self._refuse(uid, facts, verdict)

    def _grant(self, uid: PodUid, facts: PodFacts) -> None:
        allocation = of_spec(facts.pod, self.gates)
        self.granted[uid] = allocation
        self.around[uid] = neighbour(facts.pod, allocation, self.gates)
        self.conditions[uid] = conditions.allocated(facts.pod.metadata.generation, self.now)
        self.events.append(events.started(facts.pod))
        self.accepted += facts.conditions.is_deferred

    def _refuse(self, uid: PodUid, facts: PodFacts, refusal: Deferred | Infeasible) -> None:
        reason = DEFERRED if isinstance(refusal, Deferred) else INFEASIBLE
        generation = facts.pod.metadata.generation
        after = conditions.refused(facts.conditions, reason, refusal.message, generation, self.now)
        self.conditions[uid] = after
        if conditions.is_news(facts.conditions, after):
            self.events.append(events.refused(facts.pod, refusal))
        if isinstance(refusal, Deferred):
            self.staying.append(uid)
            return
        self.infeasible.append(refusal.detail)
        if refusal.detail == NODE_CAPACITY:
            self.oversized.append(uid)

    def _make_room(self, uid: PodUid, victims: tuple[PodUid, ...]) -> None:
        self.staying.append(uid)
        for victim in victims:
            self.preempt.append(victim)
            self.events.append(events.preempted(self.world.pods[victim].pod))
            self.around[victim] = msgspec.structs.replace(self.around[victim], leaving=True)

    def outcome(self) -> Outcome:
        changed = [
            uid
            for uid, after in self.conditions.items()
            if uid in self.granted or self._differs(self.world.pods[uid].conditions, after)
        ]
        return Outcome(
            waiting=Waiting(tuple(self.staying), tuple(uid for uid in self.oversized if uid in self.world.pods)),
            wake_at=self.now + triggers.RETRY_S if self.staying else None,
            granted=self.granted,
            conditions=self.conditions,
            events=tuple(self.events),
            preempt=tuple(self.preempt),
            sync=tuple(changed),
            accepted=self.accepted,
            infeasible=tuple(self.infeasible),
        )

    @staticmethod
    def _differs(before: ResizeConditions, after: ResizeConditions) -> bool:
        return conditions.without_probe_times(before) != conditions.without_probe_times(after)
