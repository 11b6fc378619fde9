"""Hard topology spread: a placement may not make one domain more than maxSkew fuller than the emptiest."""

from collections.abc import Iterable, Mapping
from typing import Final

from flexlet.api import decode, selectors
from flexlet.api.pod import TopologySpreadConstraint
from flexlet.core.scheduling import filters, nodeaffinity
from flexlet.core.scheduling.nodes import NodeInfo
from flexlet.core.scheduling.pods import WaitingPod

SKEW: Final = "node(s) didn't match pod topology spread constraints"
MISSING_LABEL: Final = "node(s) didn't match pod topology spread constraints (missing required label)"


class Spread:
    """The matching pods per domain for each hard constraint of one waiting pod."""

    def __init__(self, pod: WaitingPod, nodes: Iterable[NodeInfo]) -> None:
        self._constraints = [
            c for c in pod.pod.spec.topology_spread_constraints if c.when_unsatisfiable == "DoNotSchedule"
        ]
        nodes = tuple(nodes) if self._constraints else ()
        self._pod = pod
        self._selectors = [_selector(constraint, pod) for constraint in self._constraints]
        self._counts = [
            self._domains(constraint, selector, nodes)
            for constraint, selector in zip(self._constraints, self._selectors, strict=True)
        ]

    def reason(self, node: NodeInfo) -> str:
        """Why the node is refused, or an empty string."""
        labels = self._pod.pod.metadata.labels
        for constraint, selector, counts in zip(self._constraints, self._selectors, self._counts, strict=True):
            domain = node.labels.get(constraint.topology_key)
            if domain is None:
                return MISSING_LABEL
            # A node outside the counted ones (affinity, taints) is refused by its own filter.
            after = counts.get(domain, 0) + int(selector.matches(labels))
            if after - _fewest(constraint, counts) > constraint.max_skew:
                return SKEW
        return ""

    def _domains(
        self, constraint: TopologySpreadConstraint, selector: selectors.LabelSelector, nodes: Iterable[NodeInfo]
    ) -> dict[str, int]:
        counts: dict[str, int] = {}
        for node in nodes:
            domain = node.labels.get(constraint.topology_key)
            if domain is None or not self._counts_node(constraint, node):
                continue
            counts[domain] = counts.get(domain, 0) + sum(
                1
                for pod in node.pods.values()
                if pod.namespace == self._pod.pod.metadata.namespace
                and not pod.terminating
                and selector.matches(pod.labels)
            )
        return counts

    def _counts_node(self, constraint: TopologySpreadConstraint, node: NodeInfo) -> bool:
        spec = self._pod.pod.spec
        if constraint.node_affinity_policy != "Ignore" and not nodeaffinity.matches(spec, node.node):
            return False
        honours_taints = constraint.node_taints_policy == "Honor"
        return not honours_taints or filters.untolerated(node.node.spec.taints, spec.tolerations) is None


def _selector(constraint: TopologySpreadConstraint, pod: WaitingPod) -> selectors.LabelSelector:
    """The constraint's selector plus matchLabelKeys, which stand for the pod's own values."""
    if constraint.label_selector is None:
        return selectors.from_object(None)
    selector = decode.to_value(constraint.label_selector)
    labels = pod.pod.metadata.labels
    own = {key: labels[key] for key in constraint.match_label_keys if key in labels}
    return selectors.from_object({**selector, "matchLabels": {**selector.get("matchLabels", {}), **own}})


def _fewest(constraint: TopologySpreadConstraint, counts: Mapping[str, int]) -> int:
    """The emptiest domain; zero while there are fewer domains than minDomains."""
    if len(counts) < (constraint.min_domains or 1):
        return 0
    return min(counts.values(), default=0)
