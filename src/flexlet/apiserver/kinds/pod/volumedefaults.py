"""Defaults of one volume: an empty one is an emptyDir, file modes, token lifetimes, old drivers' settings."""

from typing import Any, Final

from flexlet.api import decode
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.containerdefaults import (
    default_field_ref,
    default_resource_field_ref,
    pull_policy,
)

FILE_MODE: Final = 0o644
TOKEN_LIFETIME_S: Final = 3600

# Per source: fields that are filled in where they are empty.
_PLAIN: Final[dict[str, tuple[tuple[str, Any], ...]]] = {
    "iscsi": (("iscsiInterface", "default"),),
    "rbd": (("pool", "rbd"), ("user", "admin"), ("keyring", "/etc/ceph/keyring")),
    "scaleIO": (("storageMode", "ThinProvisioned"), ("fsType", "xfs")),
}
# Per source: fields that are filled in where they are absent, because empty is a choice.
_CHOICES: Final[dict[str, tuple[tuple[str, Any], ...]]] = {
    "hostPath": (("type", ""),),
    "secret": (("defaultMode", FILE_MODE),),
    "configMap": (("defaultMode", FILE_MODE),),
    "downwardAPI": (("defaultMode", FILE_MODE),),
    "projected": (("defaultMode", FILE_MODE),),
    "azureDisk": (("cachingMode", "ReadWrite"), ("fsType", "ext4"), ("readOnly", False), ("kind", "Shared")),
}


def default_volume(volume: Object) -> None:
    """Complete a volume."""
    if not any(value is not None and key != "name" for key, value in volume.items()):
        volume["emptyDir"] = {}
    for source, value in volume.items():
        if value.__class__ is dict:
            _default_source(source, value)


def _default_source(source: str, value: Object) -> None:
    for key, default in _PLAIN.get(source, ()):
        if not value.get(key):
            value[key] = default
    for key, default in _CHOICES.get(source, ()):
        if value.get(key) is None:
            value[key] = default
    further = _FURTHER.get(source)
    if further is not None:
        further(value)


def _default_empty_dir(value: Object) -> None:
    if value.get("sizeLimit") is not None:
        value["sizeLimit"] = str(decode.quantity(value["sizeLimit"]))


def _default_files(value: Object) -> None:
    for item in value.get("items") or ():
        default_field_ref(item.get("fieldRef"))
        default_resource_field_ref(item.get("resourceFieldRef"))


def _default_projections(value: Object) -> None:
    for source in value.get("sources") or ():
        if files := source.get("downwardAPI"):
            _default_files(files)
        token = source.get("serviceAccountToken")
        if token is not None and token.get("expirationSeconds") is None:
            token["expirationSeconds"] = TOKEN_LIFETIME_S


def _default_claim(value: Object) -> None:
    template = value.get("volumeClaimTemplate")
    if template is not None:
        spec = template.setdefault("spec", {})
        if spec.get("volumeMode") is None:
            spec["volumeMode"] = "Filesystem"


def _default_image(value: Object) -> None:
    if not value.get("pullPolicy"):
        value["pullPolicy"] = pull_policy(value.get("reference") or "")


_FURTHER: Final = {
    "emptyDir": _default_empty_dir,
    "downwardAPI": _default_files,
    "projected": _default_projections,
    "ephemeral": _default_claim,
    "image": _default_image,
}
