"""Roles and ClusterRoles: rules that grant verbs on resources or on paths."""

from typing import Any, Final

from flexlet.api import fielderrors, names
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Kind, Object
from flexlet.apiserver.kinds.labelselector import validate_label_selector
from flexlet.apiserver.kinds.strategy import KindStrategy, name_of

RBAC_GROUP: Final = "rbac.authorization.k8s.io"


class RoleStrategy(KindStrategy):
    """Rules within a namespace."""

    type_name = "rbac.v1.Role"
    name_rule = staticmethod(names.path_segment)

    def fill(self, obj: Object) -> None:
        """No rules at all are stored as null."""
        obj["rules"] = obj["rules"] or None

    def check(self, obj: Object) -> list[FieldError]:
        """Each rule on its own."""
        return [
            error
            for index, rule in enumerate(obj.get("rules") or ())
            for error in _check_rule(rule, f"rules[{index}]", namespaced=self.namespaced)
        ]

    def cells(self, obj: Object, now: float) -> list[Any]:
        """When it was created, as a time: clients make an age of it."""
        del now
        return [name_of(obj), obj["metadata"].get("creationTimestamp")]


class ClusterRoleStrategy(RoleStrategy):
    """Rules everywhere; they may be gathered from other roles."""

    type_name = "rbac.v1.ClusterRole"
    namespaced = False

    def check(self, obj: Object) -> list[FieldError]:
        """Rules, and where to gather them."""
        errors = super().check(obj)
        aggregation = obj.get("aggregationRule")
        if aggregation is None:
            return errors
        field, selectors = "aggregationRule.clusterRoleSelectors", aggregation.get("clusterRoleSelectors") or []
        if not selectors:
            text = "at least one clusterRoleSelector required if aggregationRule is non-nil"
            errors.append(fielderrors.required(field, text))
        for index, selector in enumerate(selectors):
            validate_label_selector(selector, f"{field}[{index}]", errors)
        return errors


def _check_rule(rule: Object, field: str, *, namespaced: bool) -> list[FieldError]:
    errors = []
    if not rule.get("verbs"):
        errors.append(fielderrors.required(f"{field}.verbs", "verbs must contain at least one value"))
    if rule.get("nonResourceURLs"):
        return errors + _check_paths(rule, f"{field}.nonResourceURLs", namespaced=namespaced)
    if not rule.get("apiGroups"):
        text = "resource rules must supply at least one api group"
        errors.append(fielderrors.required(f"{field}.apiGroups", text))
    if not rule.get("resources"):
        text = "resource rules must supply at least one resource"
        errors.append(fielderrors.required(f"{field}.resources", text))
    return errors


def _check_paths(rule: Object, field: str, *, namespaced: bool) -> list[FieldError]:
    paths = rule["nonResourceURLs"]
    errors = []
    if namespaced:
        errors.append(fielderrors.invalid(field, paths, "namespaced rules cannot apply to non-resource URLs"))
    if any(rule.get(key) for key in ("apiGroups", "resources", "resourceNames")):
        text = "rules cannot apply to both regular resources and non-resource URLs"
        errors.append(fielderrors.invalid(field, paths, text))
    return errors


ROLE: Final = Kind(
    group=RBAC_GROUP,
    version="v1",
    kind="Role",
    plural="roles",
    singular="role",
    namespaced=True,
    schema="rbac.v1.Role",
    strategy=RoleStrategy(),
    create_on_update=True,
)

CLUSTER_ROLE: Final = Kind(
    group=RBAC_GROUP,
    version="v1",
    kind="ClusterRole",
    plural="clusterroles",
    singular="clusterrole",
    namespaced=False,
    schema="rbac.v1.ClusterRole",
    strategy=ClusterRoleStrategy(),
    create_on_update=True,
)
