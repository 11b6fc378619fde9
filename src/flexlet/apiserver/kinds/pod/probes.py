"""Probes and lifecycle hooks: one action each, with numbers in range."""

from typing import Final

from flexlet.api import names
from flexlet.api.fielderrors import forbidden, invalid, not_supported, required
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.resources import NEGATIVE
from flexlet.apiserver.kinds.pod.scope import Errors, Scope

_NUMBERS: Final = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)
_PROBE_ACTIONS: Final = ("exec", "httpGet", "tcpSocket", "grpc")
_HOOK_ACTIONS: Final = ("exec", "httpGet", "tcpSocket", "sleep")
_SCHEMES: Final = ("HTTP", "HTTPS")


def validate_probes(container: Object, path: str, scope: Scope, errors: Errors) -> None:
    """All hooks and probes of a container that stays."""
    if lifecycle := container.get("lifecycle"):
        validate_lifecycle(lifecycle, f"{path}.lifecycle", scope, errors)
    if (probe := container.get("livenessProbe")) is not None:
        _validate_probe(probe, f"{path}.livenessProbe", scope, errors)
        _validate_one_success(probe, f"{path}.livenessProbe", errors)
    if (probe := container.get("readinessProbe")) is not None:
        _validate_probe(probe, f"{path}.readinessProbe", scope, errors)
        if (period := probe.get("terminationGracePeriodSeconds")) is not None:
            field = f"{path}.readinessProbe.terminationGracePeriodSeconds"
            errors.append(invalid(field, period, "must not be set for readinessProbes"))
    if (probe := container.get("startupProbe")) is not None:
        _validate_probe(probe, f"{path}.startupProbe", scope, errors)
        _validate_one_success(probe, f"{path}.startupProbe", errors)


def _validate_one_success(probe: Object, path: str, errors: Errors) -> None:
    if probe.get("successThreshold") != 1:
        errors.append(invalid(f"{path}.successThreshold", probe.get("successThreshold") or 0, "must be 1"))


def _validate_probe(probe: Object, path: str, scope: Scope, errors: Errors) -> None:
    _validate_action(probe, _PROBE_ACTIONS, path, scope, errors)
    for key in _NUMBERS:
        if (probe.get(key) or 0) < 0:
            errors.append(invalid(f"{path}.{key}", probe[key], NEGATIVE))
    period = probe.get("terminationGracePeriodSeconds")
    if period is not None and period <= 0:
        errors.append(invalid(f"{path}.terminationGracePeriodSeconds", period, "must be greater than 0"))


def validate_lifecycle(lifecycle: Object, path: str, scope: Scope, errors: Errors) -> None:
    """What runs after the start and before the stop."""
    for key in ("postStart", "preStop"):
        if (hook := lifecycle.get(key)) is not None:
            _validate_action(hook, _HOOK_ACTIONS, f"{path}.{key}", scope, errors)


def _validate_action(handler: Object, actions: tuple[str, ...], path: str, scope: Scope, errors: Errors) -> None:
    found = [key for key in actions if handler.get(key) is not None]
    for i, key in enumerate(found):
        if i:
            errors.append(forbidden(f"{path}.{key}", "may not specify more than 1 handler type"))
        else:
            _validate_one_action(key, handler[key], f"{path}.{key}", scope, errors)
    if not found:
        errors.append(required(path, "must specify a handler type"))


def _validate_one_action(key: str, action: Object, path: str, scope: Scope, errors: Errors) -> None:
    if key == "exec":
        if not action.get("command"):
            errors.append(required(f"{path}.command"))
    elif key == "httpGet":
        _validate_http_get(action, path, errors)
    elif key == "sleep":
        _validate_sleep(action.get("seconds") or 0, scope.grace_period_s, path, errors)
    else:
        validate_port(action.get("port"), f"{path}.port", errors)


def _validate_http_get(action: Object, path: str, errors: Errors) -> None:
    if not action.get("path"):
        errors.append(required(f"{path}.path"))
    validate_port(action.get("port"), f"{path}.port", errors)
    if action.get("scheme") not in _SCHEMES:
        errors.append(not_supported(f"{path}.scheme", action.get("scheme") or "", _SCHEMES))
    for header in action.get("httpHeaders") or ():
        name = header.get("name") or ""
        errors += [invalid(f"{path}.httpHeaders", name, text) for text in names.http_header_name(name)]


def validate_port(port: int | str | None, path: str, errors: Errors) -> None:
    """A port's number or name."""
    if isinstance(port, str):
        errors += [invalid(path, port, text) for text in names.port_name(port)]
    else:
        number = port or 0
        errors += [invalid(path, number, text) for text in names.port_number(number)]


def _validate_sleep(seconds: int, grace_period_s: int | None, path: str, errors: Errors) -> None:
    if grace_period_s is not None and not 0 <= seconds <= grace_period_s:
        text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_period_s})"
        errors.append(invalid(path, seconds, text))
