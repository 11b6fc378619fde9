"""What the scheduler believes: nodes with their pods, waiting pods, promises made.

One owner folds observations into it; `decide` only reads. A pod is in exactly one place: waiting, or on a node
(bound, or assumed to be while the binding is under way). A waiting pod that found no node rests until something
happens that could help: a node appears, grows or changes its labels or taints, or a pod leaves or shrinks.
"""

from collections.abc import Iterator, Mapping

import msgspec

from flexlet.api.node import Node
from flexlet.api.pod import Pod
from flexlet.api.selectors import LabelSelector
from flexlet.core.scheduling import pods
from flexlet.core.scheduling.nodes import NodeInfo
from flexlet.core.scheduling.pods import PlacedPod, WaitingPod


class Budget(msgspec.Struct, frozen=True):
    """A PodDisruptionBudget: whom it covers and how many may go."""

    namespace: str
    selector: LabelSelector
    disruptions_allowed: int


class World:
    """The scheduler's picture of the cluster."""

    def __init__(self) -> None:
        self.nodes: dict[str, NodeInfo] = {}
        self.waiting: dict[str, WaitingPod] = {}
        self.ready: set[str] = set()
        self.nominated: dict[str, str] = {}
        self.budgets: dict[str, Budget] = {}
        self.namespaces: dict[str, Mapping[str, str]] = {}
        self.anti_affine: set[str] = set()
        self._where: dict[str, str] = {}
        self._assumed: set[str] = set()

    @property
    def placed(self) -> int:
        """How many pods have a node."""
        return len(self._where)

    def live_nodes(self) -> Iterator[NodeInfo]:
        """Nodes whose Node object exists."""
        return (node for node in self.nodes.values() if node.exists)

    def node_changed(self, node: Node) -> None:
        """A Node was added or changed."""
        info = self.nodes.setdefault(node.metadata.name, NodeInfo())
        helpful = not info.exists or _may_help(info.node, node)
        info.replace_node(node)
        if helpful:
            self.retry_all()

    def node_gone(self, name: str) -> None:
        """A Node was deleted; its pods stay counted until they are gone too."""
        info = self.nodes.get(name)
        if info is None:
            return
        info.replace_node(Node())
        if not info.pods:
            del self.nodes[name]

    def pod_changed(self, pod: Pod) -> None:
        """A pod was added or changed."""
        uid = pod.metadata.uid
        if pods.is_finished(pod):
            self.pod_gone(uid)
        elif pod.spec.node_name:
            self._settle(pods.placed(pod))
        elif not pods.is_ours(pod):
            self._forget_waiting(uid)
        elif uid not in self._assumed:
            self._enqueue(pod)

    def pod_gone(self, uid: str) -> None:
        """A pod was deleted or has finished."""
        self._forget_waiting(uid)
        if self._remove(uid) is not None:
            self.retry_all()

    def assume(self, uid: str, node: str) -> None:
        """A binding is under way: count the pod on the node already."""
        waiting = self.waiting.pop(uid)
        self.ready.discard(uid)
        self.nominated.pop(uid, None)
        self._assumed.add(uid)
        self._place(pods.placed(waiting.pod, node))

    def bind_failed(self, pod: Pod) -> None:
        """The binding was refused: the pod waits again."""
        uid = pod.metadata.uid
        if uid in self._assumed:
            self._remove(uid)
            self._enqueue(pod)

    def rest(self, uid: str) -> None:
        """No node fits: wait until something changes."""
        self.ready.discard(uid)

    def retry_all(self) -> None:
        """Something happened that may help any waiting pod."""
        self.ready.update(self.waiting)

    def budgets_of(self, pod: PlacedPod) -> list[str]:
        """The disruption budgets that cover a pod."""
        return [
            key
            for key, budget in self.budgets.items()
            if budget.namespace == pod.namespace and budget.selector.matches(pod.labels)
        ]

    def _settle(self, pod: PlacedPod) -> None:
        """A bound pod: where it is, how much it counts; room it gave up helps others."""
        before = self._remove(pod.uid)
        self._forget_waiting(pod.uid)
        self._place(pod)
        if before is not None and _shrank(before.requests, pod.requests):
            self.retry_all()

    def _enqueue(self, pod: Pod) -> None:
        waiting = pods.waiting(pod)
        before = self.waiting.get(waiting.uid)
        self.waiting[waiting.uid] = waiting
        if pod.status.nominated_node_name:
            self.nominated[waiting.uid] = pod.status.nominated_node_name
        if before is None or before.signature != waiting.signature:
            self.ready.add(waiting.uid)

    def _place(self, pod: PlacedPod) -> None:
        self._where[pod.uid] = pod.node
        self.nodes.setdefault(pod.node, NodeInfo()).add(pod)
        if pod.anti_affinity:
            self.anti_affine.add(pod.uid)

    def _remove(self, uid: str) -> PlacedPod | None:
        self._assumed.discard(uid)
        self.anti_affine.discard(uid)
        name = self._where.pop(uid, None)
        if name is None:
            return None
        info = self.nodes[name]
        pod = info.remove(uid)
        if not info.exists and not info.pods:
            del self.nodes[name]
        return pod

    def _forget_waiting(self, uid: str) -> None:
        self.waiting.pop(uid, None)
        self.ready.discard(uid)
        self.nominated.pop(uid, None)


def _may_help(old: Node, new: Node) -> bool:
    """Whether the change could let a waiting pod in."""
    grew = any(
        amount > old.status.allocatable[name] if name in old.status.allocatable else True
        for name, amount in new.status.allocatable.items()
    )
    return (
        grew
        or old.spec.taints != new.spec.taints
        or old.spec.unschedulable != new.spec.unschedulable
        or old.metadata.labels != new.metadata.labels
    )


def _shrank(before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    return any(after.get(name, 0) < amount for name, amount in before.items())
