"""Which other API objects a pod refers to; for rules on pods that must not refer to any."""

from collections.abc import Iterator
from typing import Any, Final

from flexlet.apiserver.contract.kind import Object

_SECRET_REFERENCES: Final = {
    "azureFile": "secretName",
    "secret": "secretName",
    "cephfs": "secretRef",
    "cinder": "secretRef",
    "flexVolume": "secretRef",
    "rbd": "secretRef",
    "scaleIO": "secretRef",
    "iscsi": "secretRef",
    "storageos": "secretRef",
    "csi": "nodePublishSecretRef",
}

_VOLUME_REFERENCES: Final = {
    "configMap": "configmaps (via configmap volumes)",
    "secret": "secrets (via secret volumes)",
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
    "azureFile": "secrets (via azureFile volumes)",
}

_PROJECTED_REFERENCES: Final = {
    "configMap": "configmaps (via projected volumes)",
    "secret": "secrets (via projected volumes)",
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}


def containers(spec: Object) -> Iterator[Object]:
    """Init, regular and ephemeral containers."""
    for key in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(key) or ()


def secret_names(spec: Object) -> Iterator[str]:
    """The secrets a pod names, wherever it does."""
    yield from (reference.get("name", "") for reference in spec.get("imagePullSecrets") or ())
    yield from _environment_names(spec, "secretRef", "secretKeyRef")
    for volume in spec.get("volumes") or ():
        for source, key in _SECRET_REFERENCES.items():
            reference = (volume.get(source) or {}).get(key)
            yield reference.get("name", "") if isinstance(reference, dict) else reference or ""
        yield from (source["secret"].get("name", "") for source in projections(volume) if source.get("secret"))


def config_map_names(spec: Object) -> Iterator[str]:
    """The ConfigMaps a pod names, wherever it does."""
    yield from _environment_names(spec, "configMapRef", "configMapKeyRef")
    for volume in spec.get("volumes") or ():
        yield (volume.get("configMap") or {}).get("name", "")
        yield from (
            source["configMap"].get("name", "") for source in projections(volume) if source.get("configMap")
        )


def projections(volume: Object) -> list[Any]:
    """The sources of a projected volume."""
    return (volume.get("projected") or {}).get("sources") or []


def api_reference(spec: Object) -> str:
    """The first kind of API object the pod depends on, empty if it depends on none."""
    if spec.get("serviceAccountName"):
        return "serviceaccounts"
    if any(secret_names(spec)):
        return "secrets"
    if any(config_map_names(spec)):
        return "configmaps"
    if spec.get("resourceClaims"):
        return "resourceclaims"
    return next(filter(None, map(_volume_reference, spec.get("volumes") or ())), "")


def _volume_reference(volume: Object) -> str:
    for source, text in _VOLUME_REFERENCES.items():
        if volume.get(source) is not None:
            return text
    for source in projections(volume):
        for key, text in _PROJECTED_REFERENCES.items():
            if source.get(key) is not None:
                return text
    return ""


def _environment_names(spec: Object, whole: str, single: str) -> Iterator[str]:
    for container in containers(spec):
        for source in container.get("envFrom") or ():
            yield (source.get(whole) or {}).get("name", "")
        for variable in container.get("env") or ():
            yield ((variable.get("valueFrom") or {}).get(single) or {}).get("name", "")
