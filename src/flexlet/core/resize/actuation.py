"""From allocated to actuated: the steps of a resize, in order, as data.

The four stages are those of KEP-1287: the pod's cgroup grows, containers shrink (the last one first), the pod's
cgroup shrinks, containers grow. So children never get more than their parent has, and a pod is never charged for
the old and the new size at once. (Kubernetes 1.36.3 grows containers before it shrinks the pod.) A stage takes
memory and cpu together: the order among stages is what keeps a resource safe, and a runtime that is told once
instead of twice is done in half the time. (Kubernetes goes through all stages for memory, then again for cpu.)

The plan is made anew from what was recorded and what the pod's cgroup reads, never from what was planned before:
after a crash between any two steps the next plan contains exactly what is left, and the plan after the last step
is empty. Unlike upstream the pod's cgroup is compared always, so it is also written if only containers that do not
run were resized, or if a crash came before its turn.

Containers that must restart are stopped in a plan of their own, because that changes what is in use; once stopped
they are not this module's business. If a step fails, `plan` with the subjects of what failed says what may still
be tried: decreases only, and the pod's only if all its containers have shrunk.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from flexlet.api.pod import Container, Pod, ResourceRequirements
from flexlet.core.cgroups import pods
from flexlet.core.cgroups.sandbox import sandbox_resources
from flexlet.core.cgroups.settings import DEFAULTS, CgroupSettings, Host
from flexlet.core.cgroups.values import CgroupValues
from flexlet.core.gates import Gates
from flexlet.core.resize import podcgroup, safety, targets, updates
from flexlet.core.resize.allocation import DEFAULT_GATES, IN_PLACE, POD_LEVEL, Allocation, resizable
from flexlet.core.resize.infeasible import restarts_for
from flexlet.core.resize.podcgroup import HOST, Kernel, PodCgroup, limit_order
from flexlet.core.resize.safety import Lowering, MemoryUsage
from flexlet.core.resize.steps import (
    PHASES,
    RecordPodLevel,
    Step,
    StopContainer,
    UpdateContainer,
    WritePodCgroup,
    recorded,
    updated,
)
from flexlet.core.resources.names import CPU, MEMORY


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a plan depends on."""

    pod: Pod
    """As allocated: its spec carries the granted resources."""
    actuated: Allocation
    running: frozenset[str]
    """Names of the containers that run now, init containers included."""
    cgroup: PodCgroup | None
    """As read; None if it cannot be."""
    usage: MemoryUsage | None = None
    """Needed only if `lowering` finds limits that go down."""
    host: Host
    settings: CgroupSettings = DEFAULTS
    kernel: Kernel = HOST
    gates: Gates = DEFAULT_GATES
    exclusive_cpus: frozenset[str] = frozenset()
    """Containers that have CPUs of their own, hence no quota."""


class Plan(msgspec.Struct, frozen=True):
    """What to do now; `blocked` says why nothing can be done although something is left."""

    steps: tuple[Step, ...] = ()
    blocked: str = ""

    @property
    def is_done(self) -> bool:
        """Whether allocated and actuated are equal: no resize is in progress."""
        return not self.steps and not self.blocked


DONE: Final = Plan()


class Change(msgspec.Struct, frozen=True):
    """A running container that was last given something else than it shall have."""

    container: Container
    before: ResourceRequirements
    after: ResourceRequirements
    is_recorded: bool

    @property
    def restarts(self) -> bool:
        """Whether the container must be stopped; never because its record is missing."""
        return self.is_recorded and any(
            targets.differs(self.before, self.after, name) and restarts_for(self.container, name)
            for name in PHASES
        )


def plan(facts: Facts, failed: frozenset[str] = frozenset()) -> Plan:
    """What is left to do; `failed` names the subjects of steps that failed in this attempt."""
    if not facts.gates[IN_PLACE]:
        return DONE
    found = changes(facts)
    stops = [StopContainer(change.container.name) for change in found if change.restarts]
    if left := tuple(stop for stop in stops if stop.subject not in failed):
        return Plan(left)
    if facts.cgroup is None:
        return Plan(blocked=_unreadable(facts.pod)) if found else DONE
    if why := safety.refusal(facts.pod, lowering(facts), facts.usage):
        return Plan(blocked=why)
    return Plan(tuple(_Sequence(facts, facts.cgroup, found, failed).steps()))


def changes(facts: Facts) -> list[Change]:
    """The running containers that are not as they shall be."""
    # Without its gate the pod level stays what it is, so inherited limits are never a change.
    level = facts.actuated.pod if facts.gates[POD_LEVEL] else facts.pod.spec.resources
    found = []
    for container in resizable(facts.pod, facts.gates):
        before = targets.current(facts.actuated, container, level)
        after = targets.target(facts.pod, container)
        if container.name in facts.running and any(targets.differs(before, after, name) for name in PHASES):
            found.append(Change(container, before, after, container.name in facts.actuated.containers))
    return found


def lowering(facts: Facts) -> Lowering:
    """The memory limits that would go down or be added, for which usage must be read first."""
    if facts.cgroup is None:
        return Lowering()
    limit = _wanted(facts, facts.cgroup).memory_max
    falls = limit_order(limit) < limit_order(facts.cgroup.memory_max)
    containers = {}
    for change in changes(facts):
        old, new = (targets.amount(side.limits, MEMORY) for side in (change.before, change.after))
        if not change.restarts and new and (not old or new < old):
            containers[change.container.name] = new
    return Lowering(limit if falls else None, containers)


def after(facts: Facts, step: Step) -> Facts:
    """The facts once the step has succeeded and is recorded."""
    match step:
        case StopContainer(container=name):
            return msgspec.structs.replace(facts, running=facts.running - {name})
        case WritePodCgroup(values=values) if facts.cgroup is not None:
            cgroup = podcgroup.written(facts.cgroup, values, facts.kernel)
            return msgspec.structs.replace(facts, cgroup=cgroup)
        case _:
            return msgspec.structs.replace(facts, actuated=recorded(facts.actuated, step))


def _values(facts: Facts) -> CgroupValues:
    return pods.pod_cgroup(facts.pod, facts.settings, exclusive_cpus=bool(facts.exclusive_cpus))


def _wanted(facts: Facts, now: PodCgroup) -> PodCgroup:
    """The pod's cgroup as it will read when all is done; a limit is never removed."""
    return podcgroup.written(now, _values(facts), facts.kernel)


def _unreadable(pod: Pod) -> str:
    meta = pod.metadata
    return f'unable to read the cgroup of pod "{meta.name}_{meta.namespace}({meta.uid})"'


class _Sequence:
    """The steps of one plan, made in order; containers carry what earlier steps will have given them."""

    def __init__(self, facts: Facts, cgroup: PodCgroup, found: list[Change], failed: frozenset[str]) -> None:
        self.facts = facts
        self.cgroup = cgroup
        self.failed = failed
        self.stuck = any(change.restarts for change in found)
        self.changes = [change for change in found if not change.restarts]
        self.given = {change.container.name: change.before for change in self.changes}
        self.level = facts.actuated.pod

    def steps(self) -> Iterator[Step]:
        writes = {resource: list(self._pod_writes(resource)) for resource in PHASES}
        yield from self._pod([*writes[MEMORY], *writes[CPU]], shrinks=False)
        yield from self._updates(reversed(self.changes), shrinks=True)
        free = [write for name in PHASES if not self._is_held_up(name) for write in writes[name]]
        yield from self._pod(free, shrinks=True)
        yield from self._updates(self.changes, shrinks=False)
        yield from self._record()

    def _pod(self, writes: list[WritePodCgroup], *, shrinks: bool) -> Iterator[WritePodCgroup]:
        joined = _joined([write for write in writes if write.shrinks == shrinks])
        if joined is not None and self._may(joined):
            yield joined

    @staticmethod
    def _moves(change: Change, *, shrinks: bool) -> tuple[str, ...]:
        """The resources of a container that go this way."""
        return tuple(
            resource
            for resource in PHASES
            if targets.differs(change.before, change.after, resource)
            and targets.shrinks(change.before, change.after, resource) == shrinks
        )

    def _is_held_up(self, resource: str) -> bool:
        """Whether a container did not shrink, so that the pod cannot."""
        if self.stuck:
            return True
        falling = (change for change in self.changes if resource in self._moves(change, shrinks=True))
        return any(updated((resource,), change.container.name) in self.failed for change in falling)

    def _may(self, step: WritePodCgroup | UpdateContainer) -> bool:
        """After a failure increases wait, and nothing is tried twice."""
        return not self.failed or (step.shrinks and step.subject not in self.failed)

    def _pod_writes(self, resource: str) -> Iterator[WritePodCgroup]:
        """Each file that has to change, with its direction."""
        values, now, wanted = _values(self.facts), self.cgroup, _wanted(self.facts, self.cgroup)
        if resource == MEMORY:
            if wanted.memory_max != now.memory_max:
                # An added limit goes with the increases: it is the sum of what the containers are about to get.
                shrinks = now.memory_max != podcgroup.UNLIMITED and wanted.memory_max < now.memory_max
                yield self._write(CgroupValues(memory_max=values.memory_max), shrinks=shrinks)
            return
        if (wanted.quota, wanted.period) != (now.quota, now.period):
            shrinks = now.quota != podcgroup.UNLIMITED and limit_order(wanted.quota) < now.quota
            yield self._write(CgroupValues(quota=values.quota, period=values.period), shrinks=shrinks)
        if wanted.weight != now.weight:
            yield self._write(CgroupValues(shares=values.shares), shrinks=wanted.weight < now.weight)

    def _write(self, values: CgroupValues, *, shrinks: bool) -> WritePodCgroup:
        facts = self.facts
        sandbox = sandbox_resources(facts.pod, facts.settings, exclusive_cpus=bool(facts.exclusive_cpus))
        return WritePodCgroup(values, shrinks, sandbox)

    def _updates(self, changes: Iterable[Change], *, shrinks: bool) -> Iterator[UpdateContainer]:
        for change in changes:
            moves = self._moves(change, shrinks=shrinks)
            together = updated(moves, change.container.name) not in self.failed
            # What failed together is tried one by one: one of them may work.
            for moved in [moves] if moves and together else [(each,) for each in moves]:
                yield from self._update(change, moved, shrinks=shrinks)

    def _update(self, change: Change, moved: tuple[str, ...], *, shrinks: bool) -> Iterator[UpdateContainer]:
        name = change.container.name
        given = self.given[name]
        for resource in moved:
            given = targets.moved(given, change.after, resource)
        sent = updates.runtime_update(
            self.facts.pod,
            change.container,
            given,
            self.facts.host,
            self.facts.settings,
            knows_cpu=change.is_recorded or CPU in moved,
            exclusive_cpus=name in self.facts.exclusive_cpus,
        )
        step = UpdateContainer(moved, name, sent, shrinks, given)
        if self._may(step):
            self.given[name] = given
            yield step

    def _record(self) -> Iterator[RecordPodLevel]:
        wanted = self.facts.pod.spec.resources
        if wanted is None or self.failed or not self.facts.gates[POD_LEVEL]:
            return
        level = before = targets.fixed(wanted) if self.level is None else self.level
        for resource in PHASES:
            if targets.differs(before, wanted, resource):
                level = targets.moved(level, wanted, resource)
        if level is not before:
            yield RecordPodLevel(level)


def _joined(writes: list[WritePodCgroup]) -> WritePodCgroup | None:
    """Several writes as one."""
    merged: dict[str, Any] = {}
    for write in writes:
        merged |= {name: value for name, value in msgspec.structs.asdict(write.values).items() if value}
    return WritePodCgroup(CgroupValues(**merged), writes[0].shrinks, writes[0].sandbox) if writes else None
