"""What the runtime is given to make a sandbox or a container.

Follows CRI v1 of Kubernetes 1.36. Absent parts are None or empty; an adapter sends what is set. Modes are CRI's
words: ``POD``, ``CONTAINER``, ``NODE``, ``TARGET`` for namespaces, ``PRIVATE``, ``HOST_TO_CONTAINER``,
``BIDIRECTIONAL`` for mounts, ``RuntimeDefault``, ``Unconfined``, ``Localhost`` for security profiles.
"""

from typing import Final

import msgspec

from flexlet.core.cgroups.containers import RuntimeResources

POD: Final = "POD"
CONTAINER: Final = "CONTAINER"
NODE: Final = "NODE"
TARGET: Final = "TARGET"

PRIVATE: Final = "PRIVATE"
HOST_TO_CONTAINER: Final = "HOST_TO_CONTAINER"
BIDIRECTIONAL: Final = "BIDIRECTIONAL"


class IdMapping(msgspec.Struct, frozen=True):
    """A range of ids inside a user namespace and where it lies outside."""

    host_id: int
    container_id: int
    length: int


class Namespaces(msgspec.Struct, frozen=True, kw_only=True):
    """Which namespaces are shared with whom; the pid mode of an ordinary pod is CONTAINER."""

    network: str = POD
    pid: str = CONTAINER
    ipc: str = POD
    target_id: str = ""
    user_mode: str = NODE
    user_ids: tuple[IdMapping, ...] = ()
    group_ids: tuple[IdMapping, ...] = ()


class SecurityProfile(msgspec.Struct, frozen=True):
    """A seccomp or AppArmor profile; `localhost_ref` only with the type Localhost."""

    type: str
    localhost_ref: str = ""


class SelinuxOptions(msgspec.Struct, frozen=True, kw_only=True):
    """An SELinux label, part by part."""

    user: str = ""
    role: str = ""
    type: str = ""
    level: str = ""


class SandboxSecurity(msgspec.Struct, frozen=True, kw_only=True):
    """The security context of a pod's sandbox."""

    namespaces: Namespaces = Namespaces()
    selinux: SelinuxOptions | None = None
    run_as_user: int | None = None
    run_as_group: int | None = None
    readonly_rootfs: bool = False
    supplemental_groups: tuple[int, ...] = ()
    supplemental_groups_policy: str = "Merge"
    privileged: bool = False
    seccomp: SecurityProfile = SecurityProfile("RuntimeDefault")
    apparmor: SecurityProfile | None = None


class ContainerSecurity(msgspec.Struct, frozen=True, kw_only=True):
    """The security context of a container."""

    namespaces: Namespaces = Namespaces()
    selinux: SelinuxOptions | None = None
    run_as_user: int | None = None
    run_as_username: str = ""
    run_as_group: int | None = None
    readonly_rootfs: bool = False
    supplemental_groups: tuple[int, ...] = ()
    supplemental_groups_policy: str = "Merge"
    privileged: bool = False
    add_capabilities: tuple[str, ...] = ()
    drop_capabilities: tuple[str, ...] = ()
    no_new_privs: bool = False
    masked_paths: tuple[str, ...] = ()
    readonly_paths: tuple[str, ...] = ()
    seccomp: SecurityProfile = SecurityProfile("Unconfined")
    apparmor: SecurityProfile | None = None


class PortMapping(msgspec.Struct, frozen=True, kw_only=True):
    """A port of the host that leads into the pod."""

    container_port: int
    host_port: int = 0
    protocol: str = "TCP"
    host_ip: str = ""


class Dns(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of the pod's resolv.conf."""

    servers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


class SandboxConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A pod's sandbox; handed over again with each of its containers."""

    name: str
    uid: str
    namespace: str
    attempt: int = 0
    hostname: str = ""
    log_directory: str = ""
    dns: Dns | None = None
    ports: tuple[PortMapping, ...] = ()
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    cgroup_parent: str = ""
    sysctls: dict[str, str] = {}
    security: SandboxSecurity = SandboxSecurity()
    resources: RuntimeResources | None = None
    overhead: RuntimeResources | None = None


class ImageSource(msgspec.Struct, frozen=True, kw_only=True):
    """An image whose files a container sees; `ref` is what the pull said, `name` what the user wrote."""

    ref: str
    name: str = ""
    handler: str = ""
    annotations: dict[str, str] = {}
    sub_path: str = ""
    """Which part of it; empty for all."""


class Mount(msgspec.Struct, frozen=True, kw_only=True):
    """A path of the host inside the container, or an image: then the host path is empty."""

    container_path: str
    host_path: str = ""
    image: ImageSource | None = None
    readonly: bool = False
    recursive_read_only: bool = False
    selinux_relabel: bool = False
    propagation: str = PRIVATE
    user_ids: tuple[IdMapping, ...] = ()
    group_ids: tuple[IdMapping, ...] = ()


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """A device node of the host inside the container."""

    container_path: str
    host_path: str
    permissions: str = "rwm"


class ContainerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A container; `image_ref` is what the pull said, `image` what the user wrote."""

    name: str
    attempt: int = 0
    image: str
    image_ref: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    working_dir: str = ""
    envs: tuple[tuple[str, str], ...] = ()
    mounts: tuple[Mount, ...] = ()
    devices: tuple[Device, ...] = ()
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    log_path: str = ""
    stdin: bool = False
    stdin_once: bool = False
    tty: bool = False
    stop_signal: str = ""
    """What ends it gently, such as SIGUSR1; empty for what the image or the runtime says."""
    resources: RuntimeResources
    security: ContainerSecurity = ContainerSecurity()


class PullCredentials(msgspec.Struct, frozen=True, kw_only=True):
    """What a registry wants to see before it hands out an image."""

    username: str = ""
    password: str = ""
    auth: str = ""
    server_address: str = ""
    identity_token: str = ""
    registry_token: str = ""
