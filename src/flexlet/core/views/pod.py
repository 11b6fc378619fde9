"""What controllers read of a pod. The scheduler and the nodes, who need more of its spec, decode it themselves."""

from functools import lru_cache
from sys import intern
from typing import Final

import msgspec

from flexlet.api.meta import KubeStruct
from flexlet.api.pod import Toleration
from flexlet.core.views import shared
from flexlet.core.views.objects import Meta, ObjectView, identity, revision

FINISHED: Final = frozenset({"Succeeded", "Failed"})


class PodView(ObjectView, frozen=True, kw_only=True, gc=False):
    """A pod in flat fields; times are RFC 3339 text, empty if unknown."""

    labels: dict[str, str] = msgspec.field(default_factory=dict)
    created: str = ""
    node: str = ""
    target: str = ""
    """Where it runs, else the one node that its affinity names: where a DaemonSet wants it."""
    phase: str = ""
    evicted: bool = False
    ready: bool = False
    ready_since: str = ""
    """When its readiness last changed."""
    disrupted: bool = False
    """Whether it already carries DisruptionTarget."""
    restarts: int = 0
    """Of the container that restarted most."""
    sidecar_restarts: int = 0
    all_restarts: int = 0
    """Of all containers together."""
    finished_at: str = ""
    tolerations: tuple[Toleration, ...] = ()
    deletion_cost: int = 0
    completion_index: int = -1

    @property
    def finished(self) -> bool:
        """Whether it will never run again."""
        return self.phase in FINISHED

    @property
    def active(self) -> bool:
        """Whether it runs, or will."""
        return not self.deleted_at and self.phase not in FINISHED


class _Annotations(msgspec.Struct, frozen=True):
    deletion_cost: str = msgspec.field(default="", name="controller.kubernetes.io/pod-deletion-cost")
    completion_index: str = msgspec.field(default="", name="batch.kubernetes.io/job-completion-index")


class _InitContainer(KubeStruct, frozen=True, kw_only=True):
    name: str = ""
    restart_policy: str = ""


class _Spec(KubeStruct, frozen=True, kw_only=True):
    node_name: str = ""
    tolerations: msgspec.Raw = shared.ABSENT
    affinity: msgspec.Raw = shared.ABSENT
    init_containers: tuple[_InitContainer, ...] = ()


class _Condition(KubeStruct, frozen=True, kw_only=True):
    type: str = ""
    status: str = ""
    last_transition_time: str | None = None


class _Terminated(KubeStruct, frozen=True, kw_only=True):
    finished_at: str | None = None


class _State(KubeStruct, frozen=True, kw_only=True):
    terminated: _Terminated | None = None


class _ContainerStatus(KubeStruct, frozen=True, kw_only=True):
    name: str = ""
    restart_count: int = 0
    state: _State = _State()


class _Status(KubeStruct, frozen=True, kw_only=True):
    phase: str = ""
    reason: str = ""
    conditions: tuple[_Condition, ...] = ()
    container_statuses: tuple[_ContainerStatus, ...] = ()
    init_container_statuses: tuple[_ContainerStatus, ...] = ()


class _Pod(KubeStruct, frozen=True, kw_only=True):
    metadata: Meta
    spec: _Spec = _Spec()
    status: _Status = _Status()


_decoder: Final = msgspec.json.Decoder(_Pod)
_annotations_decoder: Final = msgspec.json.Decoder(_Annotations)
_NO_CONDITION: Final = _Condition()
_NO_ANNOTATIONS: Final = _Annotations()


def view(raw: bytes) -> tuple[PodView, int]:
    """The pod's view and revision."""
    pod = _decoder.decode(raw)
    meta, spec, status = pod.metadata, pod.spec, pod.status
    annotations = _annotations_decoder.decode(meta.annotations) if meta.annotations else _NO_ANNOTATIONS
    ready, disrupted = _NO_CONDITION, False
    for condition in status.conditions:
        if condition.type == "Ready":
            ready = condition
        elif condition.type == "DisruptionTarget":
            disrupted = condition.status == "True"
    sidecars = _sidecar_statuses(pod) if spec.init_containers else ()
    restarts = [container.restart_count for container in status.container_statuses]
    found = PodView(
        **identity(meta),
        labels=shared.labels(bytes(meta.labels)),
        created=meta.creation_timestamp or "",
        node=intern(spec.node_name),
        target=intern(spec.node_name) or _target(bytes(spec.affinity)),
        phase=intern(status.phase),
        evicted=status.reason == "Evicted",
        ready=ready.status == "True",
        ready_since=ready.last_transition_time or "",
        disrupted=disrupted,
        restarts=max(restarts, default=0),
        sidecar_restarts=max((container.restart_count for container in sidecars), default=0),
        all_restarts=sum(restarts) + sum(c.restart_count for c in status.init_container_statuses),
        finished_at=_finished_at(pod, ready, sidecars),
        tolerations=shared.tolerations(bytes(spec.tolerations)),
        deletion_cost=_integer(annotations.deletion_cost, 0),
        completion_index=_integer(annotations.completion_index, -1),
    )
    return found, revision(meta.resource_version)


class _Field(KubeStruct, frozen=True, kw_only=True):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class _Term(KubeStruct, frozen=True, kw_only=True):
    match_fields: tuple[_Field, ...] = ()


class _Required(KubeStruct, frozen=True, kw_only=True):
    node_selector_terms: tuple[_Term, ...] = ()


class _NodeAffinity(KubeStruct, frozen=True, kw_only=True):
    required: _Required = msgspec.field(default=_Required(), name="requiredDuringSchedulingIgnoredDuringExecution")


class _Affinity(KubeStruct, frozen=True, kw_only=True):
    node_affinity: _NodeAffinity = _NodeAffinity()


_affinity_decoder: Final = msgspec.json.Decoder(_Affinity)


@lru_cache(maxsize=1024)
def _target(affinity: bytes) -> str:
    if not affinity:
        return ""
    for term in _affinity_decoder.decode(affinity).node_affinity.required.node_selector_terms:
        for field in term.match_fields:
            if field.key == "metadata.name" and field.operator == "In" and len(field.values) == 1:
                return field.values[0]
    return ""


def _sidecar_statuses(pod: _Pod) -> tuple[_ContainerStatus, ...]:
    names = {container.name for container in pod.spec.init_containers if container.restart_policy == "Always"}
    return tuple(status for status in pod.status.init_container_statuses if status.name in names)


def _finished_at(pod: _Pod, ready: _Condition, sidecars: tuple[_ContainerStatus, ...]) -> str:
    """When the last container ended, else when the pod stopped being ready, else when its deletion began."""
    if pod.status.phase not in FINISHED and not pod.metadata.deletion_timestamp:
        return ""
    ended = [c.state.terminated for c in (*pod.status.container_statuses, *sidecars)]
    times = [end.finished_at for end in ended if end is not None and end.finished_at]
    if times and len(times) == len(ended):
        return max(times)
    if ready.status == "False" and ready.last_transition_time:
        return ready.last_transition_time
    return pod.metadata.deletion_timestamp or pod.metadata.creation_timestamp or ""


def _integer(text: str, otherwise: int) -> int:
    try:
        return int(text) if text else otherwise
    except ValueError:
        return otherwise
