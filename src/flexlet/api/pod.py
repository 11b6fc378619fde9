"""The fields of a Pod that flexlet reads.

Sidecars are init containers with ``restartPolicy: Always``; use `Container.is_sidecar`. Resource lists are plain
dicts of Quantity: a missing name means absent, which is not zero. The desired, allocated and actual resources of
an in-place resize live in spec, status.allocatedResources and status.resources; see `flexlet.core.resources`.
"""

from typing import Any

import msgspec

from flexlet.api.meta import Condition, KubeStruct, LabelSelector, ObjectMeta
from flexlet.api.quantity import Quantity

ResourceList = dict[str, Quantity]


class ResourceRequirements(KubeStruct, frozen=True, kw_only=True):
    """Requests and limits of a container or of a whole pod."""

    requests: ResourceList = {}
    limits: ResourceList = {}


class ResizePolicy(KubeStruct, frozen=True, kw_only=True):
    """Whether a container must restart when one resource changes."""

    resource_name: str
    restart_policy: str


class ContainerPort(KubeStruct, frozen=True, kw_only=True):
    """A port a container listens on; only host ports matter for placement."""

    container_port: int = 0
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = "TCP"
    name: str = ""


class Container(KubeStruct, frozen=True, kw_only=True):
    """A regular or init container."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    resize_policy: tuple[ResizePolicy, ...] = ()
    restart_policy: str | None = None
    ports: tuple[ContainerPort, ...] = ()

    @property
    def is_sidecar(self) -> bool:
        """Whether an init container keeps running beside the regular ones."""
        return self.restart_policy == "Always"


class Toleration(KubeStruct, frozen=True, kw_only=True):
    """A taint a pod puts up with."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class TopologySpreadConstraint(KubeStruct, frozen=True, kw_only=True):
    """How evenly matching pods must lie over the values of a node label."""

    max_skew: int = 1
    topology_key: str = ""
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class PodSchedulingGate(KubeStruct, frozen=True, kw_only=True):
    """A reason to leave a pod unscheduled for now."""

    name: str


class PodSpec(KubeStruct, frozen=True, kw_only=True):
    """What the client asked for."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    resources: ResourceRequirements | None = None
    overhead: ResourceList = {}
    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: dict[str, Any] | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    scheduler_name: str = "default-scheduler"
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    restart_policy: str = "Always"
    host_network: bool = False
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None


class ContainerStatus(KubeStruct, frozen=True, kw_only=True):
    """What the node reports of one container."""

    name: str = ""
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    state: dict[str, Any] = {}
    last_state: dict[str, Any] = {}
    allocated_resources: ResourceList = {}
    resources: ResourceRequirements | None = None


class PodStatus(KubeStruct, frozen=True, kw_only=True):
    """What the node reports of the pod."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    qos_class: str = ""
    observed_generation: int = 0
    nominated_node_name: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    allocated_resources: ResourceList = {}
    resources: ResourceRequirements | None = None
    start_time: str | None = None
    pod_ip: str = msgspec.field(default="", name="podIP")


class Pod(KubeStruct, frozen=True, kw_only=True):
    """A pod as flexlet reads it."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
