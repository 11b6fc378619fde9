"""Scopes of quotas: which pods a quota counts, and which of its limits can have a scope at all."""

from typing import Final

from flexlet.api import fielderrors
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.resourcelists import is_quota

_PODS: Final = frozenset({"pods"})
_COMPUTE: Final = frozenset(prefix + name for prefix in ("", "requests.", "limits.") for name in ("cpu", "memory"))
_CLAIMS: Final = frozenset({"persistentvolumeclaims", "requests.storage"})
_RESOURCES: Final = {
    "Terminating": _PODS | _COMPUTE,
    "NotTerminating": _PODS | _COMPUTE,
    "BestEffort": _PODS,
    "NotBestEffort": _PODS | _COMPUTE,
    "PriorityClass": _PODS | _COMPUTE,
    "CrossNamespacePodAffinity": _PODS | _COMPUTE,
    "VolumeAttributesClass": _CLAIMS,
}
_CONFLICTS: Final = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_EXISTS_ONLY: Final = frozenset(_RESOURCES) - {"PriorityClass", "VolumeAttributesClass"}
_EXISTS_TEXT: Final = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def check_scopes(spec: Object) -> list[FieldError]:
    """The short form, ``spec.scopes``."""
    scopes, field = spec.get("scopes", []), "spec.scopes"
    errors = []
    for scope in scopes:
        if scope not in _RESOURCES:
            errors.append(fielderrors.invalid(field, scopes, "unsupported scope"))
        errors += [
            fielderrors.invalid(field, scopes, "unsupported scope applied to resource")
            for _ in _out_of_scope(spec, scope)
        ]
    return errors + _check_conflicts(scopes, scopes, field)


def check_selector(spec: Object) -> list[FieldError]:
    """The long form, ``spec.scopeSelector``."""
    selector, field = spec.get("scopeSelector"), "spec.scopeSelector.matchExpressions"
    if selector is None:
        return []
    terms = selector.get("matchExpressions") or []
    errors = [error for term in terms for error in _check_term(spec, selector, term, field)]
    named = [term.get("scopeName", "") for term in terms]
    return errors + _check_conflicts(named, spec.get("scopes"), field)


def _check_term(spec: Object, selector: Object, term: Object, field: str) -> list[FieldError]:
    scope, operator = term.get("scopeName", ""), term.get("operator", "")
    errors = []
    if scope not in _RESOURCES:
        errors.append(fielderrors.invalid(f"{field}.scopeName", scope, "unsupported scope"))
    errors += [
        fielderrors.invalid(field, _internal(selector), "unsupported scope applied to resource")
        for _ in _out_of_scope(spec, scope)
    ]
    if scope in _EXISTS_ONLY and operator != "Exists":
        errors.append(fielderrors.invalid(f"{field}.operator", operator, _EXISTS_TEXT))
    return errors + _check_values(operator, term.get("values") or [], field)


def _check_values(operator: str, values: list[str], field: str) -> list[FieldError]:
    if operator in {"In", "NotIn"}:
        text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
        return [] if values else [fielderrors.required(f"{field}.values", text)]
    if operator in {"Exists", "DoesNotExist"}:
        text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
        return [fielderrors.invalid(f"{field}.values", values, text)] if values else []
    return [fielderrors.invalid(f"{field}.operator", operator, "not a valid selector operator")]


def _out_of_scope(spec: Object, scope: str) -> list[str]:
    allowed = _RESOURCES.get(scope)
    return [
        name for name in spec.get("hard", {}) if allowed is not None and is_quota(name) and name not in allowed
    ]


def _check_conflicts(found: list[str], shown: list[str] | None, field: str) -> list[FieldError]:
    return [
        fielderrors.invalid(field, shown, "conflicting scopes") for pair in _CONFLICTS if set(pair) <= set(found)
    ]


def _internal(selector: Object) -> Object:
    terms = selector.get("matchExpressions") or []
    return {
        "MatchExpressions": [
            {
                "ScopeName": term.get("scopeName", ""),
                "Operator": term.get("operator", ""),
                "Values": term.get("values"),
            }
            for term in terms
        ]
    }
