"""Where a pod may run: tolerations, topology spread, scheduling and readiness gates."""

from typing import Final

from flexlet.api import names
from flexlet.api.fielderrors import duplicate, invalid, not_supported, required
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.labelselector import validate_label_name, validate_label_selector
from flexlet.apiserver.kinds.pod.affinity import validate_label_keys
from flexlet.apiserver.kinds.pod.scope import Errors

EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS: Final = ("Equal", "Exists")
_COMPARISONS: Final = ("Lt", "Gt")
_POLICIES: Final = ("Honor", "Ignore")
_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")


def validate_tolerations(tolerations: list[Object], path: str, errors: Errors) -> None:
    """The taints a pod puts up with."""
    for i, toleration in enumerate(tolerations):
        _validate_toleration(toleration, f"{path}[{i}]", errors)


def _validate_toleration(toleration: Object, path: str, errors: Errors) -> None:
    key, operator, effect = (toleration.get(name) or "" for name in ("key", "operator", "effect"))
    if key:
        validate_label_name(key, f"{path}.key", errors)
    elif operator != "Exists":
        text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        errors.append(invalid(f"{path}.operator", operator, text))
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        errors.append(invalid(f"{path}.effect", effect, text))
    _validate_operator(operator, toleration.get("value") or "", f"{path}.operator", errors)
    if effect and effect not in EFFECTS:
        errors.append(not_supported(f"{path}.effect", effect, EFFECTS))


def _validate_operator(operator: str, value: str, path: str, errors: Errors) -> None:
    if operator in {"Equal", ""}:
        if complaints := names.label_value(value):
            errors.append(invalid(path, value, ";".join(complaints)))
    elif operator == "Exists":
        if value:
            errors.append(invalid(path, value, "value must be empty when `operator` is 'Exists'"))
    else:
        known = (*_OPERATORS, *_COMPARISONS) if operator in _COMPARISONS else _OPERATORS
        errors.append(not_supported(path, operator, known))


def validate_spread(constraints: list[Object], path: str, errors: Errors) -> None:
    """How evenly pods lie over the values of a node label."""
    for i, constraint in enumerate(constraints):
        item = f"{path}[{i}]"
        _validate_constraint(constraint, item, errors)
        pair = _pair(constraint)
        if any(_pair(other) == pair for other in constraints[i + 1 :]):
            errors.append(duplicate(f"{item}.{{topologyKey, whenUnsatisfiable}}", f"{{{pair[0]}, {pair[1]}}}"))
        _validate_min_domains(constraint, f"{item}.minDomains", errors)
        for key in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if (policy := constraint.get(key)) is not None and policy not in _POLICIES:
                errors.append(not_supported(f"{item}.{key}", policy, _POLICIES))
        validate_label_keys(constraint, item, errors)
        validate_label_selector(constraint.get("labelSelector"), f"{item}.labelSelector", errors)


def _pair(constraint: Object) -> tuple[str, str]:
    return constraint.get("topologyKey") or "", constraint.get("whenUnsatisfiable") or ""


def _validate_constraint(constraint: Object, path: str, errors: Errors) -> None:
    skew, action = constraint.get("maxSkew") or 0, constraint.get("whenUnsatisfiable") or ""
    if skew <= 0:
        errors.append(invalid(f"{path}.maxSkew", skew, "must be greater than zero"))
    if not constraint.get("topologyKey"):
        errors.append(required(f"{path}.topologyKey", "can not be empty"))
    if action not in _ACTIONS:
        errors.append(not_supported(f"{path}.whenUnsatisfiable", action, _ACTIONS))


def _validate_min_domains(constraint: Object, path: str, errors: Errors) -> None:
    domains, action = constraint.get("minDomains"), constraint.get("whenUnsatisfiable") or ""
    if domains is None:
        return
    if domains <= 0:
        errors.append(invalid(path, domains, "must be greater than zero"))
    if action != "DoNotSchedule":
        text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        errors.append(invalid(path, domains, text))


def validate_scheduling_gates(gates: list[Object], path: str, errors: Errors) -> None:
    """Reasons to leave the pod unscheduled, by name."""
    seen: set[str] = set()
    for i, gate in enumerate(gates):
        name = gate.get("name") or ""
        errors += [invalid(f"{path}[{i}]", name, text) for text in names.qualified_name(name)]
        if name in seen:
            errors.append(duplicate(f"{path}[{i}]", name))
        seen.add(name)


def validate_readiness_gates(gates: list[Object], path: str, errors: Errors) -> None:
    """Conditions that must hold before the pod is ready."""
    for i, gate in enumerate(gates):
        kind = gate.get("conditionType") or ""
        errors += [invalid(f"{path}[{i}].conditionType", kind, text) for text in names.qualified_name(kind)]
