"""Which nodes have a pod that refers to an object: what a node may read follows from it.

Fed by the store with every pod event, asked only when a node identity comes over HTTP. So events are merely put
aside, the newest per pod, and decoded when somebody asks: a server whose nodes run in its process pays nothing.
What must stay true: what is put aside never exceeds the live pods; once asked, the index equals the pods applied.

Edges follow the Node authorizer's graph: pod, its service account, secrets, config maps and volume claims.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

Reference: TypeAlias = tuple[str, str, str]
"""Resource, namespace, name."""

MIRROR: Final = "kubernetes.io/config.mirror"


class Bound(NamedTuple):
    """A pod's node and what the pod refers to."""

    node: str
    references: frozenset[Reference]


class PodGraph:
    """The index of references by node."""

    def __init__(self) -> None:
        self._waiting: dict[str, bytes | None] = {}
        self._pods: dict[str, Bound] = {}
        self._uses: dict[Reference, dict[str, int]] = {}

    def observe(self, event_type: str, key: str, value: bytes) -> None:
        """Take in one event of the bucket ``pods``; `key` is ``namespace/name``."""
        if event_type != "DELETED":
            self._waiting[key] = value
        elif key in self._pods:
            self._waiting[key] = None
        else:
            self._waiting.pop(key, None)

    def related(self, node: str, resource: str, namespace: str, name: str) -> bool:
        """Whether a pod bound to `node` refers to the object, or is it."""
        self._apply()
        return node in self._uses.get((resource, namespace, name), {})

    def _apply(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for key, value in waiting.items():
            previous = self._pods.pop(key, None)
            if previous is not None:
                self._remove(previous)
            bound = None if value is None else bound_pod(msgspec.json.decode(value))
            if bound is not None:
                self._pods[key] = bound
                self._add(bound)

    def _add(self, bound: Bound) -> None:
        for reference in bound.references:
            nodes = self._uses.setdefault(reference, {})
            nodes[bound.node] = nodes.get(bound.node, 0) + 1

    def _remove(self, bound: Bound) -> None:
        for reference in bound.references:
            nodes = self._uses[reference]
            nodes[bound.node] -= 1
            if not nodes[bound.node]:
                del nodes[bound.node]
            if not nodes:
                del self._uses[reference]


def bound_pod(pod: dict[str, Any]) -> Bound | None:
    """The references of a pod that has a node.

    A mirror pod refers to itself only: a node must not be able to grant itself rights by making one.
    """
    spec, metadata = pod.get("spec") or {}, pod["metadata"]
    node, namespace, name = spec.get("nodeName"), metadata["namespace"], metadata["name"]
    if not node:
        return None
    itself = ("pods", namespace, name)
    if MIRROR in (metadata.get("annotations") or {}):
        return Bound(node, frozenset({itself}))
    used = {(resource, namespace, used) for resource, used in _used(spec, name) if used}
    return Bound(node, frozenset(used | {itself}))


def _used(spec: dict[str, Any], pod: str) -> Iterable[tuple[str, str]]:
    yield "serviceaccounts", spec.get("serviceAccountName", "")
    for secret in spec.get("imagePullSecrets") or ():
        yield "secrets", secret.get("name", "")
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(field) or ():
            yield from _used_by_container(container)
    for volume in spec.get("volumes") or ():
        yield from _used_by_volume(volume, pod)


def _used_by_container(container: dict[str, Any]) -> Iterable[tuple[str, str]]:
    for source in container.get("envFrom") or ():
        yield "secrets", _name(source, "secretRef")
        yield "configmaps", _name(source, "configMapRef")
    for variable in container.get("env") or ():
        source = variable.get("valueFrom") or {}
        yield "secrets", _name(source, "secretKeyRef")
        yield "configmaps", _name(source, "configMapKeyRef")


def _used_by_volume(volume: dict[str, Any], pod: str) -> Iterable[tuple[str, str]]:
    yield "configmaps", _name(volume, "configMap")
    if "ephemeral" in volume:
        yield "persistentvolumeclaims", f"{pod}-{volume['name']}"
    for source in (volume.get("projected") or {}).get("sources") or ():
        yield "secrets", _name(source, "secret")
        yield "configmaps", _name(source, "configMap")
    for source in volume.values():
        if isinstance(source, dict):
            yield "persistentvolumeclaims", source.get("claimName", "")
            # secret and azureFile; most network volumes; csi.
            yield "secrets", source.get("secretName", "")
            yield "secrets", _name(source, "secretRef")
            yield "secrets", _name(source, "nodePublishSecretRef")


def _name(holder: dict[str, Any], field: str) -> str:
    return str((holder.get(field) or {}).get("name") or "")
