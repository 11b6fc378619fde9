"""Required affinity and anti-affinity between pods, over the values of a node label (the topology).

A term's reach is the set of nodes that share one value of its topology key. Affinity wants a matching pod within
reach; anti-affinity wants none, and works both ways: a running pod's own terms also keep newcomers out.
"""

from collections.abc import Iterable
from typing import Final

from flexlet.core.scheduling.nodes import NodeInfo
from flexlet.core.scheduling.pods import WaitingPod
from flexlet.core.scheduling.terms import NamespaceLabels, Term

AFFINITY: Final = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY: Final = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY: Final = "node(s) didn't satisfy existing pods anti-affinity rules"


class InterPod:
    """The answers for one waiting pod over all nodes, prepared once and asked per node."""

    def __init__(self, pod: WaitingPod, nodes: Iterable[NodeInfo], known: NamespaceLabels) -> None:
        nodes = tuple(nodes)
        meta = pod.pod.metadata
        self._affinity = [(term, _reach(term, nodes, known)) for term in pod.affinity]
        self._anti = [(term, _reach(term, nodes, known)) for term in pod.anti_affinity]
        self._guarded = _guarded(pod, nodes, known)
        self._first_of_its_kind = not any(reach for _, reach in self._affinity) and all(
            term.applies(meta.namespace, meta.labels, known) for term in pod.affinity
        )

    def reason(self, node: NodeInfo) -> str:
        """Why the node is refused, or an empty string."""
        labels = node.labels
        for term, reach in self._affinity:
            value = labels.get(term.topology_key)
            # The first pod of a group that wants its own company may go anywhere the topology exists.
            if value is None or (value not in reach and not self._first_of_its_kind):
                return AFFINITY
        if any(labels.get(term.topology_key) in reach for term, reach in self._anti):
            return ANTI_AFFINITY
        if any(labels.get(key) == value for key, value in self._guarded):
            return EXISTING_ANTI_AFFINITY
        return ""


def _reach(term: Term, nodes: Iterable[NodeInfo], known: NamespaceLabels) -> set[str]:
    """The topology values under which a pod matching the term runs."""
    key = term.topology_key
    return {
        node.labels[key]
        for node in nodes
        if key in node.labels and any(term.applies(p.namespace, p.labels, known) for p in node.pods.values())
    }


def _guarded(pod: WaitingPod, nodes: Iterable[NodeInfo], known: NamespaceLabels) -> set[tuple[str, str]]:
    """Topology (key, value) pairs that running pods keep free of this pod."""
    meta = pod.pod.metadata
    return {
        (term.topology_key, node.labels[term.topology_key])
        for node in nodes
        for other in node.pods.values()
        for term in other.anti_affinity
        if term.topology_key in node.labels and term.applies(meta.namespace, meta.labels, known)
    }
