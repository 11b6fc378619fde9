"""Affinity to nodes and to other pods."""

from typing import Final

from flexlet.api import names
from flexlet.api.fielderrors import forbidden, invalid, required
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.labelselector import validate_label_name, validate_label_selector
from flexlet.apiserver.kinds.pod.scope import Errors

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_OPERATOR: Final = "not a valid selector operator"
_WEIGHT: Final = "must be in the range 1-100"


def validate_affinity(affinity: Object, path: str, errors: Errors) -> None:
    """All affinities of a pod."""
    if (nodes := affinity.get("nodeAffinity")) is not None:
        _validate_node_affinity(nodes, f"{path}.nodeAffinity", errors)
    for key in ("podAffinity", "podAntiAffinity"):
        if (pods := affinity.get(key)) is not None:
            _validate_pod_affinity(pods, f"{path}.{key}", errors)


def _validate_node_affinity(affinity: Object, path: str, errors: Errors) -> None:
    if (selector := affinity.get(REQUIRED)) is not None:
        terms = selector.get("nodeSelectorTerms") or ()
        if not terms:
            text = "must have at least one node selector term"
            errors.append(required(f"{path}.{REQUIRED}.nodeSelectorTerms", text))
        for i, term in enumerate(terms):
            _validate_term(term, f"{path}.{REQUIRED}.nodeSelectorTerms[{i}]", errors, strict=True)
    for i, weighted in enumerate(affinity.get(PREFERRED) or ()):
        item = f"{path}.{PREFERRED}[{i}]"
        _validate_weight(weighted, item, errors)
        _validate_term(weighted.get("preference") or {}, f"{item}.preference", errors, strict=False)


def _validate_weight(weighted: Object, path: str, errors: Errors) -> None:
    weight = weighted.get("weight") or 0
    if not 1 <= weight <= 100:
        errors.append(invalid(f"{path}.weight", weight, _WEIGHT))


def _validate_term(term: Object, path: str, errors: Errors, *, strict: bool) -> None:
    """A node selector term; what is only preferred may name label values that no node can have."""
    for i, requirement in enumerate(term.get("matchExpressions") or ()):
        _validate_node_labels(requirement, f"{path}.matchExpressions[{i}]", errors, strict=strict)
    for i, requirement in enumerate(term.get("matchFields") or ()):
        _validate_node_fields(requirement, f"{path}.matchFields[{i}]", errors)


def _validate_node_labels(requirement: Object, path: str, errors: Errors, *, strict: bool) -> None:
    operator, values = requirement.get("operator") or "", requirement.get("values") or ()
    if operator in {"In", "NotIn"}:
        if not values:
            errors.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in {"Exists", "DoesNotExist"}:
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(f"{path}.values", text))
    elif operator in {"Gt", "Lt"}:
        if len(values) != 1:
            text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            errors.append(required(f"{path}.values", text))
    else:
        errors.append(invalid(f"{path}.operator", operator, _OPERATOR))
    validate_label_name(requirement.get("key") or "", f"{path}.key", errors)
    for i, value in enumerate(values if strict else ()):
        errors += [invalid(f"{path}.values[{i}]", value, text) for text in names.label_value(value)]


def _validate_node_fields(requirement: Object, path: str, errors: Errors) -> None:
    operator, values = requirement.get("operator") or "", requirement.get("values") or ()
    if operator not in {"In", "NotIn"}:
        errors.append(invalid(f"{path}.operator", operator, _OPERATOR))
    elif len(values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(required(f"{path}.values", text))
    if requirement.get("key") != "metadata.name":
        errors.append(invalid(f"{path}.key", requirement.get("key") or "", "not a valid field selector key"))
        return
    for i, value in enumerate(values):
        errors += [invalid(f"{path}.values[{i}]", value, text) for text in names.dns1123_subdomain(value)]


def _validate_pod_affinity(affinity: Object, path: str, errors: Errors) -> None:
    for i, term in enumerate(affinity.get(REQUIRED) or ()):
        _validate_pod_term(term, f"{path}.{REQUIRED}[{i}]", errors)
    for i, weighted in enumerate(affinity.get(PREFERRED) or ()):
        item = f"{path}.{PREFERRED}[{i}]"
        _validate_weight(weighted, item, errors)
        _validate_pod_term(weighted.get("podAffinityTerm") or {}, f"{item}.podAffinityTerm", errors)


def _validate_pod_term(term: Object, path: str, errors: Errors) -> None:
    topology = term.get("topologyKey") or ""
    validate_label_selector(term.get("labelSelector"), f"{path}.labelSelector", errors)
    validate_label_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector", errors)
    for name in term.get("namespaces") or ():
        errors += [invalid(f"{path}.namespace", name, text) for text in names.dns1123_label(name)]
    validate_label_keys(term, path, errors)
    if not topology:
        errors.append(required(f"{path}.topologyKey", "can not be empty"))
    validate_label_name(topology, f"{path}.topologyKey", errors)


def validate_label_keys(term: Object, path: str, errors: Errors) -> None:
    """Keys whose values come from the pod itself; by now they are part of the selector as well."""
    selector = term.get("labelSelector")
    match, mismatch = term.get("matchLabelKeys") or (), term.get("mismatchLabelKeys") or ()
    for key, keys in (("matchLabelKeys", match), ("mismatchLabelKeys", mismatch)):
        if keys and selector is None:
            text = "must not be specified when labelSelector is not set"
            errors.append(forbidden(f"{path}.{key}", text))
        elif keys:
            for i, label in enumerate(keys):
                validate_label_name(label, f"{path}.{key}[{i}]", errors)
    if match and selector is not None:
        _validate_keys_once(match, selector, path, errors)
    for i, label in enumerate(match):
        if label in mismatch:
            text = "exists in both matchLabelKeys and mismatchLabelKeys"
            errors.append(invalid(f"{path}.matchLabelKeys[{i}]", label, text))


def _validate_keys_once(keys: list[str], selector: Object, path: str, errors: Errors) -> None:
    """A key of matchLabelKeys may stand in the selector only once: where it was added."""
    seen = set(selector.get("matchLabels") or ())
    for expression in selector.get("matchExpressions") or ():
        label = expression.get("key")
        if label in keys and label in seen:
            last = len(keys) - 1 - keys[::-1].index(label)
            errors.append(invalid(f"{path}[{last}]", label, "exists in both matchLabelKeys and labelSelector"))
        seen.add(label)
