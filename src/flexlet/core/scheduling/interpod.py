"""Required affinity and anti-affinity between pods, over the values of a node label (the topology).

A term's reach is the set of nodes that share one value of its topology key. Affinity wants a matching pod within
reach; anti-affinity wants none, and works both ways: a running pod's own terms also keep newcomers out.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from flexlet.api.pod import Pod
from flexlet.core.scheduling.nodeaffinity import holds
from flexlet.core.scheduling.nodes import NodeInfo
from flexlet.core.scheduling.pods import PlacedPod, WaitingPod

AFFINITY: Final = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY: Final = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY: Final = "node(s) didn't satisfy existing pods anti-affinity rules"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"

Term = Mapping[str, Any]
NamespaceLabels = Mapping[str, Mapping[str, str]]


def required_terms(pod: Pod, which: str) -> Sequence[Term]:
    """The required terms of ``podAffinity`` or ``podAntiAffinity``."""
    rules = (pod.spec.affinity or {}).get(which) or {}
    return rules.get(_REQUIRED) or ()


def selector_matches(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """A missing selector matches nothing, an empty one everything."""
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(holds(expression, labels) for expression in selector.get("matchExpressions") or ())


class InterPod:
    """The answers for one waiting pod over all nodes, prepared once and asked per node."""

    def __init__(self, pod: WaitingPod, nodes: Iterable[NodeInfo], namespaces: NamespaceLabels) -> None:
        self._affinity = required_terms(pod.pod, "podAffinity")
        self._anti = required_terms(pod.pod, "podAntiAffinity")
        nodes = tuple(nodes)
        self._near = [_reach(pod, term, nodes, namespaces) for term in self._affinity]
        self._avoid = [_reach(pod, term, nodes, namespaces) for term in self._anti]
        self._guarded = _guarded(pod, nodes, namespaces)
        self._first_of_its_kind = not any(self._near) and all(
            _applies(pod, term, pod, namespaces) for term in self._affinity
        )

    def reason(self, node: NodeInfo) -> str:
        """Why the node is refused, or an empty string."""
        labels = node.labels
        for term, values in zip(self._affinity, self._near, strict=True):
            value = labels.get(term["topologyKey"])
            # The first pod of a group that wants its own company may go anywhere the topology exists.
            if value is None or (value not in values and not self._first_of_its_kind):
                return AFFINITY
        for term, values in zip(self._anti, self._avoid, strict=True):
            if labels.get(term["topologyKey"]) in values:
                return ANTI_AFFINITY
        if any(labels.get(key) == value for key, value in self._guarded):
            return EXISTING_ANTI_AFFINITY
        return ""


def _reach(pod: WaitingPod, term: Term, nodes: Iterable[NodeInfo], namespaces: NamespaceLabels) -> set[str]:
    """The topology values under which a pod matching the term runs."""
    key = term["topologyKey"]
    return {
        node.labels[key]
        for node in nodes
        if key in node.labels and any(_applies(pod, term, other, namespaces) for other in node.pods.values())
    }


def _guarded(pod: WaitingPod, nodes: Iterable[NodeInfo], namespaces: NamespaceLabels) -> set[tuple[str, str]]:
    """Topology (key, value) pairs that running pods keep free of this pod."""
    return {
        (str(term["topologyKey"]), node.labels[str(term["topologyKey"])])
        for node in nodes
        for other in node.pods.values()
        for term in other.anti_affinity
        if term["topologyKey"] in node.labels and _applies(other, term, pod, namespaces)
    }


def _applies(
    holder: WaitingPod | PlacedPod, term: Term, other: WaitingPod | PlacedPod, namespaces: NamespaceLabels
) -> bool:
    """Whether `other` is one of the pods that the holder's term speaks about."""
    return _within(holder, term, _namespace(other), namespaces) and selector_matches(
        term.get("labelSelector"), _labels(other)
    )


def _within(holder: WaitingPod | PlacedPod, term: Term, namespace: str, namespaces: NamespaceLabels) -> bool:
    """Named namespaces and selected ones add up; a term that says neither means the holder's own."""
    named, selector = term.get("namespaces") or (), term.get("namespaceSelector")
    if not named and selector is None:
        return namespace == _namespace(holder)
    return namespace in named or selector_matches(selector, namespaces.get(namespace, {}))


def _namespace(pod: WaitingPod | PlacedPod) -> str:
    return pod.namespace if isinstance(pod, PlacedPod) else pod.pod.metadata.namespace


def _labels(pod: WaitingPod | PlacedPod) -> Mapping[str, str]:
    return pod.labels if isinstance(pod, PlacedPod) else pod.pod.metadata.labels
