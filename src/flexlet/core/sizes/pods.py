"""What a pod asks for, what its node has granted, and what is in force: three values, and the way between them."""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from flexlet.api.meta import Condition
from flexlet.api.pod import Container, ContainerStatus, Pod, ResourceList
from flexlet.core.resources.effective import aggregate, override, pod_limits, pod_requests
from flexlet.core.sizes import words

PENDING: Final = "PodResizePending"
IN_PROGRESS: Final = "PodResizeInProgress"


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """Requests and limits of one moment."""

    requests: ResourceList = msgspec.field(default_factory=dict)
    limits: ResourceList = msgspec.field(default_factory=dict)

    def text(self, resource: str) -> str:
        """``500m/1``: request and limit; the stroke alone if neither is there."""
        request, limit = self.requests.get(resource), self.limits.get(resource)
        if limit is None:
            return words.amount(resource, request)
        return f"{words.amount(resource, request)}/{words.amount(resource, limit)}"


class PodSizes(msgspec.Struct, frozen=True, kw_only=True):
    """A pod for people."""

    namespace: str
    name: str
    node: str
    phase: str
    desired: Size
    allocated: Size
    actual: Size
    conditions: tuple[Condition, ...] = ()
    """Those about its resize."""

    @property
    def resize(self) -> str:
        """``Deferred: Node didn't have enough ...``; empty if the pod is as it should be."""
        return "; ".join(_words(each) for each in self.conditions)


def of_pods(pods: Iterable[Pod]) -> list[PodSizes]:
    """All pods by namespace and name."""
    return sorted(map(of_pod, pods), key=lambda each: (each.namespace, each.name))


def of_pod(pod: Pod) -> PodSizes:
    """One pod."""
    status = pod.status
    return PodSizes(
        namespace=pod.metadata.namespace,
        name=pod.metadata.name,
        node=pod.spec.node_name,
        phase=status.phase,
        desired=Size(requests=pod_requests(pod), limits=pod_limits(pod)),
        allocated=Size(requests=_reported(pod, lambda one: one.allocated_resources, status.allocated_resources)),
        actual=Size(
            requests=_reported(pod, _actual_requests, status.resources.requests if status.resources else {}),
            limits=_reported(pod, _actual_limits, status.resources.limits if status.resources else {}),
        ),
        conditions=resizing(pod),
    )


def resizing(pod: Pod) -> tuple[Condition, ...]:
    """What a resize waits for or works on."""
    return tuple(
        each for each in pod.status.conditions if each.type in {PENDING, IN_PROGRESS} and each.status == "True"
    )


def _reported(pod: Pod, read: Callable[[ContainerStatus], ResourceList], whole: ResourceList) -> ResourceList:
    """What the node says of the containers that run side by side, or of the pod as a whole."""
    status = pod.status
    known = {one.name: one for one in (*status.container_statuses, *status.init_container_statuses)}

    def of(container: Container) -> ResourceList:
        return read(known[container.name]) if container.name in known else {}

    sidecars = [(True, of(one)) for one in pod.spec.init_containers if one.is_sidecar]
    found = aggregate([of(one) for one in pod.spec.containers], sidecars)
    override(found, whole)
    return found


def _actual_requests(status: ContainerStatus) -> ResourceList:
    return status.resources.requests if status.resources else {}


def _actual_limits(status: ContainerStatus) -> ResourceList:
    return status.resources.limits if status.resources else {}


def _words(condition: Condition) -> str:
    short = condition.reason or condition.type.removeprefix("PodResize")
    return f"{short}: {condition.message}" if condition.message else short
