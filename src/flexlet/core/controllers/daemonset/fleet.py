"""The pods of one DaemonSet, node by node, with running totals.

A change on one node of a thousand is judged for that node alone: its mark replaces the former one in the totals,
and the totals are the DaemonSet's status.
"""

from collections.abc import Iterable

import msgspec

from flexlet.core.controllers.daemonset import placement
from flexlet.core.views.daemonset import DaemonSetView
from flexlet.core.views.node import NodeView
from flexlet.core.views.pod import PodView


class Mark(msgspec.Struct, frozen=True, gc=False):
    """What one node adds to the status."""

    desired: int = 0
    current: int = 0
    misscheduled: int = 0
    ready: int = 0
    available: int = 0
    updated: int = 0
    old: int = 0
    """Pods of a former template; not part of the status."""


class Fleet:
    """Pods that name one DaemonSet as their controller, by the node they are on or are meant for."""

    __slots__ = ("_going", "_marks", "_node_of", "_pods", "_suits", "_totals", "changed", "failures", "pending")

    def __init__(self) -> None:
        self._pods: dict[str, dict[str, PodView]] = {}
        self._node_of: dict[str, str] = {}
        self._going: set[str] = set()
        self._marks: dict[str, Mark] = {}
        self._totals = [0] * len(Mark.__struct_fields__)
        self._suits: dict[str, tuple[bool, bool]] = {}
        self.changed: set[str] = set()
        self.pending: dict[str, float] = {}
        """When the ready pod of a node becomes available."""
        self.failures: dict[str, tuple[float, float]] = {}
        """The last pause before a failed pod of a node was deleted, and when."""

    def get(self, uid: str) -> PodView | None:
        """A pod as last put."""
        return self._pods.get(self._node_of.get(uid, ""), {}).get(uid)

    def put(self, pod: PodView) -> None:
        """A pod is new or has changed."""
        self._take_out(pod.uid)
        self._node_of[pod.uid] = pod.target
        self._pods.setdefault(pod.target, {})[pod.uid] = pod
        self.changed.add(pod.target)

    def remove(self, uid: str) -> None:
        """A pod is gone, or belongs to another."""
        self._take_out(uid)
        self._going.discard(uid)

    def is_empty(self) -> bool:
        """Whether no pod is left."""
        return not self._node_of

    def on(self, node: str) -> list[PodView]:
        """The pods of a node, without those that have ended and only wait to be removed."""
        return [pod for pod in self._pods.get(node, {}).values() if not (pod.finished and pod.deleting)]

    def is_going(self, pod: PodView) -> bool:
        """Whether its deletion has begun, seen or only sent."""
        return pod.deleting or pod.uid in self._going

    def send_away(self, pod: PodView) -> None:
        """Its deletion is under way, though not yet seen."""
        self._going.add(pod.uid)
        self.changed.add(pod.target)

    def take_back(self, uid: str) -> None:
        """Its deletion was refused."""
        self._going.discard(uid)
        if uid in self._node_of:
            self.changed.add(self._node_of[uid])

    def suits(self, ds: DaemonSetView, node: NodeView) -> tuple[bool, bool]:
        """Whether a pod should run on a node and may stay there, remembered until the node changes."""
        found = self._suits.get(node.name)
        if found is None:
            found = self._suits[node.name] = placement.eligibility(ds.template, node)
        return found

    def reconsider(self, nodes: Iterable[str]) -> None:
        """The nodes changed, or what is asked of them."""
        for node in nodes:
            self._suits.pop(node, None)
            self.changed.add(node)

    def nodes(self) -> Iterable[str]:
        """The nodes that have pods."""
        return self._pods

    def changed_pods(self) -> Iterable[PodView]:
        """The pods of the nodes on which something changed."""
        return (pod for node in self.changed for pod in self.on(node))

    def mark(self, node: str, mark: Mark | None) -> None:
        """Count a node as it is now; None for one that is gone."""
        before = self._marks.pop(node, None)
        if mark is not None:
            self._marks[node] = mark
        for place, field in enumerate(Mark.__struct_fields__):
            self._totals[place] += getattr(mark, field, 0) - getattr(before, field, 0)

    def count(self, field: str) -> int:
        """One of the totals."""
        return self._totals[Mark.__struct_fields__.index(field)]

    def _take_out(self, uid: str) -> None:
        node = self._node_of.pop(uid, None)
        if node is None:
            return
        self.changed.add(node)
        inside = self._pods[node]
        del inside[uid]
        if not inside:
            del self._pods[node]
