"""Whether a pod refers to objects of the API; a pod that must run without one may not.

The words are Kubernetes' own, and so is the order in which the first reference is found.
"""

from collections.abc import Iterator
from typing import Any, Final

Object = dict[str, Any]

_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")
_SECRETS_OF_VOLUMES: Final = (
    ("azureFile", "secretName"),
    ("secret", "secretName"),
    *((kind, "secretRef") for kind in ("cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos")),
    ("csi", "nodePublishSecretRef"),
)
_VOLUMES: Final = {
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
}
_SOURCES: Final = {
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}


def reference(spec: Object) -> str:
    """What kind of object the pod refers to, empty if it stands alone."""
    if spec.get("serviceAccountName") or spec.get("serviceAccount"):
        return "serviceaccounts"
    for kind, found in (("secrets", _secrets(spec)), ("configmaps", _config_maps(spec))):
        if any(found):
            return kind
    if spec.get("resourceClaims"):
        return "resourceclaims"
    return next(_other_volumes(spec), "")


def _secrets(spec: Object) -> Iterator[bool]:
    yield bool(spec.get("imagePullSecrets"))
    yield from _environment(spec, "secretRef", "secretKeyRef")
    for volume in spec.get("volumes") or ():
        yield from (bool((volume.get(kind) or {}).get(field)) for kind, field in _SECRETS_OF_VOLUMES)
        yield from (bool(source.get("secret")) for source in _sources(volume))


def _config_maps(spec: Object) -> Iterator[bool]:
    yield from _environment(spec, "configMapRef", "configMapKeyRef")
    for volume in spec.get("volumes") or ():
        yield bool(volume.get("configMap"))
        yield from (bool(source.get("configMap")) for source in _sources(volume))


def _environment(spec: Object, whole: str, key: str) -> Iterator[bool]:
    for containers in _LISTS:
        for container in spec.get(containers) or ():
            yield from (bool(source.get(whole)) for source in container.get("envFrom") or ())
            yield from (bool((each.get("valueFrom") or {}).get(key)) for each in container.get("env") or ())


def _other_volumes(spec: Object) -> Iterator[str]:
    for volume in spec.get("volumes") or ():
        yield from (text for kind, text in _VOLUMES.items() if volume.get(kind) is not None)
        for source in _sources(volume):
            yield from (text for kind, text in _SOURCES.items() if source.get(kind) is not None)


def _sources(volume: Object) -> list[Object]:
    return (volume.get("projected") or {}).get("sources") or []
