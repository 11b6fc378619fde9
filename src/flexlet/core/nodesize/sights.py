"""What the controller reads of nodes and pods."""

from typing import Final

import msgspec

from flexlet.api import decode
from flexlet.api.meta import Condition, KubeStruct, ObjectMeta
from flexlet.api.node import Taint
from flexlet.api.pod import ContainerStatus, Pod, ResourceList
from flexlet.core.critical import SYSTEM_CRITICAL_PRIORITY
from flexlet.core.hollow.machine import HOLLOW_LABEL
from flexlet.core.nodesize import names, sizes
from flexlet.core.nodesize.sizes import Amounts
from flexlet.core.resources import statusaware
from flexlet.core.resources.names import CPU, MEMORY

_UNPLUG_REFUSED: Final = "UnplugRefused"
FINISHED: Final = frozenset({"Succeeded", "Failed"})
_ON_ITS_WAY: Final = frozenset({"", "ContainerCreating", "PodInitializing"})


class _NodeInfo(KubeStruct, frozen=True, kw_only=True):
    kubelet_version: str = ""
    operating_system: str = ""


class _NodeSpec(KubeStruct, frozen=True, kw_only=True):
    taints: tuple[Taint, ...] = ()
    pod_preemption_policy: msgspec.Raw = msgspec.Raw(b"")


class _NodeStatus(KubeStruct, frozen=True, kw_only=True):
    capacity: ResourceList = msgspec.field(default_factory=dict)
    allocatable: ResourceList = msgspec.field(default_factory=dict)
    node_info: _NodeInfo = _NodeInfo()
    conditions: tuple[Condition, ...] = ()


class _Node(KubeStruct, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: _NodeSpec = _NodeSpec()
    status: _NodeStatus = _NodeStatus()


class NodeSight(msgspec.Struct, frozen=True, kw_only=True):
    """A node; `version` is its kubelet's as (major, minor), (0, 0) if unreadable."""

    name: str
    uid: str
    resource_version: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()
    capacity: Amounts
    allocatable: Amounts
    version: tuple[int, int] = (0, 0)
    system: str = "linux"
    unplug_refused: str = ""
    """Why the node's agent does not let go of hardware that it was asked for."""
    preemption_is_off: bool = False
    """Whether its policy keeps the scheduler from preempting for a balloon's resize."""

    @property
    def is_native(self) -> bool:
        """Whether its agent is flexlet's own, or pretended by it."""
        said = names.AGENT in self.annotations or names.GENERATION in self.annotations
        return said or self.labels.get(HOLLOW_LABEL) == "true"

    def has_taint(self, key: str) -> bool:
        """Whether it carries a taint."""
        return any(taint.key == key for taint in self.taints)


class Balloon(msgspec.Struct, frozen=True, kw_only=True):
    """A balloon pod in three sizes; `allocated` is None until its node has taken it."""

    uid: str
    name: str
    namespace: str
    node: str
    created: str
    resource_version: str
    generation: int = 0
    spec: Amounts
    allocated: Amounts | None = None
    actual: Amounts
    pending: str = ""
    """Why its resize waits: Deferred, Infeasible."""
    message: str = ""
    stuck: str = ""
    """Why its container does not start."""
    is_starting: bool = False
    """Whether its container is on its way for the first time: until it runs nodes do not resize it."""
    shape: str = "G"
    is_critical: bool = False
    owner: str = ""
    annotations: dict[str, str] = {}
    is_ending: bool = False
    is_finished: bool = False

    @property
    def held(self) -> Amounts:
        """What nobody else can have: the largest of the three; a wish that can never be met does not count."""
        known = (self.allocated or self.spec, self.actual)
        return (
            sizes.largest(*known) if self.pending == statusaware.INFEASIBLE else sizes.largest(self.spec, *known)
        )

    @property
    def is_settled(self) -> bool:
        """Whether it has the size that its spec asks for."""
        return self.allocated == self.spec


def node(raw: bytes) -> NodeSight:
    """A node from its JSON."""
    found = decode.from_json(raw, _Node)
    meta, status = found.metadata, found.status
    return NodeSight(
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
        labels=meta.labels,
        annotations=meta.annotations,
        taints=found.spec.taints,
        capacity=sizes.of(status.capacity),
        allocatable=sizes.of(status.allocatable),
        version=release(status.node_info.kubelet_version),
        system=status.node_info.operating_system or "linux",
        unplug_refused=next((c.message for c in status.conditions if c.reason == _UNPLUG_REFUSED), ""),
        preemption_is_off=names.LABEL.encode() in bytes(found.spec.pod_preemption_policy),
    )


def is_balloon(pod: Pod, namespace: str = names.NAMESPACE) -> bool:
    """Whether a pod is a balloon: the label alone could be anybody's."""
    return pod.metadata.labels.get(names.LABEL) == "true" and pod.metadata.namespace == namespace


def workload(pod: Pod) -> Amounts:
    """What a pod takes from its node."""
    return sizes.of(statusaware.scheduler_requests(pod))


def granted(pod: Pod) -> Amounts:
    """What its node has granted to a pod: a resize that waits does not count."""
    if not any(c.type == statusaware.RESIZE_PENDING for c in pod.status.conditions):
        return workload(pod)
    refused = Condition(type=statusaware.RESIZE_PENDING, reason=statusaware.INFEASIBLE)
    status = msgspec.structs.replace(pod.status, conditions=(refused,))
    return workload(msgspec.structs.replace(pod, status=status))


def balloon(pod: Pod) -> Balloon:
    """A pod that is one, as a balloon."""
    meta, status = pod.metadata, pod.status
    container = next(iter(pod.spec.containers), None)
    spec = sizes.of(container.resources.requests if container else {})
    limits = container.resources.limits if container else {}
    found = next((c for c in status.container_statuses if container and c.name == container.name), None)
    pending = _pending(pod)
    return Balloon(
        uid=meta.uid,
        name=meta.name,
        namespace=meta.namespace,
        node=pod.spec.node_name,
        created=meta.creation_timestamp or "",
        resource_version=meta.resource_version,
        generation=meta.generation,
        spec=spec,
        allocated=_allocated(found),
        actual=_actual(found, spec),
        pending=pending.reason if pending else "",
        message=pending.message if pending else "",
        stuck=_stuck(found),
        is_starting=_starts(found),
        shape="G" if CPU in limits else "M" if MEMORY in limits else "R",
        is_critical=(pod.spec.priority or 0) >= SYSTEM_CRITICAL_PRIORITY,
        owner=meta.annotations.get(names.OWNER, ""),
        annotations=meta.annotations,
        is_ending=meta.deletion_timestamp is not None,
        is_finished=status.phase in FINISHED,
    )


def _stuck(found: ContainerStatus | None) -> str:
    """What the node says of a container that waits, unless that is on its way."""
    waiting = {} if found is None else found.state.get("waiting") or {}
    reason = str(waiting.get("reason", ""))
    return f"{reason}: {waiting.get('message', '')}".rstrip(": ") if reason not in _ON_ITS_WAY else ""


def _starts(found: ContainerStatus | None) -> bool:
    if found is None or "waiting" not in found.state or found.restart_count or found.last_state:
        return False
    return not _stuck(found)


def _pending(pod: Pod) -> Condition | None:
    """What the node says about the resize that is asked for now, not about an earlier one."""
    for condition in pod.status.conditions:
        is_old = 0 < condition.observed_generation < pod.metadata.generation
        if condition.type == statusaware.RESIZE_PENDING and condition.status == "True" and not is_old:
            return condition
    return None


def _allocated(found: ContainerStatus | None) -> Amounts | None:
    return sizes.of(found.allocated_resources) if found and found.allocated_resources else None


def _actual(found: ContainerStatus | None, spec: Amounts) -> Amounts:
    """What is in force; a node that does not say is taken to have what it allocated."""
    if found is None or found.resources is None:
        return (_allocated(found) if found else None) or dict(sizes.NOTHING)
    return sizes.of(found.resources.requests, spec)


def release(text: str) -> tuple[int, int]:
    """``v1.36.3`` is 1.36; what is no version is older than all."""
    major, _, rest = text.removeprefix("v").partition(".")
    minor = rest.partition(".")[0]
    return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else (0, 0)
