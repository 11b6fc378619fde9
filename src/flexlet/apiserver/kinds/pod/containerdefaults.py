"""Defaults of one container: pull policy, termination message, ports, environment, probes, hooks."""

from typing import Final

from flexlet.api import decode
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.images import is_latest

PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_NUMBERS: Final = (
    ("timeoutSeconds", 1),
    ("periodSeconds", 10),
    ("successThreshold", 1),
    ("failureThreshold", 3),
)


def default_container(container: Object) -> None:
    """Complete a regular, init or ephemeral container."""
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(container.get("image") or "")
    if not container.get("terminationMessagePath"):
        container["terminationMessagePath"] = "/dev/termination-log"
    if not container.get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "File"
    for port in container.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
    for variable in container.get("env") or ():
        if source := variable.get("valueFrom"):
            _default_variable_source(source)
    for key in PROBES:
        if (probe := container.get(key)) is not None:
            _default_probe(probe)
    if lifecycle := container.get("lifecycle"):
        for key in ("postStart", "preStop"):
            _default_http_get((lifecycle.get(key) or {}).get("httpGet"))


def pull_policy(image: str) -> str:
    """Always where the tag is latest or left out, otherwise only if the node has no such image."""
    return "Always" if is_latest(image) else "IfNotPresent"


def default_field_ref(reference: Object | None) -> None:
    """A reference to a pod field without a version means v1."""
    if reference is not None and not reference.get("apiVersion"):
        reference["apiVersion"] = "v1"


def default_resource_field_ref(reference: Object | None) -> None:
    """A divisor is always shown, canonical; zero means one unit."""
    if reference is not None:
        reference["divisor"] = str(decode.quantity(reference.get("divisor")))


def _default_variable_source(source: Object) -> None:
    default_field_ref(source.get("fieldRef"))
    default_resource_field_ref(source.get("resourceFieldRef"))
    file_key = source.get("fileKeyRef")
    if file_key is not None and file_key.get("optional") is None:
        file_key["optional"] = False


def _default_probe(probe: Object) -> None:
    for key, value in _PROBE_NUMBERS:
        if not probe.get(key):
            probe[key] = value
    _default_http_get(probe.get("httpGet"))
    grpc = probe.get("grpc")
    if grpc is not None and grpc.get("service") is None:
        grpc["service"] = ""


def _default_http_get(action: Object | None) -> None:
    if action is not None:
        if not action.get("path"):
            action["path"] = "/"
        if not action.get("scheme"):
            action["scheme"] = "HTTP"
