"""The policies of a Job: what to make of failed pods, when to call it a success, when to replace pods."""

from typing import Final

from flexlet.api import fielderrors, names
from flexlet.api.fielderrors import INVALID, FieldError
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.amounts import check_count
from flexlet.apiserver.kinds.job import indexes
from flexlet.errors import InputError

MAX_RULES: Final = 20
MAX_EXIT_CODES: Final = 255
MAX_CONDITIONS: Final = 20
MAX_INDEXES_BYTES: Final = 64 * 1024
_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS: Final = ("In", "NotIn")
_STATUSES: Final = ("False", "True", "Unknown")
_REPLACEMENTS: Final = ("Failed", "TerminatingOrFailed")


def check_failure_policy(spec: Object, field: str) -> list[FieldError]:
    """``podFailurePolicy``."""
    rules = spec["podFailurePolicy"].get("rules") or []
    errors = [fielderrors.too_many(f"{field}.rules", len(rules), MAX_RULES)] if len(rules) > MAX_RULES else []
    pod = spec["template"].get("spec", {})
    containers = {
        container.get("name") for key in ("containers", "initContainers") for container in pod.get(key) or ()
    }
    for index, rule in enumerate(rules):
        path = f"{field}.rules[{index}]"
        errors += _check_action(rule.get("action", ""), spec, f"{path}.action")
        errors += _check_rule(rule, path, containers)
    return errors


def _check_action(action: str, spec: Object, field: str) -> list[FieldError]:
    if not action:
        return [fielderrors.required(field, f"valid values: {_listed(_ACTIONS)}")]
    if action == "FailIndex":
        set_ = "backoffLimitPerIndex" in spec
        text = "requires the backoffLimitPerIndex to be set"
        return [] if set_ else [fielderrors.invalid(field, action, text)]
    return [] if action in _ACTIONS else [fielderrors.not_supported(field, action, _ACTIONS)]


def _check_rule(rule: Object, field: str, containers: set[str]) -> list[FieldError]:
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or []
    errors = [] if codes is None else _check_exit_codes(codes, f"{field}.onExitCodes", containers)
    errors += _check_pod_conditions(conditions, f"{field}.onPodConditions")
    if codes is not None and conditions:
        errors.append(unquoted(field, "specifying both OnExitCodes and OnPodConditions is not supported"))
    if codes is None and not conditions:
        errors.append(unquoted(field, "specifying one of OnExitCodes and OnPodConditions is required"))
    return errors


def _check_pod_conditions(conditions: list[Object], field: str) -> list[FieldError]:
    errors = []
    if len(conditions) > MAX_CONDITIONS:
        errors.append(fielderrors.too_many(field, len(conditions), MAX_CONDITIONS))
    for index, pattern in enumerate(conditions):
        kind, status = pattern.get("type", ""), pattern.get("status", "")
        path = f"{field}[{index}]"
        errors += [fielderrors.invalid(f"{path}.type", kind, text) for text in names.qualified_name(kind)]
        if not status:
            errors.append(fielderrors.required(f"{path}.status", f"valid values: {_listed(_STATUSES)}"))
        elif status not in _STATUSES:
            errors.append(fielderrors.not_supported(f"{path}.status", status, _STATUSES))
    return errors


def _check_exit_codes(codes: Object, field: str, containers: set[str]) -> list[FieldError]:
    operator, container, values = codes.get("operator", ""), codes.get("containerName"), codes.get("values") or []
    errors = []
    if not operator:
        errors.append(fielderrors.required(f"{field}.operator", f"valid values: {_listed(_OPERATORS)}"))
    elif operator not in _OPERATORS:
        errors.append(fielderrors.not_supported(f"{field}.operator", operator, _OPERATORS))
    if container is not None and container not in containers:
        text = "must be one of the container or initContainer names in the pod template"
        errors.append(fielderrors.invalid(f"{field}.containerName", container, text))
    return errors + _check_codes(values, operator, f"{field}.values")


def _check_codes(values: list[int], operator: str, field: str) -> list[FieldError]:
    errors = []
    if not values:
        errors.append(fielderrors.invalid(field, None, "at least one value is required"))
    elif len(values) > MAX_EXIT_CODES:
        errors.append(fielderrors.too_many(field, len(values), MAX_EXIT_CODES))
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            errors.append(fielderrors.invalid(f"{field}[{index}]", value, "must not be 0 for the In operator"))
        if value in values[:index]:
            errors.append(fielderrors.duplicate(f"{field}[{index}]", value))
    if values != sorted(values):
        errors.append(fielderrors.invalid(field, values, "must be ordered"))
    return errors


def check_success_policy(spec: Object, field: str) -> list[FieldError]:
    """``successPolicy``, of an indexed job."""
    rules = spec["successPolicy"].get("rules") or []
    errors = []
    if not rules:
        text = "at least one rules must be specified when the successPolicy is specified"
        errors.append(fielderrors.required(f"{field}.rules", text))
    if len(rules) > MAX_RULES:
        errors.append(fielderrors.too_many(f"{field}.rules", len(rules), MAX_RULES))
    for index, rule in enumerate(rules):
        errors += _check_success_rule(rule, spec.get("completions", 0), f"{field}.rules[{index}]")
    return errors


def _check_success_rule(rule: Object, completions: int, field: str) -> list[FieldError]:
    listed, wanted = rule.get("succeededIndexes"), rule.get("succeededCount")
    errors, total = [], 0
    if listed is None and wanted is None:
        text = "at least one of succeededCount or succeededIndexes must be specified"
        errors.append(fielderrors.required(field, text))
    if listed is not None:
        if len(listed) > MAX_INDEXES_BYTES:
            errors.append(fielderrors.too_long(f"{field}.succeededIndexes", MAX_INDEXES_BYTES))
        try:
            total = indexes.count(listed, completions)
        except InputError as fault:
            text = f"error parsing succeededIndexes: {fault.message}"
            errors.append(fielderrors.invalid(f"{field}.succeededIndexes", listed, text))
    errors += check_count(wanted, f"{field}.succeededCount")
    limits = [(completions, "the number of specified completions")]
    if listed is not None:
        limits.append((total, "the number of indexes in the specified succeededIndexes field"))
    return errors + [
        fielderrors.invalid(f"{field}.succeededCount", wanted, f"must be less than or equal to {limit} ({what})")
        for limit, what in limits
        if wanted is not None and wanted > limit
    ]


def check_replacement_policy(spec: Object, field: str) -> list[FieldError]:
    """``podReplacementPolicy``."""
    policy = spec.get("podReplacementPolicy")
    known = ("Failed",) if "podFailurePolicy" in spec else _REPLACEMENTS
    return [] if policy is None or policy in known else [fielderrors.not_supported(field, policy, known)]


def unquoted(field: str, text: str) -> FieldError:
    """Something invalid that is too large to be shown."""
    return FieldError(field, INVALID, f"Invalid value: {text}")


def _listed(words: tuple[str, ...]) -> str:
    return "[" + " ".join(f'"{word}"' for word in words) + "]"
