"""What a pod asks for that flexlet cannot give. Found in the raw object, so that nothing is silently left out."""

from collections.abc import Iterator
from typing import Any, Final

_VOLUMES: Final = frozenset({"emptyDir", "hostPath", "configMap", "secret", "projected", "downwardAPI"})
_SOURCES: Final = frozenset({"secret", "configMap", "downwardAPI", "serviceAccountToken"})
_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")


def found(raw: dict[str, Any]) -> tuple[str, ...]:
    """Each part by its path and name, in the order of the object; empty if all is supported."""
    return tuple(_found(raw.get("spec") or {}))


def _found(spec: dict[str, Any]) -> Iterator[str]:
    for volume in spec.get("volumes") or ():
        yield from _volume(volume)
    if spec.get("resourceClaims"):
        yield "spec.resourceClaims (dynamic resource allocation)"
    if spec.get("runtimeClassName"):
        yield f"spec.runtimeClassName {spec['runtimeClassName']}"
    if spec.get("hostUsers") is False:
        yield "spec.hostUsers: false (user namespaces)"
    for kind in _LISTS:
        for container in spec.get(kind) or ():
            yield from _container(kind, container)


def _volume(volume: dict[str, Any]) -> Iterator[str]:
    for source in sorted(set(volume) - {"name"}):
        if source not in _VOLUMES:
            yield f"volume {volume.get('name')} of type {source}"
    medium = (volume.get("emptyDir") or {}).get("medium", "")
    if medium.startswith("HugePages"):
        yield f"volume {volume.get('name')} with medium {medium}"
    for part in (volume.get("projected") or {}).get("sources") or ():
        for source in sorted(set(part) - _SOURCES):
            yield f"volume {volume.get('name')} with projected {source}"


def _container(kind: str, container: dict[str, Any]) -> Iterator[str]:
    name = f"spec.{kind}[{container.get('name')}]"
    if container.get("volumeDevices"):
        yield f"{name}.volumeDevices (block devices)"
    if (container.get("lifecycle") or {}).get("stopSignal"):
        yield f"{name}.lifecycle.stopSignal"
    if (container.get("resources") or {}).get("claims"):
        yield f"{name}.resources.claims"
    for rule in container.get("restartPolicyRules") or ():
        if rule.get("action") not in {"Restart", None}:
            yield f"{name}.restartPolicyRules action {rule['action']}"
    for variable in container.get("env") or ():
        if (variable.get("valueFrom") or {}).get("fileKeyRef"):
            yield f"{name}.env[{variable.get('name')}].valueFrom.fileKeyRef"
