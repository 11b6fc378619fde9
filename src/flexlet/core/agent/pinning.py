"""Give running containers the CPUs and the NUMA nodes that the books say.

What a container has is what the runtime was last asked for; one of which that is unknown may run anywhere. While
sets change, no CPU has two owners if that can be helped: a container that gains CPUs waits until those who lose
them have let go, and meanwhile gives up what it loses itself. One that cannot be changed now (the runtime refused)
is asked again later and holds nobody up. A container with CPUs of its own does not start on CPUs that others are
about to leave.
"""

from collections.abc import Iterator

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.core.agent import managing
from flexlet.core.agent.deeds import SetCpus
from flexlet.core.agent.record import Pin, PodRecord
from flexlet.core.agent.world import World
from flexlet.core.managers import placing
from flexlet.core.runtime.shown import RUNNING, Container


class Pinning(msgspec.Struct, frozen=True):
    """What to do now, and when to ask again those who refused."""

    deeds: tuple[SetCpus, ...] = ()
    again_at: float | None = None
    leaving: CpuSet = CpuSet()
    """CPUs that somebody is about to let go."""


def wanted(world: World, uid: str, container: str) -> Pin:
    """What the books say of a container; the empty text if they say nothing."""
    settings, books = world.setup.managers, world.managers
    cpus = placing.cpus_of(books, settings, uid, container)
    mems = placing.nodes_of(books, settings, uid, container)
    return Pin(cpus=str(cpus or ""), mems=str(mems or ""))


def due(world: World, now: float) -> Pinning:
    """The containers that must be changed now."""
    settings = world.setup.managers
    if not (settings.pins_cpus or settings.pins_memory) or not world.setup.runtime_ready:
        return Pinning()
    cases = list(_cases(world))
    held_back = [each.retry_at for each in cases if each.retry_at > now]
    ready = [each for each in cases if each.retry_at <= now]
    leaving = CpuSet.of(cpu for case in ready for cpu in case.has - case.wants)
    return Pinning(tuple(_deeds(ready, leaving)), min(held_back, default=None), leaving)


class _Case(msgspec.Struct, frozen=True, kw_only=True):
    """A running container that has something else than it should."""

    record: PodRecord
    run: Container
    has: CpuSet
    wants: CpuSet
    mems: str
    unlimited: bool

    @property
    def key(self) -> str:
        return f"cpus/{self.run.id}"

    @property
    def retry_at(self) -> float:
        wait = self.record.retries.get(self.key)
        return 0.0 if wait is None else wait.ends_at

    @property
    def is_underway(self) -> bool:
        return self.key in self.record.underway

    def deed(self, cpus: CpuSet) -> SetCpus:
        return SetCpus(
            uid=self.record.uid,
            container=self.run.name,
            container_id=self.run.id,
            cpus=str(cpus),
            mems=self.mems,
            unlimited=self.unlimited,
        )


def _cases(world: World) -> Iterator[_Case]:
    shared = wanted(world, "", "")
    online = world.setup.machine.online
    for uid, record in world.pods.items():
        if record.shown is None or record.stopped:
            continue
        is_placed = world.managers.placed(uid)
        for run in record.shown.containers:
            # Asked of every container in every round; what nobody has an opinion about stays as it is.
            if run.state != RUNNING:
                continue
            wants = wanted(world, uid, run.name) if is_placed else shared
            cpus, mems = _has(record, run)
            if wants.cpus in ("", cpus) and wants.mems in ("", mems):
                continue
            yield _Case(
                record=record,
                run=run,
                has=CpuSet.parse(cpus) or online,
                wants=CpuSet.parse(wants.cpus or cpus),
                mems=wants.mems,
                unlimited=run.name in managing.exclusive(record, world.setup),
            )


def _has(record: PodRecord, run: Container) -> tuple[str, str]:
    """CPUs and NUMA nodes; what was set last counts more than what the runtime showed before."""
    pin = record.pinned.get(run.id)
    if pin is not None:
        return pin.cpus, pin.mems
    known = run.resources
    return ("", "") if known is None else (known.cpuset_cpus, known.cpuset_mems)


def _deeds(cases: list[_Case], leaving: CpuSet) -> Iterator[SetCpus]:
    blocked: list[_Case] = []
    is_busy = False
    for case in cases:
        if case.is_underway:
            is_busy = True
            continue
        kept = case.has & case.wants
        if not (case.wants - case.has) & leaving:
            is_busy = True
            yield case.deed(case.wants)
        elif kept and kept != case.has:
            is_busy = True
            yield case.deed(kept)
        else:
            blocked.append(case)
    # Nobody can go first if sets are exchanged whole; then all go at once.
    yield from () if is_busy else (case.deed(case.wants) for case in blocked)
