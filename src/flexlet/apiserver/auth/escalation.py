"""Nobody grants rights they do not hold: the check on writes of roles and bindings.

A role needs every right in it, or verb ``escalate`` on roles; a binding every right of its role, or verb ``bind``
on it; an aggregation rule, which can gather anything, needs everything. Runs as a mutating plugin, which changes
nothing, because upstream checks before the object is validated (``pkg/registry/rbac/*/policybased``).
"""

from collections.abc import Iterable
from typing import Final

from flexlet.api import status
from flexlet.api.gotext import quote
from flexlet.apiserver.auth.authorize import MASTERS, Authorizer
from flexlet.apiserver.auth.rbac import GROUP, aggregate
from flexlet.apiserver.auth.rules import (
    FULL_AUTHORITY,
    Rule,
    compact,
    describe,
    missing,
    quoted_list,
    rules_of,
)
from flexlet.apiserver.contract.admission import Plugin, View
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import AdmissionRequest, Attributes

_BINDINGS: Final = frozenset({"RoleBinding", "ClusterRoleBinding"})
_ROLES: Final = frozenset({"Role", "ClusterRole"})
_UPKEEP: Final = frozenset({"ownerReferences", "finalizers", "managedFields", "resourceVersion"})


class RbacEscalation(Plugin):
    """Refuses roles and bindings that would give away more than the writer has."""

    name = "RBACEscalation"

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def mutate(self, request: AdmissionRequest, view: View) -> None:
        """Refuse an escalation; nothing is changed."""
        del view
        if request.kind.group != GROUP or request.subresource or request.obj is None:
            return
        if request.operation not in {"CREATE", "UPDATE"} or MASTERS in request.user.groups:
            return
        if request.old is not None and _without_upkeep(request.obj) == _without_upkeep(request.old):
            return
        if request.kind.kind in _ROLES:
            self._check_role(request, request.obj)
        elif request.kind.kind in _BINDINGS:
            self._check_binding(request, request.obj)

    def _check_role(self, request: AdmissionRequest, role: Object) -> None:
        if self._may(request, "escalate", request.kind.plural, "" if request.old is None else request.name):
            return
        self._confirm(request, rules_of(role))
        if _aggregates(role) or _aggregates(request.old):
            detail = "must have cluster-admin privileges to use the aggregationRule"
            self._confirm(request, FULL_AUTHORITY, detail)

    def _check_binding(self, request: AdmissionRequest, binding: Object) -> None:
        reference = binding.get("roleRef") or {}
        kind, name = reference.get("kind", ""), reference.get("name", "")
        if kind not in _ROLES:
            return  # validation says what is wrong with it
        if self._may(request, "bind", f"{kind.lower()}s", name):
            return
        self._confirm(request, self._authorizer.rbac.role_rules(kind, name, request.namespace))

    def _may(self, request: AdmissionRequest, verb: str, resource: str, name: str) -> bool:
        attributes = Attributes(
            user=request.user, verb=verb, group=GROUP, resource=resource, namespace=request.namespace, name=name
        )
        return self._authorizer.decide(attributes).allowed

    def _confirm(self, request: AdmissionRequest, wanted: Iterable[Rule], detail: str = "") -> None:
        user = request.user
        resolved = self._authorizer.rbac.resolve(user, request.namespace)
        lacking = missing([grant.rule for grant in resolved.grants], wanted)
        if not lacking:
            return
        text = (
            f"user {quote(user.name)} (groups={quoted_list(user.groups)}) is attempting to grant RBAC permissions "
            "not currently held:\n" + "\n".join(sorted({describe(rule) for rule in compact(lacking)}))
        )
        if resolved.faults:
            text += f"; resolution errors: [{aggregate(resolved.faults)}]"
        name = request.obj["metadata"].get("name", "") if request.obj else ""
        raise status.forbidden(request.kind.plural, GROUP, name, detail or text)


def _aggregates(role: Object | None) -> bool:
    return bool(role and (role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _without_upkeep(obj: Object) -> Object:
    """The object without what a collector changes on the way to deleting it."""
    kept = {key: value for key, value in obj["metadata"].items() if key not in _UPKEEP}
    return obj | {"metadata": kept}
