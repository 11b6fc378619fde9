"""What a pod asks for that flexlet cannot give. Found in the raw object, so that nothing is silently left out.

The tables are the one list of what is refused: `found` goes by them, and so does the page on differences.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

VOLUMES: Final = frozenset({"emptyDir", "hostPath", "configMap", "secret", "projected", "downwardAPI", "image"})
"""Types of volumes that are supported; all others are refused."""
PROJECTED: Final = frozenset({"secret", "configMap", "downwardAPI", "serviceAccountToken"})
"""Sources of projected volumes that are supported; all others are refused."""
_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")

Object = dict[str, Any]


class Feature(msgspec.Struct, frozen=True):
    """A field, or some of its values, that a pod is rejected for."""

    field: str
    meaning: str
    """Which feature of Kubernetes that is."""
    find: Callable[[Object], Iterator[str]]
    """How the message names it, for each time that it is asked for; the place of a container comes before it."""


def found(raw: Object) -> tuple[str, ...]:
    """Each part by its path and name, in the order of the object; empty if all is supported."""
    return tuple(_found(raw.get("spec") or {}))


def _found(spec: Object) -> Iterator[str]:
    for volume in spec.get("volumes") or ():
        yield from _volume(volume)
    for feature in OF_PODS:
        yield from (f"spec.{text}" for text in feature.find(spec))
    for kind in _LISTS:
        for container in spec.get(kind) or ():
            place = f"spec.{kind}[{container.get('name')}]"
            yield from (f"{place}.{text}" for feature in OF_CONTAINERS for text in feature.find(container))


def _volume(volume: Object) -> Iterator[str]:
    name = f"volume {volume.get('name')}"
    for source in sorted(set(volume) - {"name"}):
        if source not in VOLUMES:
            yield f"{name} of type {source}"
    for part in (volume.get("projected") or {}).get("sources") or ():
        for source in sorted(set(part) - PROJECTED):
            yield f"{name} with projected {source}"


def _claims(spec: Object) -> Iterator[str]:
    if spec.get("resourceClaims"):
        yield "resourceClaims (dynamic resource allocation)"


def _runtime_class(spec: Object) -> Iterator[str]:
    if spec.get("runtimeClassName"):
        yield f"runtimeClassName {spec['runtimeClassName']}"


def _user_namespace(spec: Object) -> Iterator[str]:
    if spec.get("hostUsers") is False:
        yield "hostUsers: false (user namespaces)"


def _block_devices(container: Object) -> Iterator[str]:
    if container.get("volumeDevices"):
        yield "volumeDevices (block devices)"


def _container_claims(container: Object) -> Iterator[str]:
    if (container.get("resources") or {}).get("claims"):
        yield "resources.claims"


def _restart_actions(container: Object) -> Iterator[str]:
    for rule in container.get("restartPolicyRules") or ():
        if rule.get("action") not in {"Restart", None}:
            yield f"restartPolicyRules action {rule['action']}"


OF_PODS: Final = (
    Feature("resourceClaims", "dynamic resource allocation", _claims),
    Feature("runtimeClassName", "RuntimeClasses", _runtime_class),
    Feature("hostUsers: false", "user namespaces", _user_namespace),
)
OF_CONTAINERS: Final = (
    Feature("volumeDevices", "block devices", _block_devices),
    Feature("resources.claims", "dynamic resource allocation", _container_claims),
    Feature(
        "restartPolicyRules[*].action, all but Restart",
        "restart of all containers (RestartAllContainersOnContainerExits)",
        _restart_actions,
    ),
)
