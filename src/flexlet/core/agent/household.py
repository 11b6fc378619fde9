"""Decisions that concern more than one pod: who may come in, whose resize is granted, who must make way.

A grant is a deed, not a fact: it counts as held at once, and is used only when the ledger has it on disk. While a
grant is on its way no other is decided, so that every pass sees what the one before it gave away.
"""

from collections.abc import Iterable

import msgspec

from flexlet.api.units import PodUid
from flexlet.core.actions import RecordEvent
from flexlet.core.agent import admission, ballooning, managing, pinning
from flexlet.core.agent.admission import Admitted, Rejected
from flexlet.core.agent.deeds import PodDeed, SaveAllocation
from flexlet.core.agent.observations import Done, Finished
from flexlet.core.agent.record import ADMITTED, REJECTED, Backoff, Ending, PodRecord
from flexlet.core.agent.world import World, active
from flexlet.core.managers.claims import PodClaim, claim
from flexlet.core.resize import admit, conditions, events, pending, triggers
from flexlet.core.resize.allocation import Allocation, applied, is_pending, of_spec
from flexlet.core.resize.infeasible import NodeRules
from flexlet.core.resize.pending import Outcome
from flexlet.core.resize.verdict import Preempting

PREEMPTED = "Pod was preempted by Kubelet to accommodate a critical pod."
REJECTION = "Pod was rejected: "
_RETRY_S = 10.0


class Placing(msgspec.Struct, frozen=True):
    """A pod that came to the resource managers: what it claimed, and why it was refused if it was."""

    claim: PodClaim
    refusal: Rejected | None = None


class Settlement(msgspec.Struct, frozen=True, kw_only=True):
    """What follows: the new world, what to do, what to tell, and whose records changed."""

    world: World
    deeds: tuple[PodDeed, ...] = ()
    events: tuple[RecordEvent, ...] = ()
    touched: frozenset[str] = frozenset()
    trigger: str = ""
    """Why waiting resizes were looked at; empty if they were not."""
    accepted: int = 0
    """Resizes granted that had been Deferred."""
    infeasible: tuple[str, ...] = ()
    """Why resizes were refused for good, in the words of the metric."""
    placed: tuple[Placing, ...] = ()
    """Whom the resource managers were asked for."""


def settle(world: World, now: float) -> Settlement:
    """Let in who may come in, then look at the waiting resizes if there is a reason to."""
    if not world.listed or world.resizing:
        return Settlement(world=world)
    house = _House(world, now)
    house.let_go()
    house.admit()
    house.resize()
    house.pin()
    return house.settlement()


def granted(world: World, finished: Finished, now: float) -> Settlement:
    """The ledger has answered: a grant becomes an allocation, or is taken back."""
    deed = finished.deed
    record = world.pods.get(deed.uid)
    if not isinstance(deed, SaveAllocation) or record is None:
        return Settlement(world=world)
    running = {key: since for key, since in record.underway.items() if key != deed.key}
    record = msgspec.structs.replace(record, underway=running, granted=None)
    told: tuple[RecordEvent, ...] = ()
    if not isinstance(finished.outcome, Done):
        retries = {**record.retries, deed.key: Backoff(delay_s=_RETRY_S, since=now)}
        record = msgspec.structs.replace(record, retries=retries)
        world = msgspec.structs.replace(world, look_again_at=now + _RETRY_S)
        if record.allocation is None:
            world = managing.without(world, record.uid)
    elif record.admission == ADMITTED:
        granted_pod = applied(record.pod, deed.allocation, world.setup.gates)
        told = (events.started(granted_pod, deed.generation),)
        resize = conditions.allocated(deed.generation, now)
        record = msgspec.structs.replace(
            record, allocation=deed.allocation, resize=resize, failed_steps=frozenset(), failures=(), taken=()
        )
    else:
        record = msgspec.structs.replace(record, allocation=deed.allocation, admission=ADMITTED)
        asks = is_pending(record.pod, deed.allocation, world.setup.gates)
        # One that asks for nothing any more may be said to wait all the same, by an agent before this one.
        world = world.because(triggers.PODS_ADDED if asks or record.resize.pending is not None else None)
    return Settlement(world=world.with_pods({record.uid: record}), events=told, touched=frozenset({record.uid}))


class _House:
    """One pass over the node; later questions see the answers to earlier ones."""

    def __init__(self, world: World, now: float) -> None:
        self.world = world
        self.now = now
        self.deeds: list[PodDeed] = []
        self.events: list[RecordEvent] = []
        self.touched: set[str] = set()
        self.trigger = ""
        self.accepted = 0
        self.infeasible: tuple[str, ...] = ()
        self.placed: list[Placing] = []
        self.again_at: list[float] = []
        """When to ask those again who were held back."""

    def settlement(self) -> Settlement:
        times = [each for each in (self.world.look_again_at, *self.again_at) if each is not None]
        return Settlement(
            world=msgspec.structs.replace(self.world, look_again_at=min(times)) if self.again_at else self.world,
            deeds=tuple(self.deeds),
            events=tuple(self.events),
            touched=frozenset(self.touched),
            trigger=self.trigger,
            accepted=self.accepted,
            infeasible=self.infeasible,
            placed=tuple(self.placed),
        )

    def let_go(self) -> None:
        """Who has ended gives back what was its own."""
        for uid in managing.leavers(self.world):
            self.world = managing.without(self.world, uid)

    def admit(self) -> None:
        for record in admission.undecided(self.world):
            if self._is_held_back(record):
                continue
            verdict = admission.ask(record, self.world)
            match verdict:
                case Admitted(allocation=allocation, managers=managers):
                    self.world = self.world.managed(managers)
                    self._note_placing(record, allocation)
                    self._grant(record, allocation)
                case Rejected():
                    self._note_placing(record, of_spec(record.pod, self.world.setup.gates), verdict)
                    self._reject(record, verdict)
                case Preempting(victims=victims):
                    self._make_way(victims)

    def _note_placing(self, record: PodRecord, allocation: Allocation, refusal: Rejected | None = None) -> None:
        if managing.is_on(self.world.setup) and (refusal is None or refusal.by_managers):
            pod = applied(record.pod, allocation, self.world.setup.gates)
            self.placed.append(Placing(claim(pod), refusal))

    def _is_held_back(self, record: PodRecord) -> bool:
        """Whether the ledger could not take a grant a moment ago; it is asked again in a while."""
        wait = record.retries.get(SaveAllocation.__name__)
        if wait is None or wait.ends_at <= self.now:
            return False
        self.again_at.append(wait.ends_at)
        return True

    def pin(self) -> None:
        """Bring running containers to the CPUs that the books say, now that everybody was asked."""
        if not managing.is_on(self.world.setup):
            return
        for record in list(managing.owners(self.world)):
            names = frozenset(self.world.managers.cpu.entries.get(record.uid, ()))
            self._put(msgspec.structs.replace(record, exclusive=names, settled=None))
        found = pinning.due(self.world, self.now)
        if found.again_at is not None:
            self.again_at.append(found.again_at)
        for record in list(managing.contested(self.world, found.leaving)):
            self._put(msgspec.structs.replace(record, contested=not record.contested))
        for deed in found.deeds:
            record = self.world.pods[deed.uid]
            self._put(msgspec.structs.replace(record, underway={**record.underway, deed.key: self.now}))
            self.deeds.append(deed)

    def resize(self) -> None:
        world = self.world
        due = world.look_again_at is not None and world.look_again_at <= self.now
        if (not world.trigger and not due) or any(each.granted is not None for each in world.pods.values()):
            return
        self.trigger = world.trigger or triggers.PERIODIC
        view = _view(world)
        asking = [uid for uid, facts in view.pods.items() if not facts.leaving and _asks(facts, world)]
        waiting = pending.push_all(world.waiting, asking, view)
        self._follow(pending.evaluate(waiting, view, self.trigger, self.now))

    def _follow(self, outcome: Outcome) -> None:
        self.accepted, self.infeasible = outcome.accepted, outcome.infeasible
        self.world = msgspec.structs.replace(
            self.world, waiting=outcome.waiting, trigger="", look_again_at=outcome.wake_at
        )
        for uid, after in outcome.conditions.items():
            if uid not in outcome.granted and uid in outcome.sync:
                self._put(msgspec.structs.replace(self.world.pods[uid], resize=after))
        for uid, allocation in outcome.granted.items():
            self._grant(self.world.pods[uid], allocation)
        # What is told of a grant is told when it is durable; see `granted`.
        self.events += [each for each in outcome.events if each.reason != events.STARTED]
        self._end(outcome.preempt)

    def _grant(self, record: PodRecord, allocation: Allocation) -> None:
        deed = SaveAllocation(uid=record.uid, allocation=allocation, generation=record.pod.metadata.generation)
        underway = {**record.underway, deed.key: self.now}
        self._put(msgspec.structs.replace(record, granted=allocation, underway=underway))
        self.deeds.append(deed)

    def _reject(self, record: PodRecord, verdict: Rejected) -> None:
        ending = Ending(reason=verdict.reason, message=REJECTION + verdict.message)
        self._put(msgspec.structs.replace(record, admission=REJECTED, ending=ending))
        self.events.append(events.about(record.pod, events.WARNING, verdict.reason, verdict.message))

    def _make_way(self, victims: Iterable[str]) -> None:
        self.events += [events.preempted(self.world.pods[uid].pod) for uid in victims if uid in self.world.pods]
        self._end(victims)

    def _end(self, victims: Iterable[str]) -> None:
        for uid in victims:
            record = self.world.pods[uid]
            if record.ending is None:
                self._put(msgspec.structs.replace(record, ending=Ending(failed=False, disruption=PREEMPTED)))

    def _put(self, record: PodRecord) -> None:
        self.world = self.world.with_pods({record.uid: record})
        self.touched.add(record.uid)


def _asks(facts: pending.PodFacts, world: World) -> bool:
    """Whether a pod wants another size, or is said to although it does not any more."""
    asks = is_pending(facts.pod, facts.allocation, world.setup.gates)
    return asks or facts.conditions.pending is not None


def _view(world: World) -> pending.World:
    """The pods as the waiting list sees them: those that were let in."""
    setup = world.setup
    rules = NodeRules(
        gates=setup.gates,
        cgroups=setup.cgroups,
        swap_controller=setup.host.swap_controller,
        cpu_manager_policy=setup.managers.cpu_policy,
        memory_manager_policy=setup.managers.memory_policy,
    )
    return pending.World(
        node=admit.NodeFacts(
            allocatable=setup.allocatable,
            offered=ballooning.offered(world),
            rules=rules,
            pressures=world.pressures,
            shutting_down=world.shutting_down,
        ),
        pods={
            PodUid(uid): pending.PodFacts(
                record.pod, record.allocation, record.resize, admission.is_leaving(record)
            )
            for uid, record in active(world).items()
            if record.admission == ADMITTED and record.allocation is not None
        },
        ready=world.listed,
    )
