"""Restart policies of single containers, and what a resize may restart."""

from typing import Final

from flexlet.api import gotext
from flexlet.api.fielderrors import duplicate, invalid, not_supported, required, too_many
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.internalform import internal
from flexlet.apiserver.kinds.pod.scope import Errors

POLICIES: Final = ("Always", "Never", "OnFailure")
ACTIONS: Final = ("Restart", "RestartAllContainers")
MAX_RULES: Final = 20
MAX_EXIT_CODES: Final = 255
_RESIZABLE: Final = ("cpu", "memory")
_RESIZE_POLICIES: Final = ("NotRequired", "RestartContainer")


def validate_restart_policy(container: Object, path: str, errors: Errors) -> None:
    """A container's own policy and the rules that refine it."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if policy is not None and policy not in POLICIES:
        errors.append(not_supported(f"{path}.restartPolicy", policy, POLICIES))
    if not rules:
        return
    if policy is None:
        text = "must specify restartPolicy when restart rules are used"
        errors.append(required(f"{path}.restartPolicy", text))
    if len(rules) > MAX_RULES:
        errors.append(too_many(f"{path}.restartPolicyRules", len(rules), MAX_RULES))
    for i, rule in enumerate(rules):
        _validate_rule(rule, f"{path}.restartPolicyRules[{i}]", errors)


def validate_init_restart_policy(container: Object, path: str, errors: Errors) -> None:
    """An init container without a policy of its own cannot have rules."""
    if container.get("restartPolicy") is not None:
        validate_restart_policy(container, path, errors)
    elif container.get("restartPolicyRules"):
        text = "must specify restartPolicy when restart rules are used"
        errors.append(required(f"{path}.restartPolicy", text))


def _validate_rule(rule: Object, path: str, errors: Errors) -> None:
    if rule.get("action") not in ACTIONS:
        errors.append(not_supported(f"{path}.action", rule.get("action") or "", ACTIONS))
    codes = rule.get("exitCodes")
    if codes is None:
        errors.append(required(f"{path}.exitCodes", "must be specified"))
        return
    if codes.get("operator") not in {"In", "NotIn"}:
        field = f"{path}.exitCodes.operator"
        errors.append(not_supported(field, codes.get("operator") or "", ("In", "NotIn")))
    values = codes.get("values") or ()
    if len(values) > MAX_EXIT_CODES:
        errors.append(too_many(f"{path}.exitCodes.values", len(values), MAX_EXIT_CODES))


def validate_resize_policy(policies: list[Object], path: str, restart_policy: str, errors: Errors) -> None:
    """Which resources may change without a restart; a pod that never restarts allows no other answer."""
    seen: set[str] = set()
    for i, policy in enumerate(policies):
        resource, wish = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        if resource in seen:
            errors.append(duplicate(f"{path}[{i}]", resource))
        seen.add(resource)
        _validate_known(resource, _RESIZABLE, path, errors)
        _validate_known(wish, _RESIZE_POLICIES, path, errors)
        if restart_policy == "Never" and wish != "NotRequired":
            text = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            errors.append(invalid(path, wish, text))


def _validate_known(value: str, known: tuple[str, ...], path: str, errors: Errors) -> None:
    if not value:
        errors.append(required(path))
    elif value not in known:
        errors.append(not_supported(path, value, known))


def resize_policies_shown(policies: list[Object]) -> str:
    """The list as an error text shows it."""
    return gotext.json_text([internal(policy, "ContainerResizePolicy") for policy in policies])
