"""Volume sources of storage systems: the fields each needs.

flexlet mounts few of these; the server stores any, and says what upstream says about them.
"""

import re
from collections.abc import Callable
from typing import Final

from flexlet.api import names
from flexlet.api.fielderrors import forbidden, invalid, not_supported, required, too_long
from flexlet.api.quantity import Quantity
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.paths import validate_descending, validate_no_backsteps
from flexlet.apiserver.kinds.pod.scope import Errors

HOST_PATH_TYPES: Final = (
    *("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"),
)
MAX_CSI_DRIVER: Final = 63
_DISK_KINDS: Final = ("Dedicated", "Managed", "Shared")
_CACHING: Final = ("None", "ReadOnly", "ReadWrite")
_MANAGED_URI: Final = (
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
)
_BLOB_URI: Final = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
_INITIATORS: Final = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9\-.]+)(:[^,;*&$|\s]+)$", re.ASCII),
    "eui": re.compile(r"^eui.[A-Za-z0-9]{16}$"),
    "naa": re.compile(r"^naa.[A-Za-z0-9]{32}$"),
}
_PAIRS: Final = "must be a host:port pair or multiple pairs separated by commas"


def needs(*fields: str) -> Callable[[Object, str, Errors], None]:
    """The rule that these fields are not empty."""

    def validate(value: Object, path: str, errors: Errors) -> None:
        errors += [required(f"{path}.{field}") for field in fields if not value.get(field)]

    return validate


def disk(name: str) -> Callable[[Object, str, Errors], None]:
    """The rules of a cloud disk with partitions."""

    def validate(value: Object, path: str, errors: Errors) -> None:
        if not value.get(name):
            errors.append(required(f"{path}.{name}"))
        partition = value.get("partition") or 0
        if not 0 <= partition <= 255:
            errors.append(invalid(f"{path}.partition", partition, names.out_of_range(1, 255)))

    return validate


def validate_empty_dir(value: Object, path: str, errors: Errors) -> None:
    """A folder that lives as long as the pod."""
    limit = value.get("sizeLimit")
    if limit is not None and Quantity.parse(limit).nano < 0:
        errors.append(forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity"))


def validate_host_path(value: Object, path: str, errors: Errors) -> None:
    """A file or folder of the node."""
    target, kind = value.get("path"), value.get("type")
    if not target:
        errors.append(required(f"{path}.path"))
        return
    validate_no_backsteps(target, f"{path}.path", errors)
    if kind is not None and kind not in HOST_PATH_TYPES:
        errors.append(not_supported(f"{path}.type", kind, HOST_PATH_TYPES))


def validate_git_repo(value: Object, path: str, errors: Errors) -> None:
    """A clone of a repository."""
    if not value.get("repository"):
        errors.append(required(f"{path}.repository"))
    validate_descending(value.get("directory") or "", f"{path}.directory", errors)


def validate_nfs(value: Object, path: str, errors: Errors) -> None:
    """An NFS share."""
    target = value.get("path") or ""
    if not value.get("server"):
        errors.append(required(f"{path}.server"))
    if not target:
        errors.append(required(f"{path}.path"))
    if not target.startswith("/"):
        errors.append(invalid(f"{path}.path", target, "must be an absolute path"))


def validate_iscsi(value: Object, path: str, errors: Errors) -> None:
    """An iSCSI target."""
    name, lun, initiator = value.get("iqn") or "", value.get("lun") or 0, value.get("initiatorName")
    if not value.get("targetPortal"):
        errors.append(required(f"{path}.targetPortal"))
    if not name:
        errors.append(required(f"{path}.iqn"))
    else:
        _validate_initiator(name, f"{path}.iqn", errors)
    if not 0 <= lun <= 255:
        errors.append(invalid(f"{path}.lun", lun, names.out_of_range(0, 255)))
    if (value.get("chapAuthDiscovery") or value.get("chapAuthSession")) and value.get("secretRef") is None:
        errors.append(required(f"{path}.secretRef"))
    if initiator is not None:
        _validate_initiator(initiator, f"{path}.initiatorname", errors)


def _validate_initiator(name: str, path: str, errors: Errors) -> None:
    pattern = _INITIATORS.get(name[:3])
    if pattern is None:
        errors.append(invalid(path, name, "must be valid format starting with iqn, eui, or naa"))
    elif not pattern.search(name):
        errors.append(invalid(path, name, "must be valid format"))


def validate_iscsi_name(volume: Object, path: str, errors: Errors) -> None:
    """The interface made for an initiator is named after volume and portal."""
    name, source = volume.get("name") or "", volume["iscsi"]
    if source.get("initiatorName") is not None and len(f"{name}:{source.get('targetPortal') or ''}") > 64:
        text = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
            "if iscsi.initiatorName is specified."
        )
        errors.append(invalid(f"{path}.name", name, text))


def validate_flocker(value: Object, path: str, errors: Errors) -> None:
    """A Flocker dataset, by name or by id."""
    name, uuid = value.get("datasetName") or "", value.get("datasetUUID")
    if not name and not uuid:
        errors.append(required(path, "one of datasetName and datasetUUID is required"))
    if name and uuid:
        text = "datasetName and datasetUUID can not be specified simultaneously"
        errors.append(invalid(path, "resource", text))
    if "/" in name:
        errors.append(invalid(f"{path}.datasetName", name, "must not contain '/'"))


def _validate_secret_ref(value: Object, path: str, errors: Errors) -> None:
    secret = value.get("secretRef")
    if secret is not None and not secret.get("name"):
        errors.append(required(f"{path}.secretRef.name"))


def validate_cinder(value: Object, path: str, errors: Errors) -> None:
    """An OpenStack volume."""
    if not value.get("volumeID"):
        errors.append(required(f"{path}.volumeID"))
    _validate_secret_ref(value, path, errors)


def validate_quobyte(value: Object, path: str, errors: Errors) -> None:
    """A Quobyte volume."""
    registry = value.get("registry") or ""
    if not registry:
        errors.append(required(f"{path}.registry", _PAIRS))
    elif len(value.get("tenant") or "") >= 65:
        text = "must be a UUID and may not exceed a length of 64 characters"
        errors.append(required(f"{path}.tenant", text))
    else:
        bad = [pair for pair in registry.split(",") if not _is_host_and_port(pair)]
        errors += [invalid(f"{path}.registry", registry, _PAIRS) for _ in bad]
    if not value.get("volume"):
        errors.append(required(f"{path}.volume"))


def _is_host_and_port(pair: str) -> bool:
    """What Go's ``net.SplitHostPort`` takes apart."""
    if pair.startswith("["):
        return re.fullmatch(r"\[[^\[\]]*\]:[^:\[\]]*", pair) is not None
    return re.fullmatch(r"[^:\[\]]*:[^:\[\]]*", pair) is not None


def validate_fc(value: Object, path: str, errors: Errors) -> None:
    """A Fibre Channel volume, by port names or by world wide ids."""
    ports, ids, lun = value.get("targetWWNs"), value.get("wwids"), value.get("lun")
    if not ports and not ids:
        text = "must specify either targetWWNs or wwids, but not both"
        errors.append(required(f"{path}.targetWWNs", text))
    if ports and ids:
        text = "targetWWNs and wwids can not be specified simultaneously"
        errors.append(invalid(f"{path}.targetWWNs", ports, text))
    if ports and lun is None:
        errors.append(required(f"{path}.lun", "lun is required if targetWWNs is specified"))
    elif ports and not 0 <= (lun or 0) <= 255:
        errors.append(invalid(f"{path}.lun", lun, names.out_of_range(0, 255)))


def validate_flex(value: Object, path: str, errors: Errors) -> None:
    """A volume of an exec driver; some options are Kubernetes' own."""
    if not value.get("driver"):
        errors.append(required(f"{path}.driver"))
    for key in value.get("options") or ():
        domain = f".{key.partition('/')[0].lower()}"
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            text = "kubernetes.io and k8s.io namespaces are reserved"
            errors.append(invalid(f"{path}.options[{key}]", key, text))


def validate_azure_disk(value: Object, path: str, errors: Errors) -> None:
    """An Azure disk; its URI depends on its kind."""
    uri, kind, caching = value.get("diskURI") or "", value.get("kind"), value.get("cachingMode")
    errors += [required(f"{path}.{key}") for key in ("diskName", "diskURI") if not value.get(key)]
    if caching is not None and caching not in _CACHING:
        errors.append(not_supported(f"{path}.cachingMode", caching, _CACHING))
    if kind is not None and kind not in _DISK_KINDS:
        errors.append(not_supported(f"{path}.kind", kind, _DISK_KINDS))
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        errors.append(not_supported(f"{path}.diskURI", uri, (_MANAGED_URI,)))
    if kind not in {None, "Managed"} and not uri.startswith("https://"):
        errors.append(not_supported(f"{path}.diskURI", uri, (_BLOB_URI,)))


def validate_storageos(value: Object, path: str, errors: Errors) -> None:
    """A StorageOS volume."""
    name, namespace = value.get("volumeName"), value.get("volumeNamespace")
    if not name:
        errors.append(required(f"{path}.volumeName"))
    else:
        errors += [invalid(f"{path}.volumeName", name, text) for text in names.dns1123_label(name)]
    if namespace:
        errors += [invalid(f"{path}.volumeNamespace", namespace, text) for text in names.dns1123_label(namespace)]
    _validate_secret_ref(value, path, errors)


def validate_csi(value: Object, path: str, errors: Errors) -> None:
    """An inline volume of a CSI driver."""
    driver, secret = value.get("driver") or "", value.get("nodePublishSecretRef")
    if not driver:
        errors.append(required(f"{path}.driver"))
    else:
        if len(driver) > MAX_CSI_DRIVER:
            errors.append(too_long(f"{path}.driver", MAX_CSI_DRIVER))
        errors += [invalid(f"{path}.driver", driver, text) for text in names.dns1123_subdomain(driver.lower())]
    if secret is not None:
        name = secret.get("name")
        if not name:
            errors.append(required(f"{path}.nodePublishSecretRef.name"))
        else:
            errors += [invalid(f"{path}.name", name, text) for text in names.dns1123_subdomain(name)]
