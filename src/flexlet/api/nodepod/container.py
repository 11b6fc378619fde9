"""A container with everything that its making and keeping depends on."""

from typing import Any

from flexlet.api.meta import KubeStruct
from flexlet.api.nodepod.handlers import Lifecycle, Probe
from flexlet.api.nodepod.security import SecurityContext
from flexlet.api.nodepod.volumes import ObjectFieldSelector, ResourceFieldSelector, VolumeMount
from flexlet.api.pod import Container


class KeySelector(KubeStruct, frozen=True, kw_only=True):
    """A key of a ConfigMap or a Secret."""

    name: str = ""
    key: str = ""
    optional: bool | None = None


class FileKeySelector(KubeStruct, frozen=True, kw_only=True):
    """A variable of a file in an emptyDir."""

    volume_name: str = ""
    path: str = ""
    key: str = ""
    optional: bool | None = None


class EnvSource(KubeStruct, frozen=True, kw_only=True):
    """Where the value of a variable comes from; exactly one is set."""

    field_ref: ObjectFieldSelector | None = None
    resource_field_ref: ResourceFieldSelector | None = None
    config_map_key_ref: KeySelector | None = None
    secret_key_ref: KeySelector | None = None
    file_key_ref: FileKeySelector | None = None


class EnvVar(KubeStruct, frozen=True, kw_only=True):
    """One variable of the environment."""

    name: str = ""
    value: str = ""
    value_from: EnvSource | None = None


class ObjectSource(KubeStruct, frozen=True, kw_only=True):
    """A whole ConfigMap or Secret."""

    name: str = ""
    optional: bool | None = None


class EnvFrom(KubeStruct, frozen=True, kw_only=True):
    """All keys of a ConfigMap or a Secret as variables."""

    prefix: str = ""
    config_map_ref: ObjectSource | None = None
    secret_ref: ObjectSource | None = None


class ExitCodes(KubeStruct, frozen=True, kw_only=True):
    """Which exit codes a rule is about."""

    operator: str = "In"
    values: tuple[int, ...] = ()


class RestartRule(KubeStruct, frozen=True, kw_only=True):
    """What to do when a container ended with certain codes."""

    action: str = ""
    exit_codes: ExitCodes | None = None


class NodeContainer(Container, frozen=True, kw_only=True):
    """A regular, init or ephemeral container as the node reads it."""

    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    working_dir: str = ""
    env: tuple[EnvVar, ...] = ()
    env_from: tuple[EnvFrom, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()
    volume_devices: tuple[dict[str, Any], ...] = ()
    liveness_probe: Probe | None = None
    readiness_probe: Probe | None = None
    startup_probe: Probe | None = None
    lifecycle: Lifecycle | None = None
    image_pull_policy: str = "IfNotPresent"
    termination_message_path: str = "/dev/termination-log"
    termination_message_policy: str = "File"
    security_context: SecurityContext = SecurityContext()
    stdin: bool = False
    stdin_once: bool = False
    tty: bool = False
    restart_policy_rules: tuple[RestartRule, ...] = ()
    target_container_name: str = ""
    """Of an ephemeral container: whose processes it may see."""
