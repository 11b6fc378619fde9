"""A node made of the pure functions: a runtime and a cgroup tree that obey, an API that keeps what is reported.

It is what an agent's loop does, without time passing by itself and without anything that can really fail; steps
named in `failing` fail. Everything done to the host is written down in `calls`, in words short enough for tables.
"""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from flexlet.api import decode
from flexlet.api.pod import ContainerStatus, Pod, PodStatus, ResourceList, ResourceRequirements
from flexlet.api.units import Bytes, PodUid
from flexlet.core.actions import RecordEvent
from flexlet.core.cgroups import containers, pods, values
from flexlet.core.cgroups.containers import RuntimeResources
from flexlet.core.cgroups.settings import Host
from flexlet.core.resize import actuation, checkpoint, conditions, events, pending, podcgroup, readback, targets
from flexlet.core.resize import triggers as trigger_names
from flexlet.core.resize.admit import NodeFacts
from flexlet.core.resize.allocation import Allocation, applied, is_pending, of_spec
from flexlet.core.resize.podcgroup import PodCgroup
from flexlet.core.resize.safety import MemoryUsage, together
from flexlet.core.resize.steps import RecordPodLevel, Step, StopContainer, UpdateContainer, WritePodCgroup
from flexlet.core.resources.qos import qos_class

HOST = Host(memory=Bytes(16 * 1024**3))
FRESH = PodCgroup(weight=100, quota=-1, memory_max=-1)


def call(step: Step) -> str:
    """A step in a few words."""
    match step:
        case StopContainer(container=name):
            return f"stop {name}"
        case WritePodCgroup(values=written):
            return "pod " + ", ".join(f"{file} {text}" for file, text in values.files(written).items())
        case UpdateContainer(container=name, moved=moved, resources=sent):
            said = {
                "memory": f"memory.max {sent.memory_limit or 'as it is'}",
                "cpu": f"cpu shares {sent.cpu_shares or 'as they are'} quota {sent.cpu_quota}",
            }
            return f"{name} " + ", ".join(said[resource] for resource in moved)
        case RecordPodLevel():
            return "record"


class SimNode:
    """One node and its pods, by name; the name is also the uid."""

    def __init__(self, facts: NodeFacts) -> None:
        self.facts = facts
        self.now = 1_700_000_000.0
        self.pods: dict[str, Pod] = {}
        self.allocated: dict[str, Allocation] = {}
        self.actuated: dict[str, Allocation] = {}
        self.conditions: dict[str, conditions.ResizeConditions] = {}
        self.waiting = pending.Waiting()
        self.cgroups: dict[str, PodCgroup] = {}
        self.runtime: dict[str, dict[str, RuntimeResources]] = {}
        self.down: set[tuple[str, str]] = set()
        self.usage: dict[str, MemoryUsage] = {}
        self.leaving: set[str] = set()
        self.calls: list[str] = []
        self.events: list[str] = []
        self.texts: list[str] = []
        self.failing: dict[str, str] = {}
        self.accepted: list[str] = []
        self.infeasible: list[str] = []
        self.wake_at: float | None = None

    def add(self, pod: Pod) -> None:
        """A pod that the node has admitted and runs."""
        name = pod.metadata.name
        status = replace(pod.status, phase=pod.status.phase or "Running", qos_class=qos_class(pod))
        self.pods[name] = replace(pod, status=status)
        self.allocated[name] = of_spec(pod, self.facts.rules.gates)
        self.cgroups[name] = podcgroup.written(FRESH, pods.pod_cgroup(self.pods[name]))
        self.actuated[name] = targets.cgroup_created(None, pod)
        self.runtime[name] = {}
        self._start(name)
        self._report(name)
        self.calls.clear()

    def spec(self, name: str, pod: Pod, trigger: str = trigger_names.POD_UPDATED) -> None:
        """The API accepted a new spec."""
        before = self.pods[name]
        changed = before.spec != pod.spec
        generation = before.metadata.generation + changed
        self.pods[name] = replace(before, spec=pod.spec, metadata=replace(before.metadata, generation=generation))
        if trigger_names.of_update(before, self.pods[name], self.facts.rules.gates):
            self.waiting = pending.push(self.waiting, PodUid(name), self._world())
            self.evaluate(trigger)
        self.sync()

    def evaluate(self, trigger: str) -> None:
        """One pass over the waiting list, and everything that follows from it but the actuation."""
        outcome = pending.evaluate(self.waiting, self._world(), trigger, self.now)
        self.allocated.update((str(uid), granted) for uid, granted in outcome.granted.items())
        self.conditions.update((str(uid), known) for uid, known in outcome.conditions.items())
        self.waiting = outcome.waiting
        self.wake_at = outcome.wake_at
        for event in outcome.events:
            self._tell(event)
        self.leaving |= set(outcome.preempt)
        self.accepted += [trigger] * outcome.accepted
        self.infeasible += outcome.infeasible

    def sync(self) -> None:
        """Actuate and report every pod, and ask again if somebody became smaller, until nothing changes."""
        for name in list(self.pods):
            self._actuate(name)
            if (trigger := self._report(name)) and self.waiting.queue:
                self.evaluate(trigger)
                self.sync()
                return

    def end(self, name: str) -> None:
        """All containers of a pod have stopped."""
        before = self.pods[name]
        self.pods[name] = replace(before, status=replace(before.status, phase="Succeeded"))
        self.conditions.pop(name, None)
        self.evaluate(trigger_names.POD_TERMINATED)
        self.sync()

    def remove(self, name: str) -> None:
        """The pod is gone from the API and from the node."""
        for known in (self.pods, self.allocated, self.actuated, self.conditions, self.cgroups, self.runtime):
            known.pop(name, None)
        self.evaluate(trigger_names.PODS_REMOVED)
        self.sync()

    def resize_node(self, allocatable: ResourceList) -> None:
        """More or less became allocatable."""
        before, self.facts = self.facts, replace(self.facts, allocatable=allocatable)
        if trigger := trigger_names.of_node(before.allocatable, allocatable):
            self.evaluate(trigger)
        self.sync()

    def restart(self) -> None:
        """The agent starts anew: it knows its checkpoints, the runtime, the cgroups and the API."""
        self.allocated = _through_a_file(self.allocated)
        self.actuated = _through_a_file(self.actuated)
        self.conditions = {name: conditions.restored(pod, self.now) for name, pod in self.pods.items()}
        self.waiting = pending.Waiting()
        for name, pod in self.pods.items():
            if is_pending(pod, self.allocated[name], self.facts.rules.gates):
                self.waiting = pending.push(self.waiting, PodUid(name), self._world())
        self.evaluate(trigger_names.PODS_ADDED)
        self.sync()

    def stop(self, name: str, container: str) -> None:
        """A container is in back-off."""
        self.down.add((name, container))
        self.runtime[name].pop(container, None)

    def granted(self, name: str) -> Pod:
        """The pod as allocated."""
        return applied(self.pods[name], self.allocated[name], self.facts.rules.gates)

    def plan_facts(self, name: str) -> actuation.Facts:
        """What a plan for the pod is made of."""
        return actuation.Facts(
            pod=self.granted(name),
            actuated=self.actuated[name],
            running=frozenset(self.runtime[name]),
            cgroup=self.cgroups[name],
            usage=self.usage.get(name, MemoryUsage(0, dict.fromkeys(self.runtime[name], 0))),
            host=HOST,
            gates=self.facts.rules.gates,
        )

    def _actuate(self, name: str) -> None:
        if trigger_names.is_terminal(self.pods[name]):
            return
        faults: list[str] = []
        failed: frozenset[str] = frozenset()
        while True:
            plan = actuation.plan(self.plan_facts(name), failed)
            faults += [plan.blocked] if plan.blocked else []
            if not plan.steps:
                break
            failed |= self._run(name, plan.steps, faults)
        self._start(name)
        self._conclude(name, faults)

    def _run(self, name: str, steps: tuple[Step, ...], faults: list[str]) -> set[str]:
        for step in steps:
            if step.subject in self.failing:
                faults.append(self.failing[step.subject])
                return {step.subject}
            self.carry_out(name, step)
        return set()

    def carry_out(self, name: str, step: Step) -> None:
        """One step succeeds and is recorded."""
        self.calls.append(call(step))
        facts = actuation.after(self.plan_facts(name), step)
        self.actuated[name] = facts.actuated
        self.cgroups[name] = facts.cgroup or FRESH
        match step:
            case StopContainer(container=container):
                del self.runtime[name][container]
                self._tell(events.restarting(self.pods[name], container))
            case UpdateContainer(container=container, resources=sent):
                self.runtime[name][container] = _merged(self.runtime[name][container], sent)

    def _start(self, name: str) -> None:
        pod = self.granted(name)
        for container in (*pod.spec.init_containers, *pod.spec.containers):
            if container.name in self.runtime[name] or (name, container.name) in self.down:
                continue
            if container in pod.spec.init_containers and not container.is_sidecar:
                continue
            self.calls.append(f"start {container.name}")
            self.actuated[name] = targets.created(self.actuated[name], pod, container)
            self.runtime[name][container.name] = containers.container_resources(pod, container, HOST)

    def _conclude(self, name: str, faults: list[str]) -> None:
        before, pod = self.conditions.get(name, conditions.NONE), self.granted(name)
        if faults:
            after = conditions.failed(before, together(faults), pod.metadata.generation, self.now)
            if conditions.without_probe_times(after) != conditions.without_probe_times(before):
                generation = after.in_progress.observed_generation if after.in_progress else 0
                self._tell(events.failed(pod, generation, together(faults)))
            self.conditions[name] = after
            return
        self.conditions[name], done = conditions.completed(before)
        if done is not None:
            self._tell(events.completed(pod, done))

    def _report(self, name: str) -> str | None:
        """Write the status; the occasion to ask again that it is, if any."""
        before, granted = self.pods[name], self.granted(name)
        status = replace(
            before.status,
            conditions=conditions.rendered(self.conditions.get(name, conditions.NONE)),
            container_statuses=tuple(self._container(name, c.name) for c in granted.spec.containers),
            resources=self.reported(name),
            allocated_resources=_requests(granted),
        )
        self.pods[name] = replace(before, status=status)
        return trigger_names.of_status(before, self.pods[name], self.allocated[name], self.facts.rules.gates)

    def _container(self, name: str, container: str) -> ContainerStatus:
        spec = next(c for c in self.granted(name).spec.containers if c.name == container)
        reported = self.reported(name, container)
        return ContainerStatus(name=container, allocated_resources=spec.resources.requests, resources=reported)

    def reported(self, name: str, container: str = "") -> ResourceRequirements:
        """What the status says of a container, or of the pod."""
        pod = self.granted(name)
        if not container:
            return readback.pod_resources(pod, self.actuated[name], self.cgroups[name], pod.status.resources)
        spec = next(c for c in (*pod.spec.init_containers, *pod.spec.containers) if c.name == container)
        if container not in self.runtime[name]:
            return spec.resources
        actuated = self.actuated[name].containers.get(container)
        return readback.container_resources(pod, spec, self.runtime[name][container], actuated)

    def _world(self) -> pending.World:
        facts = {
            PodUid(name): pending.PodFacts(
                pod, self.allocated[name], self.conditions.get(name, conditions.NONE), name in self.leaving
            )
            for name, pod in self.pods.items()
        }
        return pending.World(node=self.facts, pods=facts)

    def _tell(self, event: RecordEvent) -> None:
        self.events.append(f"{event.about['name']} {event.reason}")
        self.texts.append(event.message)


def _requests(pod: Pod) -> ResourceList:
    fields = readback.pod_fields(pod, ResourceRequirements())
    return decode.from_value(fields, PodStatus).allocated_resources


def _merged(before: RuntimeResources, sent: RuntimeResources) -> RuntimeResources:
    """How runtimes take an update: a zero leaves a value alone."""
    given: dict[str, Any] = {
        field: getattr(sent, field)
        for field in ("cpu_shares", "cpu_quota", "cpu_period", "memory_limit")
        if getattr(sent, field)
    }
    return replace(before, **given)


def _through_a_file(entries: Mapping[str, Allocation]) -> dict[str, Allocation]:
    document = checkpoint.document({PodUid(name): entry for name, entry in entries.items()})
    return {str(name): entry for name, entry in checkpoint.parse(checkpoint.encode(document)).items()}
