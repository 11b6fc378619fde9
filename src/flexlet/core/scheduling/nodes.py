"""A node as the scheduler sees it: its object, what its pods use, and what is left.

A NodeInfo is owned by the World and changed only by it; `used` always equals the sum over `pods`, so that a fit
test is a few subtractions however many pods run there.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from flexlet.api.node import Node
from flexlet.core.resources import amounts
from flexlet.core.scheduling.pods import HostPort, PlacedPod

_K = TypeVar("_K")


class NodeInfo:
    """One node with its pods and running sums."""

    __slots__ = ("allocatable", "node", "owners", "pods", "ports", "used")

    def __init__(self, node: Node | None = None) -> None:
        self.node = node or Node()
        self.allocatable = amounts.as_integers(self.node.status.allocatable)
        self.pods: dict[str, PlacedPod] = {}
        self.used: dict[str, int] = {}
        self.owners: dict[str, int] = {}
        self.ports: dict[HostPort, int] = {}

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node.metadata.name

    @property
    def labels(self) -> Mapping[str, str]:
        """The node's labels."""
        return self.node.metadata.labels

    @property
    def exists(self) -> bool:
        """False while only pods that name the node are known."""
        return bool(self.node.metadata.name)

    def replace_node(self, node: Node) -> None:
        """Take over a new version of the Node object; its pods stay."""
        self.node = node
        self.allocatable = amounts.as_integers(node.status.allocatable)

    def add(self, pod: PlacedPod) -> None:
        """Count a pod in, replacing an older picture of it."""
        self.remove(pod.uid)
        self.pods[pod.uid] = pod
        _count(self.used, pod.requests, 1)
        _count(self.owners, {pod.owner: 1} if pod.owner else {}, 1)
        _count(self.ports, dict.fromkeys(pod.ports, 1), 1)

    def remove(self, uid: str) -> PlacedPod | None:
        """Count a pod out."""
        pod = self.pods.pop(uid, None)
        if pod is not None:
            _count(self.used, pod.requests, -1)
            _count(self.owners, {pod.owner: 1} if pod.owner else {}, -1)
            _count(self.ports, dict.fromkeys(pod.ports, 1), -1)
        return pod

    def without(self, uids: Iterable[str]) -> "NodeInfo":
        """A copy in which some pods are gone, for asking what preemption would give."""
        gone = set(uids)
        copy = NodeInfo(self.node)
        for pod in self.pods.values():
            if pod.uid not in gone:
                copy.add(pod)
        return copy

    def free(self, resource: str) -> int:
        """What is left of a resource; negative when a node shrank below its pods."""
        return self.allocatable.get(resource, 0) - self.used.get(resource, 0)


def _count(sums: dict[_K, int], amount: Mapping[_K, int], sign: int) -> None:
    for key, value in amount.items():
        left = sums.get(key, 0) + sign * value
        if left:
            sums[key] = left
        else:
            sums.pop(key, None)
