"""What the controller reads of launcher pods and nodes."""

from typing import Any, Final

import msgspec

from flexlet.api import age, decode
from flexlet.api.meta import Condition, KubeStruct, ObjectMeta
from flexlet.api.pod import Container, ContainerStatus, Pod, ResourceList
from flexlet.core.nodesize import sizes
from flexlet.core.nodesize.sizes import Amounts
from flexlet.core.resources import statusaware
from flexlet.core.vm import amounts, names
from flexlet.core.vm.guest import Machine
from flexlet.core.vm.podsize import Need

RESIZE_IN_PROGRESS: Final = "PodResizeInProgress"
FINISHED: Final = frozenset({"Succeeded", "Failed"})


class _NodeStatus(KubeStruct, frozen=True, kw_only=True):
    allocatable: ResourceList = msgspec.field(default_factory=dict)


class _Node(KubeStruct, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    status: _NodeStatus = _NodeStatus()


class LauncherPod(msgspec.Struct, frozen=True, kw_only=True):
    """A launcher pod in its three sizes, and what its node says of a resize."""

    uid: str
    name: str
    namespace: str
    vm: str
    owner: str = ""
    """uid of the FlexVM."""
    migration: str = ""
    """uid of the FlexVMMigration whose target it is."""
    node: str = ""
    address: str = ""
    """Its IP."""
    created: str = ""
    resource_version: str = ""
    generation: int = 0
    observed_generation: int = 0
    phase: str = ""
    spec: Need
    allocated: Need
    """Requests that the node granted, and limits that are in force."""
    actual: Need
    is_reported: bool = False
    """Whether the node has said anything of the container's size."""
    pending: str = ""
    """Why a resize waits: Deferred, Infeasible."""
    trouble: str = ""
    """Why a resize is not carried out: the message of an Error."""
    is_progressing: bool = False
    message: str = ""
    stuck: str = ""
    """Why a container does not start, or the pod is on no node."""
    is_ending: bool = False
    machine: Machine | None = None
    overhead: int = 0
    """What its annotation says."""
    ran_s: float = 0.0
    """Of one that has ended: for how long."""
    is_oom: bool = False
    end_message: str = ""

    @property
    def is_over(self) -> bool:
        """Whether its machine has ended."""
        return self.phase in FINISHED

    @property
    def is_live(self) -> bool:
        """Whether its machine runs, or will."""
        return not self.is_over and not self.is_ending

    @property
    def is_actuated(self) -> bool:
        """Whether the node has done all that the spec asks for."""
        is_seen = not self.observed_generation or self.observed_generation >= self.generation
        return is_seen and not self.pending and not self.is_progressing and self.actual == self.spec

    def grants(self, need: Need) -> bool:
        """Whether a guest that needs this much may have it: allocated, and in force where that matters."""
        requests = Need(need.cpu_m, need.memory)
        if not amounts.covers(Need(self.allocated.cpu_m, self.allocated.memory), requests):
            return False
        # For a request of memory nothing is written anywhere, and one of CPU may read a little less from a cgroup.
        cpu = need.cpu_m if self.is_actuated else self.actual.cpu_m
        in_force = msgspec.structs.replace(self.actual, cpu_m=cpu, memory=need.memory)
        return amounts.covers(in_force, need)

    @property
    def granted(self) -> Need:
        """P: what the node has granted."""
        return self.allocated

    @property
    def promised(self) -> Need:
        """What a spec must name at least, so that nothing granted is taken back: limits on their way included."""
        held = self.allocated
        if (held.cpu_m, held.memory) == (self.spec.cpu_m, self.spec.memory):
            return amounts.largest(held, self.spec)
        limits = held.cpu_limit_m, held.memory_limit
        cpu, memory = (
            limit and max(limit, least) for limit, least in zip(limits, (held.cpu_m, held.memory), strict=True)
        )
        return Need(held.cpu_m, held.memory, cpu, memory)


class NodeSight(msgspec.Struct, frozen=True):
    """A node."""

    name: str
    allocatable: Amounts


def node(raw: bytes) -> NodeSight:
    """A node from its JSON."""
    found = decode.from_json(raw, _Node)
    return NodeSight(found.metadata.name, sizes.of(found.status.allocatable))


def launcher(pod: Pod) -> LauncherPod:
    """A pod that is one, as a launcher."""
    meta, status = pod.metadata, pod.status
    container = next((c for c in pod.spec.containers if c.name == names.CONTAINER), Container())
    found = next((c for c in status.container_statuses if c.name == names.CONTAINER), None)
    spec = amounts.of(container.resources.requests, container.resources.limits)
    actual = _actual(found, spec)
    pending, progress = _condition(pod, statusaware.RESIZE_PENDING), _condition(pod, RESIZE_IN_PROGRESS)
    end = _ended(found)
    is_error = progress is not None and progress.reason == "Error"
    return LauncherPod(
        uid=meta.uid,
        name=meta.name,
        namespace=meta.namespace,
        vm=meta.labels.get(names.LABEL, ""),
        owner=meta.labels.get(names.CREATED_BY, ""),
        migration=meta.labels.get(names.MIGRATION_LABEL, ""),
        node=pod.spec.node_name,
        address=pod.status.pod_ip,
        created=meta.creation_timestamp or "",
        resource_version=meta.resource_version,
        generation=meta.generation,
        observed_generation=status.observed_generation,
        phase=status.phase,
        spec=spec,
        allocated=_allocated(found, spec, actual),
        actual=actual,
        is_reported=found is not None and bool(found.allocated_resources or found.resources),
        pending=pending.reason if pending else "",
        trouble=progress.message or "Error" if progress and is_error else "",
        is_progressing=progress is not None,
        message=pending.message if pending else progress.message if progress else "",
        stuck=_stuck(pod, found),
        is_ending=meta.deletion_timestamp is not None,
        machine=_machine(meta.annotations.get(names.MACHINE, "")),
        overhead=_number(meta.annotations.get(names.OVERHEAD, "")),
        ran_s=_ran(end),
        is_oom=end.get("reason") == "OOMKilled" or end.get("exitCode") == 137,
        end_message=_end_text(pod, end),
    )


def taken(pod: Pod) -> Amounts | None:
    """What a pod takes from its node; None if it takes nothing any more."""
    if not pod.spec.node_name or pod.status.phase in FINISHED:
        return None
    return sizes.of(statusaware.scheduler_requests(pod))


def _allocated(found: ContainerStatus | None, spec: Need, actual: Need) -> Need:
    """Requests as granted; a node that does not say is taken to have what is in force."""
    if found is None or not found.allocated_resources:
        return actual
    requests = amounts.of({**amounts.listed(spec), **found.allocated_resources}, {})
    return Need(requests.cpu_m, requests.memory, actual.cpu_limit_m, actual.memory_limit)


def _actual(found: ContainerStatus | None, spec: Need) -> Need:
    """What is in force; a node that has not said anything has taken the pod as it is written."""
    if found is None or found.resources is None:
        return spec
    requests = {**amounts.listed(spec), **found.resources.requests}
    return amounts.of(requests, found.resources.limits)


def _condition(pod: Pod, kind: str) -> Condition | None:
    """What the node says about the resize that is asked for now, not about an earlier one."""
    for condition in pod.status.conditions:
        seen = condition.observed_generation or pod.status.observed_generation
        is_old = 0 < seen < pod.metadata.generation
        if condition.type == kind and condition.status == "True" and not is_old:
            return condition
    return None


def _stuck(pod: Pod, found: ContainerStatus | None) -> str:
    placed = next((c for c in pod.status.conditions if c.type == "PodScheduled" and c.status == "False"), None)
    if placed is not None:
        return f"{placed.reason}: {placed.message}".rstrip(": ")
    waiting = {} if found is None else found.state.get("waiting") or {}
    reason = str(waiting.get("reason", ""))
    if reason in {"", "ContainerCreating", "PodInitializing"}:
        return ""
    return f"{reason}: {waiting.get('message', '')}".rstrip(": ")


def _ended(found: ContainerStatus | None) -> dict[str, Any]:
    return {} if found is None else dict(found.state.get("terminated") or {})


def _end_text(pod: Pod, end: dict[str, Any]) -> str:
    parts = [pod.status.reason, pod.status.message, str(end.get("reason", "")), str(end.get("message", ""))]
    code = f"exit code {end['exitCode']}" if end.get("exitCode") else ""
    return ": ".join(part for part in (*dict.fromkeys(parts), code) if part)


def _ran(end: dict[str, Any]) -> float:
    if not end.get("startedAt") or not end.get("finishedAt"):
        return 0.0
    return age.parse(end["finishedAt"]).timestamp() - age.parse(end["startedAt"]).timestamp()


def _machine(text: str) -> Machine | None:
    try:
        return msgspec.json.decode(text, type=Machine) if text else None
    except msgspec.DecodeError:
        return None


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0
