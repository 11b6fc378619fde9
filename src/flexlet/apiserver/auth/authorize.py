"""Authorization: system:masters, then the Node authorizer, then RBAC; the first to allow wins.

Nobody denies outright: who is not allowed by any is refused, with the reasons of all. Authorization comes before
existence, so a refusal never tells whether the object is there.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from flexlet.api import status
from flexlet.api.gotext import quote
from flexlet.apiserver.auth.node import NodeAuthorizer, node_name
from flexlet.apiserver.auth.podgraph import PodGraph
from flexlet.apiserver.auth.rbac import Rbac, aggregate
from flexlet.apiserver.auth.rules import Rule, is_resource
from flexlet.apiserver.contract.admission import View
from flexlet.apiserver.contract.request import Attributes, Decision, User

MASTERS: Final = "system:masters"

_ALLOWED: Final = Decision(allowed=True)
# Upstream keeps names that come from the URL from looking like markup.
_SANITIZED: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class RuleList(NamedTuple):
    """What somebody may do in a namespace, as far as it can be listed."""

    rules: tuple[Rule, ...]
    incomplete: bool
    fault: str


class Authorizer:
    """Decides on requests."""

    def __init__(self, node: NodeAuthorizer, rbac: Rbac) -> None:
        self._node = node
        self.rbac = rbac

    def decide(self, attributes: Attributes) -> Decision:
        """Whether the request may go on, and why or why not."""
        if MASTERS in attributes.user.groups:
            return _ALLOWED
        by_node = self._node.decide(attributes)
        if by_node.allowed:
            return by_node
        by_rbac = self.rbac.decide(attributes)
        if by_rbac.allowed or not by_node.reason:
            return by_rbac
        reasons = (by_node.reason, by_rbac.reason)
        return Decision(allowed=False, reason="\n".join(reason for reason in reasons if reason))

    def require(self, attributes: Attributes) -> None:
        """Let an allowed request pass.

        Raises:
            Forbidden: it is not allowed.
        """
        decision = self.decide(attributes)
        if not decision.allowed:
            raise forbidden(attributes, decision.reason)

    def rules_for(self, user: User, namespace: str) -> RuleList:
        """The rules that apply to a user; a node's rights depend on its pods and cannot be listed."""
        resolved = self.rbac.resolve(user, namespace)
        is_node = node_name(user) is not None
        faults = ["node authorizer does not support user rule resolution"] if is_node else []
        if resolved.faults:
            faults.append(aggregate(resolved.faults))
        rules = tuple(grant.rule for grant in resolved.grants)
        return RuleList(rules, is_node, aggregate(faults) if faults else "")


def new_authorizer(
    view: View, versions: Callable[[str], int], graph: PodGraph, node_rules: Sequence[Rule]
) -> Authorizer:
    """An authorizer over stored objects; `versions` counts the changes of a bucket."""
    return Authorizer(NodeAuthorizer(graph, node_rules), Rbac(view, versions))


def forbidden(attributes: Attributes, reason: str = "") -> status.ApiError:
    """403 in upstream's words."""
    message = _message(attributes).translate(_SANITIZED)
    detail = f"{message}: {reason}" if reason else message
    if not is_resource(attributes):
        return status.failure(403, "Forbidden", f"forbidden: {detail}", status.StatusDetails())
    return status.forbidden(attributes.resource, attributes.group, attributes.name, detail)


def _message(attributes: Attributes) -> str:
    who = f"User {quote(attributes.user.name)} cannot {attributes.verb}"
    if not is_resource(attributes):
        return f"{who} path {quote(attributes.path)}"
    resource = attributes.resource
    if attributes.subresource:
        resource = f"{resource}/{attributes.subresource}"
    place = f"in the namespace {quote(attributes.namespace)}" if attributes.namespace else "at the cluster scope"
    return f"{who} resource {quote(resource)} in API group {quote(attributes.group)} {place}"
