"""The volumes of a pod: one source each, names that differ.

`SOURCES` lists every source in upstream's order with the rules of its content; sources that only need some fields
to be there are in `volumesources`.
"""

from collections.abc import Callable
from typing import Final

from flexlet.api import names
from flexlet.api.fielderrors import duplicate, forbidden, invalid, required
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod import volumesources as sources
from flexlet.apiserver.kinds.pod.claims import validate_ephemeral
from flexlet.apiserver.kinds.pod.containers import validate_pull_policy
from flexlet.apiserver.kinds.pod.files import validate_downward_api, validate_keyed
from flexlet.apiserver.kinds.pod.projections import validate_projected
from flexlet.apiserver.kinds.pod.scope import Errors, Rules

SourceCheck = Callable[[Object, str, Errors], None]

SOURCES: Final[tuple[tuple[str, SourceCheck], ...]] = (
    ("emptyDir", sources.validate_empty_dir),
    ("hostPath", sources.validate_host_path),
    ("gitRepo", sources.validate_git_repo),
    ("gcePersistentDisk", sources.disk("pdName")),
    ("awsElasticBlockStore", sources.disk("volumeID")),
    ("secret", validate_keyed("secretName")),
    ("nfs", sources.validate_nfs),
    ("iscsi", sources.validate_iscsi),
    ("glusterfs", sources.needs("endpoints", "path")),
    ("flocker", sources.validate_flocker),
    ("persistentVolumeClaim", sources.needs("claimName")),
    ("rbd", sources.needs("monitors", "image")),
    ("cinder", sources.validate_cinder),
    ("cephfs", sources.needs("monitors")),
    ("quobyte", sources.validate_quobyte),
    ("downwardAPI", validate_downward_api),
    ("fc", sources.validate_fc),
    ("flexVolume", sources.validate_flex),
    ("configMap", validate_keyed("name")),
    ("azureFile", sources.needs("secretName", "shareName")),
    ("vsphereVolume", sources.needs("volumePath")),
    ("photonPersistentDisk", sources.needs("pdID")),
    ("portworxVolume", sources.needs("volumeID")),
    ("azureDisk", sources.validate_azure_disk),
    ("storageos", sources.validate_storageos),
    ("projected", validate_projected),
    ("scaleIO", sources.needs("gateway", "system", "volumeName")),
    ("csi", sources.validate_csi),
    ("ephemeral", validate_ephemeral),
)
_CHECKS: Final = dict(SOURCES)
_ORDER: Final = {key: i for i, key in enumerate((*_CHECKS, "image"))}
# Upstream names these otherwise: in the text about a second source, and in paths into the source.
_SECOND: Final = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
_INTO: Final = {"gcePersistentDisk": "persistentDisk"}
_ONLY_ONE: Final = "may not specify more than 1 volume type"
_CREATED: Final = "must not reference a PVC that gets created for an ephemeral volume"


def validate_volumes(
    volumes: list[Object], pod_name: str, path: str, rules: Rules, errors: Errors
) -> dict[str, Object]:
    """Check all volumes and return the good ones by name; `pod_name` is empty where it is not known."""
    created = {f"{pod_name}-{v.get('name', '')}" for v in volumes if pod_name and v.get("ephemeral") is not None}
    good: dict[str, Object] = {}
    for i, volume in enumerate(volumes):
        item, before = f"{path}[{i}]", len(errors)
        _validate_source(volume, pod_name, item, rules, errors)
        name = volume.get("name") or ""
        if not name:
            errors.append(required(f"{item}.name"))
        elif complaints := names.dns1123_label(name):
            errors += [invalid(f"{item}.name", name, text) for text in complaints]
        if name in good:
            errors.append(duplicate(f"{item}.name", name))
        if len(errors) == before:
            good[name] = volume
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim and claim in created:
            errors.append(invalid(f"{item}.persistentVolumeClaim.claimName", claim, _CREATED))
    return good


def _validate_source(volume: Object, pod_name: str, path: str, rules: Rules, errors: Errors) -> None:
    present = [key for key, value in volume.items() if value is not None and key != "name"]
    if len(present) > 1:
        present.sort(key=_ORDER.__getitem__)
    for i, key in enumerate(present):
        if i:
            errors.append(forbidden(f"{path}.{_SECOND.get(key, key)}", _ONLY_ONE))
        elif key == "image":
            _validate_image(volume[key], f"{path}.image", rules, errors)
        else:
            _CHECKS[key](volume[key], f"{path}.{_INTO.get(key, key)}", errors)
            _validate_claim_name(key, volume, pod_name, path, errors)
        if key == "iscsi":
            sources.validate_iscsi_name(volume, path, errors)
    if not present:
        errors.append(required(path, "must specify a volume type"))


def _validate_claim_name(key: str, volume: Object, pod_name: str, path: str, errors: Errors) -> None:
    """The claim made for an ephemeral volume is named after pod and volume."""
    name = volume.get("name")
    if key == "ephemeral" and pod_name and name:
        claim = f"{pod_name}-{name}"
        for text in names.dns1123_subdomain(claim):
            errors.append(invalid(f"{path}.name", name, f'PVC name "{claim}": {text}'))


def _validate_image(image: Object, path: str, rules: Rules, errors: Errors) -> None:
    if rules.is_pod and not image.get("reference"):
        errors.append(required(f"{path}.reference"))
    validate_pull_policy(image.get("pullPolicy"), f"{path}.pullPolicy", errors)
