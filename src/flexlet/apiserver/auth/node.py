"""The Node authorizer: a node reads its own objects and what its pods refer to, nothing else of these kinds.

Writes it lets through are narrowed further by NodeRestriction admission, which sees the objects. Kinds without a
rule of their own here are decided by fixed rules, those of the ClusterRole ``system:node``. It only ever allows or
has no opinion; then RBAC decides. Rules and texts: ``plugin/pkg/auth/authorizer/node``.
"""

from collections.abc import Callable, Sequence
from typing import Final

from flexlet.api.gotext import quote
from flexlet.api.selectors import SelectorFault, parse_fields
from flexlet.apiserver.auth.podgraph import PodGraph
from flexlet.apiserver.auth.rules import Rule, allows, is_resource
from flexlet.apiserver.contract.request import Attributes, Decision, User

PREFIX: Final = "system:node:"
NODES_GROUP: Final = "system:nodes"
NODE_LEASES: Final = "kube-node-lease"

ALLOW: Final = Decision(allowed=True)
NO_OPINION: Final = Decision(allowed=False)


def node_name(user: User) -> str | None:
    """The node a user is, empty for a node without a name, None for anybody else."""
    if NODES_GROUP not in user.groups or not user.name.startswith(PREFIX):
        return None
    return user.name.removeprefix(PREFIX)


class NodeAuthorizer:
    """Decides for node identities."""

    def __init__(self, graph: PodGraph, rules: Sequence[Rule]) -> None:
        self._graph = graph
        self._rules = tuple(rules)
        self._by_resource: dict[tuple[str, str], Callable[[str, Attributes], Decision]] = {
            ("", "secrets"): self._read,
            ("", "configmaps"): self._read,
            ("", "persistentvolumeclaims"): self._claim,
            ("", "persistentvolumes"): self._get,
            ("", "serviceaccounts"): self._account,
            ("", "nodes"): _own_node,
            ("", "pods"): self._pod,
            ("coordination.k8s.io", "leases"): _own_lease,
        }

    def decide(self, attributes: Attributes) -> Decision:
        """Allow, or have no opinion with a reason; nobody but a node gets either."""
        node = node_name(attributes.user)
        if node is None:
            return NO_OPINION
        if not node:
            return _because(f"unknown node for user {quote(attributes.user.name)}")
        special = self._by_resource.get((attributes.group, attributes.resource))
        if special is not None and is_resource(attributes):
            return special(node, attributes)
        return ALLOW if any(allows(rule, attributes) for rule in self._rules) else NO_OPINION

    def _read(self, node: str, attributes: Attributes) -> Decision:
        """Get, or list and watch of one name."""
        if attributes.verb not in {"get", "list", "watch"}:
            return _because("can only read resources of this type")
        if attributes.subresource:
            return _because("cannot read subresource")
        if not attributes.namespace:
            return _because("can only read namespaced object of this type")
        return self._related(node, attributes)

    def _get(self, node: str, attributes: Attributes) -> Decision:
        if attributes.verb != "get":
            return _because("can only get individual resources of this type")
        if attributes.subresource:
            return _because("cannot get subresource")
        return self._related(node, attributes)

    def _claim(self, node: str, attributes: Attributes) -> Decision:
        if attributes.subresource != "status":
            return self._get(node, attributes)
        if attributes.verb not in {"update", "patch"}:
            return _because("can only get/update/patch this type")
        return self._related(node, attributes)

    def _account(self, node: str, attributes: Attributes) -> Decision:
        if attributes.verb == "get" and not attributes.subresource:
            return self._read(node, attributes)
        if attributes.verb != "create" or not attributes.name:
            return _because("can only create tokens for individual service accounts")
        if attributes.subresource != "token":
            return _because("can only create token subresource of serviceaccount")
        return self._related(node, attributes)

    def _pod(self, node: str, attributes: Attributes) -> Decision:
        match attributes.subresource, attributes.verb:
            case "", "get":
                return self._get(node, attributes)
            case "", "list" | "watch":
                return self._pods(node, attributes)
            case ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create"):
                return ALLOW
        return NO_OPINION

    def _pods(self, node: str, attributes: Attributes) -> Decision:
        if _selected_node(attributes.field_selector) == node:
            return ALLOW
        if attributes.name:
            return self._related(node, attributes)
        return _because("can only list/watch pods with spec.nodeName field selector")

    def _related(self, node: str, attributes: Attributes) -> Decision:
        if not attributes.name:
            return _because("No Object name found")
        if self._graph.related(node, attributes.resource, attributes.namespace, attributes.name):
            return ALLOW
        return _because(f"no relationship found between node '{node}' and this object")


def _own_node(node: str, attributes: Attributes) -> Decision:
    match attributes.subresource, attributes.verb:
        case ("", "create" | "update" | "patch") | ("status", "update" | "patch"):
            return ALLOW
        case "", "get" | "list" | "watch":
            if attributes.name == node:
                return ALLOW
            what = f"'{attributes.name}'" if attributes.name else "all nodes"
            return _because(f"node '{node}' cannot read {what}, only its own Node object")
    return NO_OPINION


def _own_lease(node: str, attributes: Attributes) -> Decision:
    if attributes.verb not in {"get", "create", "update", "patch", "delete"}:
        return _because("can only get, create, update, patch, or delete a node lease")
    if attributes.namespace != NODE_LEASES:
        return _because(f"can only access leases in the {quote(NODE_LEASES)} system namespace")
    # The name of an object to create is not known here: admission looks at it.
    if attributes.verb != "create" and attributes.name != node:
        return _because("can only access node lease with the same name as the requesting node")
    return ALLOW


def _selected_node(field_selector: str) -> str | None:
    try:
        return parse_fields(field_selector).exact("spec.nodeName")
    except SelectorFault:
        return None


def _because(reason: str) -> Decision:
    return Decision(allowed=False, reason=reason)
