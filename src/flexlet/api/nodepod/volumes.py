"""Volumes that flexlet can provide, and where containers mount them.

A volume of any other kind decodes to one without a source; the node refuses such pods by the names in the raw
object, so nothing is ever silently left out.
"""

import msgspec

from flexlet.api.meta import KubeStruct
from flexlet.api.quantity import Quantity


class KeyToPath(KubeStruct, frozen=True, kw_only=True):
    """Which key goes into which file."""

    key: str = ""
    path: str = ""
    mode: int | None = None


class EmptyDir(KubeStruct, frozen=True, kw_only=True):
    """A directory that lives as long as the pod; in memory with the medium Memory."""

    medium: str = ""
    size_limit: Quantity | None = None


class HostPath(KubeStruct, frozen=True, kw_only=True):
    """A path of the node."""

    path: str = ""
    type: str | None = None


class ConfigMapSource(KubeStruct, frozen=True, kw_only=True):
    """A ConfigMap as files."""

    name: str = ""
    items: tuple[KeyToPath, ...] = ()
    default_mode: int | None = None
    optional: bool | None = None


class SecretSource(KubeStruct, frozen=True, kw_only=True):
    """A Secret as files."""

    secret_name: str = ""
    items: tuple[KeyToPath, ...] = ()
    default_mode: int | None = None
    optional: bool | None = None


class ObjectFieldSelector(KubeStruct, frozen=True, kw_only=True):
    """A field of the pod."""

    api_version: str = "v1"
    field_path: str = ""


class ResourceFieldSelector(KubeStruct, frozen=True, kw_only=True):
    """An amount of one of the pod's containers."""

    container_name: str = ""
    resource: str = ""
    divisor: Quantity | None = None


class DownwardFile(KubeStruct, frozen=True, kw_only=True):
    """A file with something about the pod in it."""

    path: str = ""
    field_ref: ObjectFieldSelector | None = None
    resource_field_ref: ResourceFieldSelector | None = None
    mode: int | None = None


class DownwardApi(KubeStruct, frozen=True, kw_only=True):
    """The pod about itself, as files."""

    items: tuple[DownwardFile, ...] = ()
    default_mode: int | None = None


class TokenProjection(KubeStruct, frozen=True, kw_only=True):
    """A service-account token as a file."""

    audience: str = ""
    expiration_seconds: int = 3600
    path: str = ""


class SecretProjection(KubeStruct, frozen=True, kw_only=True):
    """A Secret inside a projected volume."""

    name: str = ""
    items: tuple[KeyToPath, ...] = ()
    optional: bool | None = None


class ProjectionSource(KubeStruct, frozen=True, kw_only=True):
    """One part of a projected volume; exactly one is set."""

    secret: SecretProjection | None = None
    config_map: ConfigMapSource | None = None
    downward_api: DownwardApi | None = msgspec.field(default=None, name="downwardAPI")
    service_account_token: TokenProjection | None = None


class Projected(KubeStruct, frozen=True, kw_only=True):
    """Several sources in one directory."""

    sources: tuple[ProjectionSource, ...] = ()
    default_mode: int | None = None


class ImageVolume(KubeStruct, frozen=True, kw_only=True):
    """The files of an image."""

    reference: str = ""
    pull_policy: str = "IfNotPresent"


class Volume(KubeStruct, frozen=True, kw_only=True):
    """A named directory or file for containers to mount."""

    name: str = ""
    empty_dir: EmptyDir | None = None
    host_path: HostPath | None = None
    config_map: ConfigMapSource | None = None
    secret: SecretSource | None = None
    projected: Projected | None = None
    downward_api: DownwardApi | None = msgspec.field(default=None, name="downwardAPI")
    image: ImageVolume | None = None


class VolumeMount(KubeStruct, frozen=True, kw_only=True):
    """Where a container sees a volume."""

    name: str = ""
    mount_path: str = ""
    read_only: bool = False
    recursive_read_only: str | None = None
    sub_path: str = ""
    sub_path_expr: str = ""
    mount_propagation: str | None = None
