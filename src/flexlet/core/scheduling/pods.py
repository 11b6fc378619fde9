"""What the scheduler keeps of a pod: a waiting pod in full, a placed one in a few small fields."""

from typing import Final

import msgspec

from flexlet.api.pod import Pod
from flexlet.core.balloon.identity import is_balloon
from flexlet.core.resources import amounts, effective, statusaware
from flexlet.core.scheduling import terms
from flexlet.core.scheduling.terms import Term

DEFAULT_SCHEDULER: Final = "default-scheduler"

HostPort = tuple[str, str, int]
"""Protocol, host address (``0.0.0.0`` = any), port."""


class PlacedPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that occupies a node, or is about to."""

    uid: str
    namespace: str
    name: str
    node: str
    priority: int
    labels: dict[str, str]
    requests: dict[str, int]
    owner: str = ""
    ports: tuple[HostPort, ...] = ()
    anti_affinity: tuple[Term, ...] = ()
    balloon: bool = False
    terminating: bool = False
    started: str = ""


class WaitingPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod without a node. Pods with equal `signature` fit the same nodes."""

    pod: Pod
    requests: dict[str, int]
    ports: tuple[HostPort, ...]
    owner: str
    signature: bytes
    affinity: tuple[Term, ...] = ()
    anti_affinity: tuple[Term, ...] = ()

    @property
    def uid(self) -> str:
        """The pod's uid."""
        return self.pod.metadata.uid

    @property
    def priority(self) -> int:
        """The pod's priority, 0 if unset."""
        return self.pod.spec.priority or 0


def placed(pod: Pod, node: str = "") -> PlacedPod:
    """How much a running pod counts for: the larger of asked, allocated and actual."""
    return PlacedPod(
        uid=pod.metadata.uid,
        namespace=pod.metadata.namespace,
        name=pod.metadata.name,
        node=node or pod.spec.node_name,
        priority=pod.spec.priority or 0,
        labels=pod.metadata.labels,
        requests=amounts.as_integers(statusaware.scheduler_requests(pod)),
        owner=_controller(pod),
        ports=host_ports(pod),
        anti_affinity=terms.required(pod, "podAntiAffinity"),
        balloon=is_balloon(pod),
        terminating=pod.metadata.deletion_timestamp is not None,
        started=pod.status.start_time or "",
    )


def waiting(pod: Pod) -> WaitingPod:
    """How much a pod asks for: its spec alone."""
    requests = amounts.as_integers(effective.pod_requests(pod))
    return WaitingPod(
        pod=pod,
        requests=requests,
        ports=host_ports(pod),
        owner=_controller(pod),
        signature=_signature(pod),
        affinity=terms.required(pod, "podAffinity"),
        anti_affinity=terms.required(pod, "podAntiAffinity"),
    )


def is_finished(pod: Pod) -> bool:
    """Whether the pod no longer occupies its node."""
    return pod.status.phase in {"Succeeded", "Failed"}


def is_ours(pod: Pod) -> bool:
    """Whether this scheduler is asked to place the pod, and may."""
    return (
        not pod.spec.node_name
        and not pod.spec.scheduling_gates
        and pod.spec.scheduler_name == DEFAULT_SCHEDULER
        and pod.metadata.deletion_timestamp is None
        and not is_finished(pod)
    )


def host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """The ports of the node that the pod needs for itself."""
    containers = (*pod.spec.containers, *(c for c in pod.spec.init_containers if c.is_sidecar))
    return tuple(
        (port.protocol or "TCP", port.host_ip or "0.0.0.0", port.host_port)  # noqa: S104 means any address
        for container in containers
        for port in container.ports
        if port.host_port > 0
    )


def _controller(pod: Pod) -> str:
    return next((ref.uid for ref in pod.metadata.owner_references if ref.controller), "")


_signature_encoder: Final = msgspec.msgpack.Encoder(enc_hook=str, order="deterministic")


def _signature(pod: Pod) -> bytes:
    """Everything a filter or score looks at; equal bytes, equal answers."""
    spec = pod.spec
    return _signature_encoder.encode(
        (
            pod.metadata.namespace,
            pod.metadata.labels if spec.affinity or spec.topology_spread_constraints else None,
            [c.resources for c in spec.containers],
            [(c.resources, c.restart_policy) for c in spec.init_containers],
            spec.resources,
            spec.overhead,
            spec.node_selector,
            spec.affinity,
            spec.tolerations,
            spec.topology_spread_constraints,
            spec.priority or 0,
            spec.preemption_policy,
            host_ports(pod),
            _controller(pod),
        )
    )
